"""The pages on probabilities, robustness and votes, and the docstrings behind them, are true: their examples run."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "calibration"
MODULES = (
    *("probabilities", "maps", "choice", "plots", "_records"),
    *("conformal", "abstention", "abstain", "robust", "outliers", "ensembles", "ensemble", "bayes"),
    *("annotators", "recapture", "anchors", "independent"),
)


@pytest.mark.parametrize("page", ["probabilities", "robustness", "votes"])
def test_the_examples_of_a_page_run(page: str) -> None:
    result = doctest.testfile(str(PAGES / f"{page}.md"), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_docstrings_run(module: str) -> None:
    assert doctest.testmod(importlib.import_module(f"guerdon.calibration.{module}")).failed == 0
