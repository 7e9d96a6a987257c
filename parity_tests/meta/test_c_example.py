"""The example in C: it compiles without a warning, passes, and a mistake in it is found."""

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from parity_tests.kit import vectors
from parity_tests.kit.cases import dump_request
from parity_tests.meta.programs import validator
from parity_tests.meta.suite_run import run_pytest

SOURCE = Path(str(files("parity_tests.kit"))) / "examples" / "assemble_input_ids.c"
MISTAKES = {
    "stale tail": ("out[position] = 0;", "out[position] = 1;"),
    "one draft too many": ("offset <= drafts", "offset <= drafts + 1"),
    "the row above": ("anchor_token_ids[row]", "anchor_token_ids[row > 0 ? row - 1 : 0]"),
    "no check of a dtype": ('"\\"%s\\":{\\"dtype\\":\\"int32\\"', '"\\"%s\\":{\\"dtype\\":\\"int64\\"'),
}

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")


def compiled(text: str, folder: Path) -> Path:
    (folder / "assemble.c").write_text(text)
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run(["cc", *flags, "-o", "assemble", "assemble.c"], cwd=folder, check=True)
    return folder / "assemble"


def test_it_passes_and_speaks_the_protocol(tmp_path: Path) -> None:
    binary = compiled(SOURCE.read_text(), tmp_path)
    status, text = run_pytest(tmp_path, "--impl", "assemble_input_ids=proc:./assemble")
    assert status == 0, text
    cases = [case for case in vectors.load() if case.op == "assemble_input_ids"]
    requests = "\n".join(map(dump_request, cases))
    answers = subprocess.run([binary], input=requests, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answers) == len(cases)
    assert all(validator("answer.schema.json").is_valid(json.loads(answer)) for answer in answers)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(tmp_path: Path, mistake: str) -> None:
    right, wrong = MISTAKES[mistake]
    text = SOURCE.read_text()
    assert text.count(right) == 1
    compiled(text.replace(right, wrong), tmp_path)
    status, told = run_pytest(tmp_path, "--impl", "assemble_input_ids=proc:./assemble", "-x", "-k", "test_vector")
    assert status == 1
    assert "cases differ, the first:" in told


def test_it_is_legible() -> None:
    lines = SOURCE.read_text().splitlines()
    assert len(lines) < 200
    assert max(map(len, lines)) <= 120
