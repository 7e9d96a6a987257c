"""The README does what it says: its Python blocks run, its commands exist, its tables are those of the code."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from parity_tests import amd
from parity_tests.kit.contract import CHECK_STEP, OPERATIONS

TEXT = (Path(__file__).parents[2] / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
SHOWN = re.findall(r"^```text\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = [line.partition("#")[0].strip() for line in re.findall(r"^\$ (.*)$", TEXT, re.MULTILINE)]
PARTS = [part.strip() for command in COMMANDS for part in command.split("&&")]


def run(command: list[str], folder: Path) -> str:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("block", BLOCKS, ids=[f"block-{number}" for number in range(len(BLOCKS))])
def test_python_block_runs(block, tmp_path):
    run([sys.executable, "-W", "error", "-c", block], tmp_path)


def test_it_opens_with_the_two_commands():
    assert PARTS[:4] == [
        'pip install ".[parity]"',
        "python -m parity_tests",
        'pip install ".[test]"',
        "pytest --pyargs parity_tests.suite",
    ]


def test_main_job_prints_what_the_readme_shows(tmp_path):
    shown, _ = SHOWN
    printed = run([sys.executable, "-m", "parity_tests"], tmp_path)
    # The seconds are those of a machine, all else is the same anywhere.
    assert re.sub(r", \d+ s$", "", printed.strip()) == re.sub(r", \d+ s$", "", shown.strip())


def test_lossless_prints_what_the_readme_shows(tmp_path):
    _, shown = SHOWN
    printed = run([sys.executable, "-m", "parity_tests", "lossless"], tmp_path)
    # What the model says is Python's documentation, and so are the counts: those of this version stand there.
    assert in_words(shown) in in_words(printed)


def in_words(text):
    return " ".join(re.findall(r"[A-Za-z-]+", text))


@pytest.mark.parametrize("command", [part for part in PARTS if part.startswith("pytest")])
def test_pytest_command_finds_its_tests(command, tmp_path):
    assert re.search(r"\d{3,} tests collected", run([*shlex.split(command), "--collect-only", "-q"], tmp_path))


@pytest.mark.parametrize("command", [part for part in PARTS if part.startswith("python -m parity_tests ")])
def test_other_command_knows_its_options(command, tmp_path):
    run([sys.executable, *shlex.split(command)[1:], "--help"], tmp_path)


def test_table_of_operations_is_complete():
    listed = re.findall(r"^\| `(\w+)\(", TEXT, re.MULTILINE)
    plain = [name for name in (*OPERATIONS, CHECK_STEP.name) if not name.endswith("_donated")]
    assert listed[: len(plain)] == plain


def test_table_of_launches_is_the_budget():
    budgets = json.loads((Path(amd.__file__).parent / "budgets.json").read_text())
    header = re.search(r"^\| operation \| (gfx.*) \|$", TEXT, re.MULTILINE)
    assert header is not None
    for name in OPERATIONS:
        by_shape = budgets[name].values()
        cells = ([launches(of_targets[target]) for of_targets in by_shape] for target in header[1].split(" | "))
        row = " | ".join(" ".join(told if len(set(told)) > 1 else told[:1]) for told in cells)
        assert f"| `{name}` | {row} |\n" in TEXT


def launches(budget: dict[str, int]) -> str:
    rest = sum(budget.values()) - budget["kernels"]
    return f"{budget['kernels']}+{rest}" if rest else str(budget["kernels"])
