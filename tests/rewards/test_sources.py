"""Rows from every kind of source: the same rows, their places, and what a broken source says of itself."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guerdon.rewards.errors import DataError, GuerdonError, MissingExtraError, OutageError, UnknownNameError, UsageError
from guerdon.rewards.reading import rows
from guerdon.rewards.reading.sources import read_rows

ROWS: list[dict[str, Any]] = [
    {"prompt": "q1", "chosen": "ja, schön\u2028✓", "rejected": "nein", "margin": None},
    {"prompt": "q2", "chosen": "a", "rejected": "b", "margin": 0.5},
]
LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)


def write_jsonl(path: Path) -> str:
    path.write_text(LINES, encoding="utf-8")
    return "{path}:{n}"


def write_jsonl_gz(path: Path) -> str:
    path.write_bytes(gzip.compress(LINES.encode()))
    return "{path}:{n}"


def write_json(path: Path) -> str:
    path.write_text(json.dumps(ROWS, indent=1), encoding="utf-8")
    return "{path}:item {n}"


def write_parquet(path: Path) -> str:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    return "{path}:row {n}"


def write_datasets_folder(path: Path) -> str:
    import datasets

    datasets.Dataset.from_list(ROWS).save_to_disk(path)
    return "{path}:row {n}"


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.jsonl", write_jsonl),
        ("a.JSONL", write_jsonl),
        ("a.json", write_jsonl),  # lines under the name of a list, as the hub has many
        ("a.jsonl.gz", write_jsonl_gz),
        ("a.jsonl", write_jsonl_gz),  # gzip under a plain name
        ("a.json", write_json),
        ("a.jsonl", write_json),
        ("a.parquet", write_parquet),
        ("folder", write_datasets_folder),
    ],
)
def test_every_kind_of_source_gives_the_same_rows_and_their_places(
    tmp_path: Path, name: str, write: Callable[[Path], str]
) -> None:
    path = tmp_path / name
    where = write(path)
    found = list(read_rows(path))
    assert [row.columns for row in found] == ROWS
    assert [row.where for row in found] == [where.format(path=path, n=n) for n in (1, 2)]
    assert list(read_rows(str(path))) == found
    assert list(read_rows(path, limit=1)) == found[:1]


def test_rows_in_memory_and_several_paths_are_sources(tmp_path: Path) -> None:
    assert [(row.where, row.columns) for row in read_rows(ROWS)] == [("rows[0]", ROWS[0]), ("rows[1]", ROWS[1])]
    write_jsonl(tmp_path / "a.jsonl")
    write_json(tmp_path / "b.json")
    found = list(read_rows([tmp_path / "a.jsonl", str(tmp_path / "b.json")]))
    assert [row.columns for row in found] == ROWS * 2
    assert found[2].where == f"{tmp_path / 'b.json'}:item 1"


def test_a_dataset_object_is_a_source() -> None:
    import datasets

    assert [row.columns for row in read_rows(datasets.Dataset.from_list(ROWS))] == ROWS


def test_a_folder_with_splits_gives_the_one_asked_for(tmp_path: Path) -> None:
    import datasets

    both = {"train": datasets.Dataset.from_list(ROWS[:1]), "test": datasets.Dataset.from_list(ROWS[1:])}
    datasets.DatasetDict(both).save_to_disk(tmp_path / "d")
    assert [row.columns for row in read_rows(tmp_path / "d")] == ROWS[:1]
    (row,) = read_rows(tmp_path / "d", split="test")
    assert (row.columns, row.where) == (ROWS[1], f"{tmp_path / 'd'}[test]:row 1")
    with pytest.raises(UnknownNameError, match=r"no split named 'tets'. Did you mean 'test'\?"):
        read_rows(tmp_path / "d", split="tets")


def test_a_saved_tensor_format_does_not_turn_columns_into_arrays(tmp_path: Path) -> None:
    import datasets

    datasets.Dataset.from_list([{"margin": 0.5}]).with_format("numpy").save_to_disk(tmp_path / "d")
    (row,) = read_rows(tmp_path / "d")
    assert row.columns == {"margin": 0.5}
    assert type(row.columns["margin"]) is float


def test_blank_lines_byte_order_mark_and_windows_line_ends_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\r\n  \r\n{"a": 2}')
    assert [(row.where, row.columns) for row in read_rows(path)] == [(f"{path}:1", {"a": 1}), (f"{path}:4", {"a": 2})]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"a": 1,}', "not JSON: .* at column 9"),
        (b'{"a": "b', "not JSON: Unterminated string starting at column 7"),
        (b"[1, 2]", "must be a JSON object with named columns, got list: .1, 2."),
        (b'"text"', "got str: 'text'"),
        (b'{"a": "\xe9"}', "not UTF-8: byte 0xe9 at column 8"),
        (b'{"a": ' + b"9" * 20_000 + b"}", "not JSON that can be read"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"\x00\x01", "not JSON"),
    ],
)
def test_a_bad_line_is_a_problem_with_its_place_and_the_rest_is_read(tmp_path: Path, line: bytes, problem: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 0}\n' + line + b'\n{"a": 2}\n')
    first, bad, last = read_rows(path)
    assert (first.columns, last.columns) == ({"a": 0}, {"a": 2})
    assert bad.where == f"{path}:2"
    assert bad.columns is None
    assert re.search(problem, bad.problem)


def read_all(path: Path) -> None:
    list(read_rows(path))


def test_a_file_that_cannot_be_read_on_says_where_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl.gz"
    whole = gzip.compress(b'{"a": 0}\n' * 1000)
    path.write_bytes(whole[:-12])
    with pytest.raises(DataError, match=r"a.jsonl.gz:\d+: the gzip file is damaged or incomplete"):
        read_all(path)
    path.write_bytes(whole[:-8] + b"\0" * 8)  # the checksum
    with pytest.raises(DataError, match=r"damaged or incomplete.*CRC"):
        read_all(path)
    path.write_bytes(whole[:20] + b"\xff" * 20 + whole[40:])
    with pytest.raises(DataError, match="damaged or incomplete"):
        read_all(path)

    path = tmp_path / "b.jsonl"
    path.write_text(LINES, encoding="utf-16")
    with pytest.raises(DataError, match=r"b.jsonl:1: the file is UTF-16; save it as UTF-8"):
        read_all(path)
    path.write_text('[{"a": 1},\n{"a": 2}', encoding="utf-8")
    with pytest.raises(DataError, match=r"b.jsonl:2: not a JSON list: Expecting ',' delimiter"):
        read_all(path)
    path.write_bytes(b'[{"a": "\xe9"}]')
    with pytest.raises(DataError, match=r"b.jsonl: not a JSON list that can be read: 'utf-8' codec"):
        read_all(path)

    monkeypatch.setattr(rows, "LONGEST_LINE", 100)
    monkeypatch.setattr(rows, "LONGEST_LIST", 100)
    path.write_text('{"a": 1}\n{"a": "' + "x" * 100 + '"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"b.jsonl:2: the line is longer than 100 bytes"):
        read_all(path)
    path.write_text("[" + "1," * 100 + "1]", encoding="utf-8")
    with pytest.raises(DataError, match="the JSON list is longer than 100 bytes; save it as JSON Lines"):
        read_all(path)


def test_broken_tables_are_faults_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(DataError, match=r"a.parquet:row 1: not a Parquet file, or a damaged one"):
        read_all(tmp_path / "a.parquet")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "state.json").write_text("{}")
    with pytest.raises(DataError, match="not a folder that datasets can load"):
        read_all(tmp_path / "folder")


def test_a_path_that_is_not_there_offers_near_names(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "preferences_train.jsonl")
    for typo in ("preferences_train.jsonl.gz", "preference_train.jsonl", "preferences-train.jsonl"):
        with pytest.raises(UsageError, match=r"no file or folder .* Did you mean '.*/preferences_train.jsonl'\?"):
            read_rows(tmp_path / typo)
    with pytest.raises(UsageError, match=r"there is no folder '.*nowhere' either"):
        read_rows(tmp_path / "nowhere" / "a.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(UsageError, match="is neither a file nor a folder"):
        read_rows(tmp_path / "pipe.jsonl")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"prompt": "q"}, "a mapping with the keys prompt is no list of rows"),
        (iter(ROWS), "an iterator can be read only once"),
        (5, "a source must be a path, a hub id or a list of dicts, got int"),
        ("https://example.org/a.jsonl", "no file or folder"),
    ],
)
def test_what_is_no_source_is_refused(source: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_rows(source)


def test_rows_in_memory_that_are_no_dicts_are_problems() -> None:
    assert [row.problem for row in read_rows([5])] == ["must be a dict with named columns, got int: 5"]  # type: ignore[list-item]


@pytest.mark.parametrize("limit", [0, -1, True, 1.5])
def test_a_limit_is_a_whole_number_of_rows(limit: Any) -> None:
    with pytest.raises(UsageError, match="limit must be a whole number >= 1 or None"):
        read_rows(ROWS, limit=limit)


def test_files_of_another_kind_folders_of_files_and_needless_splits_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("prompt,chosen\n")
    with pytest.raises(UsageError, match=r"a.csv is of no kind that is read here; the name must end in .jsonl, .json"):
        read_rows(tmp_path / "a.csv")
    with pytest.raises(UsageError, match="holds no data"):
        read_rows(tmp_path)
    write_jsonl(tmp_path / "train.jsonl")
    write_jsonl(tmp_path / "test.jsonl")
    with pytest.raises(UsageError, match=r"give one of them, or a list of those to read: test.jsonl, train.jsonl"):
        read_rows(tmp_path)
    with pytest.raises(UsageError, match="is one file and has no split 'test'"):
        read_rows(tmp_path / "train.jsonl", split="test")
    write_datasets_folder(tmp_path / "d")
    with pytest.raises(UsageError, match="there is no split 'test'; leave split out"):
        read_rows(tmp_path / "d", split="test")


def test_the_hub_is_asked_for_names_that_are_not_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import datasets
    from datasets.exceptions import DatasetNotFoundError

    asked: list[tuple[str, str]] = []

    def load(name: str, split: str) -> Any:
        asked.append((name, split))
        return datasets.Dataset.from_list(ROWS)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets, "load_dataset", load)
    found = list(read_rows("some-org/some.pairs", split="test"))
    assert asked == [("some-org/some.pairs", "test")]
    assert [row.columns for row in found] == ROWS
    assert found[0].where == "some-org/some.pairs[test]:row 1"

    (tmp_path / "data").mkdir()  # the folder is here: then it is a path with a typo
    with pytest.raises(UsageError, match="no file or folder 'data/pairs'"):
        read_rows("data/pairs")

    def fail_with(error: Exception) -> Callable[..., Any]:
        def load(name: str, split: str) -> Any:
            raise error

        return load

    for error, expected, message in (
        (DatasetNotFoundError("no such"), UsageError, "neither a file or folder here nor a data set on the hub"),
        (ConnectionError("offline"), OutageError, "no file or folder here, and .* could not be reached"),
        (ValueError("Unknown split"), UsageError, r"could not be loaded: Unknown split\n.*datasets.load_dataset"),
    ):
        monkeypatch.setattr(datasets, "load_dataset", fail_with(error))
        with pytest.raises(expected, match=message):
            read_rows("some-org/pairs")


@pytest.mark.parametrize(
    ("module", "name", "message"),
    [
        ("pyarrow", "a.parquet", r"reading Parquet files needs .* pip install 'guerdon\[train\]'"),
        ("datasets", "d", r"reading a datasets folder needs .* pip install 'guerdon\[train\]'"),
        ("datasets", "some-org/pairs", "reading a data set from the hub needs"),
    ],
)
def test_an_absent_package_is_named_with_its_pip_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str, message: str
) -> None:
    write_parquet(tmp_path / "a.parquet")
    write_datasets_folder(tmp_path / "d")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=message):
        list(read_rows(name))


def test_json_is_read_with_nothing_but_the_base_install(tmp_path: Path) -> None:
    write_jsonl_gz(tmp_path / "a.jsonl.gz")
    program = (
        "import sys; from guerdon.rewards.preferences import read_preferences; "
        f"assert len(read_preferences({str(tmp_path / 'a.jsonl.gz')!r})) == 2; "
        "print([m for m in ('torch', 'numpy', 'pyarrow', 'datasets', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_failure_is_one_of_ours_and_a_standard_one() -> None:
    for error in (DataError, UsageError):
        assert issubclass(error, GuerdonError)
        assert issubclass(error, ValueError)
