"""The table of budgets covers everything, and a measurement is judged against it."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from parity_tests.amd import budget
from parity_tests.amd.compilation import Outcome, Program
from parity_tests.amd.counts import Counts
from parity_tests.amd.environment import PINNED, VARIABLE, Environment, choose, problems
from parity_tests.amd.report import Report, as_data, as_markdown, as_text
from parity_tests.amd.shapes import SHAPES
from parity_tests.amd.targets import TARGETS
from parity_tests.kit.contract import OPERATIONS

ROOT = Path(__file__).parents[2]
PROGRAM = Program("seq_lens", "gfx942", "decode-8")
BUDGET = Counts(kernels=2, copies=1)


def test_every_program_has_a_budget_and_no_other_does():
    programs = {Program(op, target, shape) for op in OPERATIONS for target in TARGETS for shape in SHAPES}
    assert set(budget.load(budget.TABLE.read_text())) == programs


def test_the_table_follows_its_schema():
    jsonschema.validate(
        json.loads(budget.TABLE.read_text()), json.loads(budget.TABLE.with_suffix(".schema.json").read_text())
    )


def test_the_table_is_written_as_it_is_read():
    text = budget.TABLE.read_text()
    assert budget.dump(budget.load(text)) == text


@pytest.mark.parametrize(
    ("counts", "said", "spare"),
    [
        (BUDGET._replace(kernels=3), "kernels 3, copies 1, the budget is kernels 2, copies 1", False),
        (BUDGET._replace(kernels=1, copies=2), "kernels 1, copies 2, the budget is kernels 2, copies 1", False),
        *((BUDGET._replace(**{name: 1}), f"{name} 1, the budget is", False) for name in Counts._fields[2:]),
        (BUDGET._replace(copies=0), "kernels 2, less than the budget, kernels 2, copies 1: use --tighten", True),
        (None, "not compiled: it crashed", False),
    ],
)
def test_a_program_that_is_not_as_budgeted_is_found(counts, said, spare):
    [finding] = budget.judge([Outcome(PROGRAM, counts, "it crashed")], {PROGRAM: BUDGET})
    assert said in finding.text
    assert (finding.program, finding.spare) == (PROGRAM, spare)


def test_a_program_as_budgeted_is_not():
    assert budget.judge([Outcome(PROGRAM, BUDGET)], {PROGRAM: BUDGET}) == []


def test_a_program_without_a_budget_is_found():
    [finding] = budget.judge([Outcome(PROGRAM, BUDGET)], {})
    assert "no budget" in finding.text


def test_tightening_only_ever_lowers():
    other = PROGRAM._replace(shape="decode-64")
    measured = [Outcome(PROGRAM, Counts(kernels=1, copies=4, whiles=1)), Outcome(other, Counts(kernels=7, whiles=1))]
    assert budget.tightened(measured, {PROGRAM: BUDGET}) == {PROGRAM: Counts(1, 1), other: Counts(7)}
    assert budget.tightened([Outcome(PROGRAM, None, "it crashed")], {PROGRAM: BUDGET}) == {PROGRAM: BUDGET}


def environment(**versions):
    return Environment(Path("python"), "3.11.0", PINNED | versions, Path("plugin.so"))


def test_an_environment_says_what_it_lacks():
    assert problems(environment(), []) == []
    [lacking] = problems(environment(jax="0.12.0", jaxlib=None), [])
    assert "jax 0.12.0, expected 0.10.2; jaxlib is missing, expected 0.10.2" in lacking
    assert "--build-env" in lacking
    assert problems(environment(), ["readelf"]) == ["readelf is missing: install binutils"]
    assert "no library" in problems(environment()._replace(plugin=None), [])[0]


def test_the_environment_is_the_named_one(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, "named")
    assert choose(tmp_path) == tmp_path / "bin" / "python"
    assert choose(None) == Path("named")


def test_the_extra_is_what_the_environment_pins():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["amd"] == [f"{name}=={version}" for name, version in PINNED.items()]


def report():
    programs = [
        PROGRAM._replace(target=target, shape=shape) for target in TARGETS for shape in ("decode-8", "decode-64")
    ]
    outcomes = [Outcome(program, BUDGET) for program in programs]
    outcomes[1], outcomes[2] = Outcome(programs[1], Counts(9)), Outcome(programs[2], None, "it crashed")
    return Report(environment(), outcomes, budget.judge(outcomes, dict.fromkeys(programs, BUDGET)), 12.3)


def test_the_report_tells_what_was_compiled_and_what_is_wrong():
    text, markdown, data = as_text(report()), as_markdown(report()), as_data(report())
    assert "seq_lens   2+1 9!  ! 2+1   2+1     2+1" in text
    assert "| `seq_lens` | 2+1 9! | ! 2+1 | 2+1 | 2+1 |" in markdown
    assert "seq_lens gfx950 decode-8: not compiled: it crashed" in text
    for said in (text, markdown, data["result"]):
        assert "not as budgeted (2 findings): 7 of 8 programs of 1 operations compiled" in said
        assert "nothing was executed" in said
    assert [program["error"] for program in data["programs"]] == ["", "", "it crashed", *[""] * 5]
    assert [finding["shape"] for finding in data["findings"]] == ["decode-64", "decode-8"]
