"""What several of the server's tests need: reward models to serve and swap, and databases to store in."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, tiny_llama_dir: Path) -> Path:
    """A folder with two trained reward models, ``a`` and ``b``: other weights, golden scores of their own."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from guerdon.rewards.checkpoint import Card, Golden, weights_hash
    from guerdon.rewards.model import RewardModel

    folder = tmp_path_factory.mktemp("runs")
    tokenizer: Any = AutoTokenizer.from_pretrained(tiny_llama_dir)
    for seed, name in enumerate("ab"):
        torch.manual_seed(seed)
        model = AutoModelForSequenceClassification.from_pretrained(tiny_llama_dir, num_labels=1)
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
        loaded = RewardModel.load(folder / name, device="cpu")
        loaded.renderer.save(folder / name)
        ids = loaded.renderer.render("6 times 7?", "42").ids
        golden = Golden("6 times 7?", "42", ids, loaded.score_ids([ids])[0])
        Card(weights_hash(folder / name), loaded.renderer.fingerprint, None, (golden,)).save(folder / name)
    return folder


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of an empty PostgreSQL database: of the variable GUERDON_POSTGRESQL, or of a server made here."""
    pytest.importorskip("psycopg", reason="no driver for PostgreSQL: pip install 'guerdon[store]'")
    pytest.importorskip("sqlalchemy", reason="no SQLAlchemy: pip install 'guerdon[store]'")
    if url := os.environ.get("GUERDON_POSTGRESQL"):
        yield url
        return
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or (str(found[-1]) if found else None)
    if initdb is None:
        pytest.skip("no PostgreSQL here; install one, or name an empty database in GUERDON_POSTGRESQL")
    user = _user()
    with tempfile.TemporaryDirectory(prefix="guerdon-pg-") as folder:
        if user is not None:
            os.chown(folder, user, -1)
        data, control = f"{folder}/data", str(Path(initdb).with_name("pg_ctl"))
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        make = [initdb, "-D", data, "-U", "guerdon", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(make, check=True, capture_output=True, user=user)
        log = f"{folder}/log"
        subprocess.run([control, "-D", data, "-l", log, "-w", "-o", options, "start"], check=True, user=user)
        try:
            yield f"postgresql+psycopg://guerdon:pass-word@/postgres?host={folder}"
        finally:
            subprocess.run([control, "-D", data, "-m", "immediate", "stop"], check=True, user=user)


def _user() -> int | None:
    """Whom PostgreSQL may run as: it refuses root."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_uid
    except KeyError:
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres")


@pytest.fixture(params=["file", "sqlalchemy", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty place for a store, of each kind."""
    if request.param == "file":
        return str(tmp_path / "scores.db")
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="no SQLAlchemy: pip install 'guerdon[store]'")
    if request.param == "sqlalchemy":
        return f"sqlite+pysqlite:///{tmp_path / 'scores.db'}"
    url: str = request.getfixturevalue("postgresql")
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        for table in sqlalchemy.inspect(engine).get_table_names():
            connection.execute(sqlalchemy.text(f"DROP TABLE {table}"))
    engine.dispose()
    return url
