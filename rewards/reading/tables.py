"""Rows from Parquet files, ``datasets`` folders and the Hugging Face hub. Needs the extra ``train``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guerdon.rewards.errors import DataError, MissingExtraError, OutageError, UnknownNameError, UsageError
from guerdon.rewards.reading.rows import Row

BATCH = 1000
"""Rows turned into Python objects at a time."""


def parquet_rows(path: Path) -> Iterator[Row]:
    """The rows of a Parquet file, a batch at a time; a file that is damaged raises DataError."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("reading Parquet files", "train") from error
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=BATCH):
                for columns in batch.to_pylist():
                    number += 1
                    yield Row(f"{path}:row {number}", columns)
    except (pyarrow.ArrowException, OSError) as error:
        problem = f"{path}:row {number + 1}: not a Parquet file, or a damaged one: {error}"
        raise DataError(str(path), [problem]) from error


def is_datasets_folder(path: Path) -> bool:
    """Whether ``Dataset.save_to_disk`` or ``DatasetDict.save_to_disk`` wrote this folder."""
    return (path / "state.json").is_file() or (path / "dataset_dict.json").is_file()


def folder_rows(path: Path, split: str) -> Iterator[Row]:
    """The rows of a folder that ``save_to_disk`` wrote. split: which one, where the folder holds several."""
    datasets = _datasets("reading a datasets folder")
    try:
        loaded = datasets.load_from_disk(str(path))
    except Exception as error:  # whatever another library finds wrong with the folder is a fault of the data
        raise DataError(str(path), [f"{path}: not a folder that datasets can load: {error}"]) from error
    if isinstance(loaded, dict):
        if split not in loaded:
            raise UnknownNameError("split", split, loaded)
        return _dataset_rows(loaded[split], f"{path}[{split}]")
    if split != "train":
        raise UsageError(f"{path} holds one data set without splits, so there is no split {split!r}; leave split out")
    return _dataset_rows(loaded, str(path))


def hub_rows(name: str, split: str) -> Iterator[Row]:
    """The rows of one split of a data set on the hub; code that a data set brings along is never run.

    Raises UsageError for a name or split that is not there, OutageError when the hub does not answer.
    """
    datasets = _datasets("reading a data set from the hub")
    try:
        loaded = datasets.load_dataset(name, split=split)
    except datasets.exceptions.DatasetNotFoundError as error:
        raise UsageError(f"{name!r} is neither a file or folder here nor a data set on the hub: {error}") from error
    except ConnectionError as error:
        raise OutageError(
            f"{name!r} is no file or folder here, and as a data set on the hub it could not be reached: {error}"
        ) from error
    except Exception as error:  # an unknown split, a configuration to choose, a file it cannot parse
        raise UsageError(
            f"the hub's data set {name!r} (split {split!r}) could not be loaded: {error}\n"
            "If it needs more than a name and a split, load it with datasets.load_dataset and pass the result."
        ) from error
    return _dataset_rows(loaded, f"{name}[{split}]")


def _datasets(what: str) -> Any:
    try:
        import datasets
        import datasets.exceptions
    except ImportError as error:
        raise MissingExtraError(what, "train") from error
    return datasets


def _dataset_rows(dataset: Any, name: str) -> Iterator[Row]:
    # a format is saved with the data: rows set to "torch" or "numpy" would come back as tensors
    for number, columns in enumerate(dataset.with_format(None), start=1):
        yield Row(f"{name}:row {number}", columns)
