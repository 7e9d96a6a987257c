"""The command line: what it refuses, what it leaves out, and what it says when something differs."""

import json
import sys
from pathlib import Path

import pytest

from parity_tests.__main__ import main
from parity_tests.kit import proof, vectors
from parity_tests.kit.proof import Plan, Proof, Tally

ALIKE = Tally("golden vectors", "cu_seqlens", "jax", 12, 0)
DIFFERENT = ALIKE._replace(row="token_rows", differences=2)


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
    monkeypatch.setattr(proof, "prove", lambda *_: Proof([ALIKE, DIFFERENT], ["jax: token_rows [x]: {}"], 1.5))
    assert main(["--impl", "jax"]) == 1
    printed = capsys.readouterr().out
    assert "jax: token_rows [x]: {}" in printed
    assert "12 / 2" in printed
    assert printed.splitlines()[-1].startswith("different: 24 comparisons, 2 differences, 2 operations")


@pytest.mark.usefixtures("plans")
def test_json_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    assert main(["--impl", "jax", "--json", str(path)]) == 0
    data = json.loads(path.read_text())
    assert data["identical"] is True
    assert data["tallies"] == [ALIKE._asdict()]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--impl", "numpy"], "unknown implementation 'numpy'"),
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
    number = next(i for i, unit in enumerate(proof.units()) if unit == ("recorded steps", "seq_lens", unit.compare))
    tallies, told = proof.run_unit(Plan(("torch",), 0, 0), number)
    assert [(tally.subject, tally.differences) for tally in tallies] == [("oracle", 0), ("torch", 200)]
    assert len(told) == proof.TOLD
    assert told[0].startswith("torch: seq_lens smollm2_gsm8k_k3_b4-step-0: values: `out`[0] (flat 0, row 0): expected")
