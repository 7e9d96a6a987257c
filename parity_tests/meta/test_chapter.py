"""The README's chapter on proving an implementation: its files and commands work, in its order, in an empty folder."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from parity_tests.kit import vectors
from parity_tests.kit.cases import load_cases
from parity_tests.kit.draw import SHAPES
from parity_tests.kit.oracle_subject import consult
from parity_tests.kit.process_subject import read
from parity_tests.kit.vectors import OPERATION_NAMES

ROOT = Path(__file__).parents[2]
TITLE = "## Prove your implementation\n"
LONGEST = 9


def chapter() -> str:
    text = (ROOT / "README.md").read_text()
    assert text.count(TITLE) == 1
    return text.partition(TITLE)[2].partition("\n## ")[0]


def blocks() -> Iterator[tuple[str, str]]:
    """Language and text of each block."""
    yield from re.findall(r"^```(\w+)\n(.*?)^```", chapter(), re.MULTILINE | re.DOTALL)


def run(commands: str, folder: Path) -> None:
    plugins = (
        ""
        if any(entry.name == "parity_tests" for entry in entry_points(group="pytest11"))
        else "-p parity_tests.kit.plugin"
    )
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTEST_ADDOPTS": plugins,
        "JAX_PLATFORMS": "cpu",
    }
    done = subprocess.run(
        ["bash", "-euc", commands], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where everything of the chapter has been done."""
    place = tmp_path_factory.mktemp("chapter")
    for language, text in blocks():
        if language == "python":
            name = re.match(r"# (\w+\.py)\n", text)
            assert name, "a block of Python begins with the name of its file"
            (place / name[1]).write_text(text)
        elif language == "sh":
            run(text, place)
    return place


def test_it_does_what_it_says(folder: Path) -> None:
    assert (folder / "page.md").read_text().startswith("### ✅ identical")
    assert {path.stem for path in (folder / "vectors").glob("*.json")} >= set(OPERATION_NAMES)
    assert (folder / "vectors" / "schema.json").read_text() == (vectors.FOLDER / "schema.json").read_text()


def test_each_door_is_short() -> None:
    doors = chapter().partition("**The vectors alone**")[0]
    for text in doors.split("\n\n**")[1:]:
        code = [
            line
            for _, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
            for line in block.split("\n")
            if line
        ]
        assert len(code) <= LONGEST, code


def test_limits_are_those_of_the_search() -> None:
    rows, drafts, places = (max(dims[letter] for dims in SHAPES) for letter in "BKT")
    assert f"up to {rows} rows, {drafts} drafts and {places} places" in " ".join(chapter().split())


def test_exchange_that_is_shown_keeps_to_the_protocol() -> None:
    (shown,) = (text for language, text in blocks() if language == "json")
    request, answer = shown.splitlines()
    call = json.loads(request)
    (case,) = load_cases(json.dumps({"cases": [call | {"comment": "", "source": ""} | json.loads(answer)]}))
    assert consult(case) == read(answer.encode())
