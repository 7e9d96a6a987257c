"""The command line: what it refuses, what it leaves out, and what it says when something differs."""

import json
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import jax_spec
from parity_tests.__main__ import main
from parity_tests.kit import proof, vectors
from parity_tests.kit.contract import OPERATIONS
from parity_tests.kit.devices import Choice
from parity_tests.kit.proof import Finding, Plan, Proof, Tally

ALIKE = Tally("golden vectors", "cu_seqlens", "jax", 12, 0)
DIFFERENT = ALIKE._replace(row="token_rows", differences=2)
FOUND = Finding("golden vectors", "token_rows", "jax", "token_rows [x]: values\n{}")


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans that the command made, none of which is carried out."""
    made: list[Plan] = []

    def prove(plan: Plan, _: object) -> Proof:
        made.append(plan)
        return Proof([ALIKE], [], 1.5)

    monkeypatch.setattr(proof, "prove", prove)
    return made


def test_all_alike(plans: list[Plan], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--impl", "jax", "--impl", "jax", "--seed", "5", "--cases", "7"]) == 0
    assert plans == [Plan(("jax",), 7, 5)]
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == "identical: 12 comparisons, 0 differences, 1 operations, 1 implementations, 2 s"
    assert printed.replace("\n", "").isprintable()


def test_difference_is_told_and_is_the_exit_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(proof, "prove", lambda *_: Proof([ALIKE, DIFFERENT], [FOUND], 1.5))
    assert main(["--impl", "jax"]) == 1
    printed = capsys.readouterr().out
    assert "jax: token_rows [x]: values\n{}" in printed
    assert "12 / 2" in printed
    assert printed.splitlines()[-1].startswith("different: 24 comparisons, 2 differences, 2 operations")


@pytest.mark.usefixtures("plans")
def test_json_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    assert main(["--impl", "jax", "--json", str(path)]) == 0
    data = json.loads(path.read_text())
    assert data["identical"] is True
    assert [row["comparisons"] for row in data["rows"]] == [ALIKE.comparisons]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--impl", "numpy"], "numpy: unknown implementation"),
        (["--cases", "-1"], "expected a whole number"),
        (["--seed", "x"], "expected a whole number"),
        (["vektors"], "invalid choice"),
    ],
)
def test_bad_usage(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert told in capsys.readouterr().err


def test_unwritable_report_is_refused_before_the_work(
    plans: list[Plan], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--json", str(tmp_path / "no" / "report.json")]) == 2
    assert "cannot write" in capsys.readouterr().err
    assert plans == []


def test_without_torch(plans: list[Plan], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main([]) == 0
    assert plans == [Plan(("jax", "jax-vmap"), 1000, 0)]
    assert "left out: torch, because torch is not installed" in capsys.readouterr().out
    assert main(["--impl", "torch"]) == 2
    assert len(plans) == 1


def test_vectors_check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(vectors, "problems", lambda: ["token_rows.json: differs"])
    assert main(["vectors", "--check"]) == 1
    assert "token_rows.json: differs" in capsys.readouterr().out


def test_a_unit_counts_and_tells_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    torch_ref = pytest.importorskip("torch_ref")
    right = torch_ref.seq_lens
    monkeypatch.setattr(torch_ref, "seq_lens", lambda *arrays: right(*arrays) + 1)
    plan = Plan(("torch",), 0, 0)
    number = next(i for i, unit in enumerate(proof.units(plan)) if unit[:2] == ("recorded steps", "seq_lens"))
    tallies, told = proof.run_unit(plan, number)
    assert [(tally.subject, tally.differences) for tally in tallies] == [("oracle", 0), ("torch", 200)]
    assert len(told) == proof.TOLD
    assert (told[0].row, told[0].subject) == ("seq_lens", "torch")
    assert told[0].text.startswith("seq_lens smollm2_gsm8k_k3_b4-step-0: values: `out`[0] (flat 0, row 0): expected")


def test_device_that_is_not_there_is_refused(plans: list[Plan], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--device", "rocm"]) == 2
    assert "no rocm device for JAX here: found" in capsys.readouterr().err
    assert plans == []


def test_device_is_held_to_its_own_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(("jax", "torch"), 0, 0, device=Choice("cpu", "cpu"))
    numbers = [i for i, unit in enumerate(proof.units(plan)) if unit.part == "on the device"]
    assert len(numbers) == len(OPERATIONS)
    tallies, told = proof.run_unit(plan, numbers[0])
    # The jitted call in each of five steps, torch's call, and each of its arrays to JAX and back.
    assert [(tally.subject, tally.comparisons, tally.differences) for tally in tallies] == [
        ("jax", 5, 0),
        ("torch", 10, 0),
    ]
    assert told == []
    monkeypatch.setattr(jax_spec, "cu_seqlens", lambda lens: np.zeros(lens.size + 1, np.int32))
    tallies, told = proof.run_unit(plan, numbers[0])
    assert (tallies[0].differences, told[0].subject) == (5, "jax")


def test_transfer_in_a_hot_call_is_seen() -> None:
    host = np.ones(3, np.int32)
    with jax.transfer_guard("disallow"), pytest.raises(jax.errors.JaxRuntimeError, match="Disallowed"):
        jax.jit(lambda x: x + 1)(host)


def test_an_interruption_is_one_word(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def prove(*_: object) -> Proof:
        raise KeyboardInterrupt

    monkeypatch.setattr(proof, "prove", prove)
    assert main(["--impl", "jax"]) == 130
    assert capsys.readouterr().err.splitlines() == ["interrupted"]
