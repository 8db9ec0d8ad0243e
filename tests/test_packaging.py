"""What is installed is what is here: the wheel holds every module, and importing the words stays light."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("rewards", "verifiers", "calibration", "serving")


def test_the_four_folders_are_linked_into_the_namespace():
    for package in PACKAGES:
        link = ROOT / "src" / "guerdon" / package
        assert link.is_symlink(), f"{link} is no symbolic link: this checkout would build an empty wheel"
        assert link.resolve() == ROOT / package


def test_the_root_is_no_package():
    assert not (ROOT / "__init__.py").exists()
    assert not (ROOT / "tests" / "__init__.py").exists()


def test_the_wheel_holds_every_module_and_data_file(tmp_path):
    source = tmp_path / "source"  # a copy: an older build/ folder would put files into the wheel that are here no more
    ignored = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, source, symlinks=True, ignore=ignored)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(source)]
    done = subprocess.run(build, capture_output=True, text=True, timeout=240)
    if "No module named build" in done.stderr:
        pytest.skip("the build front end is not installed")
    assert done.returncode == 0, done.stdout + done.stderr
    names = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    expected = {
        f"guerdon/{file.relative_to(ROOT)}"
        for package in PACKAGES
        for file in (ROOT / package).rglob("*")
        if file.suffix in (".py", ".css", ".html", ".jinja") and "__pycache__" not in file.parts
    }
    assert len(expected) > 50
    assert expected | {"guerdon/__init__.py", "guerdon/py.typed"} <= names


HEAVY = ("torch", "numpy", "scipy", "sklearn", "sympy", "transformers", "datasets", "fastapi", "gradio", "matplotlib")


@pytest.mark.parametrize("module", ["guerdon", "guerdon.rewards", "guerdon.verifiers", "guerdon.calibration"])
def test_importing_the_words_loads_nothing_heavy(module):
    code = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("package", "forbidden"),
    [
        ("rewards", ("verifiers", "calibration", "serving")),
        ("verifiers", ("calibration", "serving")),
        ("calibration", ("verifiers", "serving")),
    ],
)
def test_arrows_between_packages_point_one_way(package, forbidden):
    for file in (ROOT / package).rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for other in forbidden:
            assert f"guerdon.{other}" not in text.replace(f"``guerdon.{other}", ""), f"{file} knows guerdon.{other}"
