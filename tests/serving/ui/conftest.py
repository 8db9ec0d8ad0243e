"""A small file of samples with scores, hostile ones among them, as a store; and a server with the UI over it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guerdon import verifiers
from guerdon.serving.store import Store
from guerdon.serving.ui.bench import Bench
from guerdon.serving.ui.importing import build
from guerdon.serving.ui.source import Source

HOSTILE = (
    "<script>window.pwned=1</script>",
    '<img src=x onerror="window.pwned=1">',
    "![x](http://outside.invalid/a.png)",
    "[c](javascript:window.pwned=1)",
    '<svg onload="window.pwned=1"><image href="http://outside.invalid/b.png"/></svg>',
    "<style>body{background:url(http://outside.invalid/c.png)}</style>",
    '<iframe src="http://outside.invalid/"></iframe>',
    "${window.pwned=1} {{constructor.constructor('window.pwned=1')()}} `x` @children",
    '<a href="javascript:window.pwned=1">click</a>',
    "</div></article></template><h1>broken out</h1>",
    "<link rel=stylesheet href=http://outside.invalid/d.css><base href=http://outside.invalid/>",
    "<video src=http://outside.invalid/v.mp4 autoplay><object data=http://outside.invalid/o>",
    "<details open ontoggle=window.pwned=1>",
    '" onmouseover="window.pwned=1" x="',
)
"""What a policy may write, each with one way to run a script or to load something."""

N = 60


def samples() -> list[dict[str, Any]]:
    """N sums, every third answered wrongly; two sources; groups of three; then the hostile ones."""
    rows: list[dict[str, Any]] = []
    for i in range(N):
        right, said = i + 1, i + 1 + (i % 3 == 0)
        rows.append(
            {
                "id": f"sum-{i}",
                "prompt": f"What is {i // 3} plus one, in question {i // 3}?",
                "response": f"That makes {said}." + " Let me explain." * (i % 7) + f" So \\boxed{{{said}}}.",
                "reference": str(right),
                "group": f"g{i // 3}",
                "step": i // 10,
                "source": "even" if i % 2 == 0 else "odd",
                "label": i % 3 != 0,
                "scores": {
                    "helpful": {"value": round(0.2 + 0.01 * i, 3), "status": "ok", "reason": "made", "version": "m1"},
                    "slow": {"value": None, "status": "timeout" if i % 2 else "error", "reason": f"no answer to {i}"},
                },
            }
        )
    for i, text in enumerate(HOSTILE):
        scores = {"helpful": {"value": 0.5, "status": "ok", "reason": text, "details": {"kind": text}}}
        rows.append(
            {"id": f"bad-{i}", "prompt": text, "response": f"{text}\n\\boxed{{7}}", "reference": "7", "source": text,
             "group": text, "step": 9, "label": True, "scores": scores}
        )  # fmt: skip
    return rows


@pytest.fixture(scope="session")
def hostile() -> tuple[str, ...]:
    return HOSTILE


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ui") / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in samples()), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def database(file: Path) -> Path:
    """The file as a store, judged by the numeric verifier under the name ``sums``."""
    path = file.with_name("scores.db")
    build(str(file), path, scorers={"sums": verifiers.load("numeric")}, sources={"sums": "numeric"})
    return path


@pytest.fixture
def source(database: Path) -> Iterator[Source]:
    with Store.open(database) as store:
        yield Source(store, "answers.jsonl")


@pytest.fixture(scope="session")
def bench() -> Bench:
    return Bench(None, lambda: None)


TOKEN = "let-me-in"


@pytest.fixture(scope="session")
def ui_url(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server with the UI over the store, without a token; it has the math verifier loaded."""
    pytest.importorskip("gradio", reason="no Gradio: pip install 'guerdon[ui]'")
    from guerdon.serving.config import ServeConfig
    from guerdon.serving.server import serving

    labels = tmp_path_factory.mktemp("labels") / "labels.jsonl"
    config = ServeConfig(port=0, ui=True, ui_store=str(database), ui_labels=str(labels), ui_name="answers.jsonl")
    with serving(config, {"checked": verifiers.load("math")}) as url:
        yield url
