"""From a spec to a scorer: each form means one thing, and a typo says what was probably meant."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from guerdon.rewards import Sample, Scorer, check_scorer
from guerdon.rewards.errors import GuerdonError, UnknownNameError, UsageError
from guerdon.serving.client import RemoteScorer
from guerdon.serving.specs import load_scorer

CODE = '''
from guerdon.rewards import Sample, Score, pointwise

def length(sample, *, times=1):
    """A reward of one sample."""
    return times * len(sample.response_text)

def same(response, reference):
    return None if reference is None else float(response == reference)
same.scale = "verdict"

def within(response, reference, *, distance):
    return float(abs(float(response) - float(reference)) <= distance)

def build(text="x"):
    return pointwise(Counts(text), scale="real", name="counts")

class Counts:
    def __init__(self, text):
        self.text = text
    def __call__(self, sample):
        return sample.response_text.count(self.text)

class Words:
    name, version, scale = "words", "1", "real"
    def __init__(self, minimum=0):
        self.minimum = minimum
    def score(self, samples):
        return [Score(float(max(self.minimum, len(s.response_text.split())))) for s in samples]

ready = Words()
number = 5

def two_things(sample, other):
    return 0.0

def nothing():
    return None
'''


@pytest.fixture
def code(tmp_path: Path) -> str:
    file = tmp_path / "my_rewards.py"
    file.write_text(CODE)
    return str(file)


def value(scorer: Scorer, response: str, reference: object = None) -> float | None:
    return scorer.score([Sample("p", response, reference)])[0].value


# --- one meaning for each form ---


def test_url_is_a_remote_scorer() -> None:
    scorer = load_scorer("http://127.0.0.1:9#math", token="t", retries=0)
    assert isinstance(scorer, RemoteScorer)
    assert scorer.name == "math"


def test_function_of_a_sample(code: str) -> None:
    scorer = load_scorer(f"{code}:length")
    assert (scorer.name, scorer.scale, value(scorer, "abc")) == ("length", "real", 3.0)
    check_scorer(scorer, tolerance=0)


def test_function_shaped_like_verify(code: str) -> None:
    scorer = load_scorer(f"{code}:same")
    assert (scorer.scale, value(scorer, "a", "a"), value(scorer, "a", "b")) == ("verdict", 1.0, 0.0)
    assert value(scorer, "a") is None
    check_scorer(scorer, tolerance=0)


def test_lists_of_a_reference_reach_the_function_as_lists(tmp_path: Path) -> None:
    (tmp_path / "kind.py").write_text("def kind(response, reference):\n    return float(type(reference) is list)\n")
    assert value(load_scorer(f"{tmp_path / 'kind.py'}:kind"), "a", ["b"]) == 1.0


def test_object_that_is_a_scorer_is_taken_as_it_is(code: str) -> None:
    assert load_scorer(f"{code}:ready").name == "words"


def test_class_and_function_without_parameters_make_scorers(code: str) -> None:
    assert value(load_scorer(f"{code}:Words", minimum=7), "a b") == 7.0
    assert value(load_scorer(f"{code}:build", text="b"), "abba") == 2.0


def test_module_on_the_path(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(code).parent))
    assert value(load_scorer("my_rewards:length"), "abc") == 3.0


def test_verifier_by_name_wins_over_a_folder_and_the_folder_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exact").mkdir()
    assert value(load_scorer("exact"), "a", "a") == 1.0
    pytest.importorskip("transformers")
    with pytest.raises(GuerdonError, match="exact"):  # an empty folder holds no reward model
        load_scorer("./exact")


# --- options ---


def test_options_reach_the_function(code: str) -> None:
    assert value(load_scorer(f"{code}:length", times=3), "ab") == 6.0
    assert value(load_scorer(f"{code}:within", distance=2), "5", "7") == 1.0


def test_scale_name_and_version_may_be_given(code: str) -> None:
    scorer = load_scorer(f"{code}:within", distance=1, scale="verdict", name="near", version="v9")
    assert (scorer.scale, scorer.name, scorer.version) == ("verdict", "near", "v9")


def test_unknown_option_names_the_nearest(code: str) -> None:
    with pytest.raises(UnknownNameError, match=r"named 'time'. Did you mean 'times'\?"):
        load_scorer(f"{code}:length", time=3)
    with pytest.raises(UnknownNameError, match=r"Did you mean 'retries'\?"):
        load_scorer("http://127.0.0.1:9#math", retry=3)
    with pytest.raises(UnknownNameError, match=r"Did you mean 'minimum'\?"):
        load_scorer(f"{code}:Words", minimun=3)


def test_lacking_option_is_named(code: str) -> None:
    with pytest.raises(UsageError, match=r"needs the option\(s\) distance"):
        load_scorer(f"{code}:within")


def test_ready_scorer_takes_no_options(code: str) -> None:
    with pytest.raises(UsageError, match="already a scorer and takes no options; got minimum"):
        load_scorer(f"{code}:ready", minimum=1)


def test_verifier_option_is_checked_by_the_verifier() -> None:
    with pytest.raises(UsageError, match="tolerence"):
        load_scorer("numeric", tolerence=0.1)


# --- versions and pickles ---


def test_version_changes_with_the_source_and_with_the_options(code: str) -> None:
    first = load_scorer(f"{code}:length").version
    assert load_scorer(f"{code}:length").version == first
    assert load_scorer(f"{code}:length", times=2).version != first
    Path(code).write_text(CODE.replace("len(sample", "1 + len(sample"))
    changed = load_scorer(f"{code}:length")
    assert changed.version != first
    assert value(changed, "abc") == 4.0


def test_function_of_a_file_pickles_into_another_process(code: str, tmp_path: Path) -> None:
    (tmp_path / "scorer.pickle").write_bytes(pickle.dumps(load_scorer(f"{code}:length", times=2)))
    program = (
        "import pickle, sys; from guerdon.rewards import Sample; "
        "print(pickle.load(open(sys.argv[1], 'rb')).score([Sample('p', 'abc')])[0].value)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "scorer.pickle")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "6.0"


# --- mistakes ---


def test_typo_in_a_verifier_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no scorer named 'numerik'. Did you mean 'numeric'\?") as caught:
        load_scorer("numerik")
    assert "file.py:function" in str(caught.value)


def test_typo_in_a_folder_is_answered_with_the_folder(tmp_path: Path) -> None:
    (tmp_path / "helpful").mkdir()
    (tmp_path / "helpful" / "config.json").write_text("{}")
    with pytest.raises(UsageError, match=r"Did you mean '.*helpful'"):
        load_scorer(str(tmp_path / "helpfull"))


def test_typo_in_a_relative_folder_is_no_hub_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "helpful").mkdir(parents=True)
    (tmp_path / "runs" / "helpful" / "config.json").write_text("{}")
    with pytest.raises(UsageError, match="Did you mean 'runs/helpful'"):
        load_scorer("runs/helpfull")


@pytest.mark.parametrize("spec", ["", "  ", "a b", ":", "x:", ":y", "ftp://h", "a/b/c", "../..:x y"])
def test_spec_that_is_nothing_says_what_a_spec_may_be(spec: str) -> None:
    with pytest.raises(UsageError, match="module:function"):
        load_scorer(spec)


def test_misspelt_function_names_the_nearest(code: str) -> None:
    with pytest.raises(UnknownNameError, match=r"named 'lenght'. Did you mean 'length'\?"):
        load_scorer(f"{code}:lenght")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("number", "is 5: neither a scorer nor a function"),
        ("two_things", r"has the parameters \(sample, other\); a scorer is a function of one sample"),
        ("nothing", "was called to make a scorer, and gave None"),
    ],
)
def test_code_that_is_no_scorer_is_explained(code: str, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_scorer(f"{code}:{name}")


def test_file_and_module_that_do_not_load_are_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "exits.py").write_text("raise SystemExit(2)\n")
    with pytest.raises(UsageError, match=r"cannot read 'absent\.py'"):
        load_scorer("absent.py:f")
    with pytest.raises(UsageError, match=r"cannot run 'broken.py': SyntaxError"):
        load_scorer("broken.py:f")
    with pytest.raises(UsageError, match=r"cannot run 'exits.py': SystemExit: 2"):
        load_scorer("exits.py:f")
    with pytest.raises(UsageError, match=r"cannot import 'broken': .* To run the file beside you, write broken.py:"):
        load_scorer("broken:f")


def test_loading_a_verifier_imports_no_torch_and_no_web_framework() -> None:
    program = (
        "import sys; from guerdon.serving.specs import load_scorer; load_scorer('exact'); "
        "print([m for m in ('torch', 'fastapi', 'numpy', 'transformers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
