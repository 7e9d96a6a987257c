"""The report as data keeps to its schema, and the page of Markdown says the same."""

import json
from importlib.resources import files
from types import SimpleNamespace

import pytest
from jsonschema import Draft202012Validator

from parity_tests.kit import device_times, proof
from parity_tests.kit.device_times import Timing, Variant, timed, timings
from parity_tests.kit.devices import Choice
from parity_tests.kit.proof import Finding, Plan, Proof, Tally, gaps
from parity_tests.kit.report import make_console, print_report
from parity_tests.kit.report_data import Report, as_data, closing_line, is_identical
from parity_tests.kit.report_markdown import as_markdown

SCHEMA = json.loads((files("parity_tests.kit") / "report.schema.json").read_text())
TALLIES = [
    Tally("golden vectors", "token_rows", "oracle", 3, 0),
    Tally("golden vectors", "token_rows", "jax", 3, 0),
    Tally("random search", "token_rows", "jax", 1000, 0),
    Tally("whole runs", "run, step by step", "jax", 5, 0),
]
CASE = {"id": "rows", "op": "token_rows", "static": {"capacity": 8}}
FINDINGS = [
    Finding("random search", "token_rows", "jax", f"token_rows rows: values: `row`[0]\n{json.dumps(CASE)}"),
    Finding("whole runs", "run, step by step", "jax", "run, step by step, one: request 0: tokens"),
]
GOOD = Report(Plan(("jax",), 1000, 7), Proof(TALLIES, [], 1.26), {}, {"torch": "torch"}, None)
READS = {"before": {"aten::item": 1}, "after": {"aten::item": 0}}
BAD = Report(
    Plan(("jax", "jax:theirs"), 1000, 7, faults=False),
    Proof([*TALLIES[:2], TALLIES[2]._replace(differences=9), *TALLIES[3:]], FINDINGS, 1.26),
    {"jax:theirs": ("seq_lens", "check_step")},
    {},
    READS,
    (Timing("assemble_input_ids", "jax", 12.5, None), Timing("assemble_input_ids", "torch", 99.0, 7.5)),
)


@pytest.mark.parametrize("report", [GOOD, BAD], ids=["good", "bad"])
def test_data_keeps_to_the_schema(report: Report) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(as_data(report))))


def test_rows_hold_counts_search_and_findings() -> None:
    data = as_data(BAD)
    rows, run = data["rows"]
    assert (rows["name"], rows["comparisons"], rows["differences"], rows["search_cases"]) == (
        "token_rows",
        1006,
        9,
        1000,
    )
    assert rows["findings"][0]["case"] == CASE
    assert rows["findings"][0]["text"] == "token_rows rows: values: `row`[0]"
    assert "case" not in run["findings"][0]
    assert data["gaps"] == {"jax:theirs": ["seq_lens", "check_step"]}
    assert data["environment"]["packages"]["jax"]


def test_what_was_not_compared_is_not_identical() -> None:
    incomplete = GOOD._replace(gaps={"jax:theirs": ("seq_lens",)})
    assert is_identical(GOOD)
    assert not is_identical(incomplete)
    assert closing_line(GOOD).startswith("identical: 1,011 comparisons, 0 differences, 1 operations")
    assert closing_line(incomplete).startswith("incomplete: ")
    assert closing_line(BAD).startswith("different: ")


def test_gaps_are_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = proof.doors.subject("jax")._replace(outside=True, operations=("cu_seqlens",), lacks=("seq_lens",))
    monkeypatch.setattr(proof.doors, "subject", lambda name: subject._replace(name=name))
    plan = Plan(("jax", "jax:theirs", "proc:none"), 0, 0)
    tallies = [Tally("golden vectors", "cu_seqlens", "jax:theirs", 1, 0)]
    assert gaps(plan, tallies) == {"jax:theirs": ("seq_lens",), "proc:none": ("cu_seqlens", "seq_lens")}


def test_page_says_the_same() -> None:
    page = as_markdown(as_data(BAD))
    assert page.startswith("### ❌ different: ")
    assert "`jax:theirs` was not compared in `seq_lens`, `check_step`." in page
    assert "| token_rows | 1,000 | 3 / 0 | **1,003 / 9** | - |" in page
    assert json.dumps(CASE, separators=(",", ":")) in page
    assert "seed 7" in page
    assert "left out" in page
    assert "Host reads in one step, before: 1 `aten::item`." in page


def test_times_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(make_console(), BAD)
    printed = capsys.readouterr().out
    assert "12 / -" in printed
    assert "99 / 8" in printed


def test_times_of_the_cpu_are_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_times, "ROUNDS", 1)
    monkeypatch.setattr(device_times, "TIMED", ("assemble_input_ids", "store_drafts"))
    found = {(timing.operation, timing.variant): timing for timing in timings(Choice("cpu", "cpu"))}
    assert set(found) == {
        ("assemble_input_ids", "jax"),
        ("assemble_input_ids", "torch"),
        ("assemble_input_ids", "torch-host-sync"),
        ("store_drafts", "jax"),
        ("store_drafts", "torch"),
    }
    assert all(timing.blocked > 0 and timing.device is None for timing in found.values())


def test_times_of_a_card_are_between_events() -> None:
    def event() -> SimpleNamespace:
        return SimpleNamespace(record=lambda: None, elapsed_time=lambda _: 0.002)

    variant = Variant("torch", lambda: None, lambda _: None, (event(), event()))
    (timing,) = timed("store_drafts", [variant])
    assert timing.device == pytest.approx(2.0)


def test_good_page_is_short() -> None:
    page = as_markdown(as_data(GOOD))
    assert page.startswith("### ✅ identical: ")
    assert "`torch` was left out: torch is not installed." in page
    assert "details" not in page
