"""The calibration journey as the example shows it: audit, correct, ask whether the correction reaches the update."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="needs the extra calibration")


def test_the_example_corrects_by_kind_and_says_that_one_pair_of_rates_does_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runpy.run_path(str(Path(__file__).parents[2] / "examples" / "correct_noisy_verifier.py"))["main"]()
    text = capsys.readouterr().out
    rows = {
        tuple(line.split()[:-2]): line.split()[-2:]
        for line in text.splitlines()
        if " right " in line or " wrong " in line
    }
    assert rows["no", "number", "right"] == ["0.00", "abstained"]
    for kind in (("one", "number"), ("several",)):
        assert float(rows[*kind, "right"][1]) == pytest.approx(1.0, abs=0.15)
        assert float(rows[*kind, "wrong"][1]) == pytest.approx(0.0, abs=0.15)
    assert float(rows["several", "wrong"][0]) > 0.4  # what the verifier itself says of a list of guesses
    assert "one pair of rates: The correction has no effect here" in text
    assert "rates by kind: The correction changes the update" in text
