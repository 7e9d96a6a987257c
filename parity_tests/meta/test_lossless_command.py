"""`python -m parity_tests lossless`: what it prints, writes, refuses and leaves out."""

import argparse
import importlib.util
import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from parity_tests.lossless import command
from parity_tests.lossless.exact import sweep

SMALL = ("--requests", "3", "--tokens", "6", "--drafts", "2")


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    options = parser.parse_args(["lossless", *arguments])
    return options.run(options)


def test_the_report_says_what_was_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.json"
    assert run(*SMALL, "--impl", "oracle", "--json", str(path)) == 0
    data, printed = json.loads(path.read_text()), capsys.readouterr().out
    schema = json.loads(files("parity_tests.lossless").joinpath("report.schema.json").read_text())
    jsonschema.validate(data, schema)
    assert printed.splitlines()[-1] == data["result"]
    assert data["result"].startswith("identical: 4 runs of 3 requests, ")
    assert [each["mode"] for each in data["runs"]] == ["plain", "rectangular", "ragged", "floored"]
    assert " ".join(data["requests"][0]["text"].split())[:20] in " ".join(printed.split())


def test_a_difference_is_told_and_is_the_exit_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sweep, "differences", lambda *_: ["request 1: token 2: expected 3, got 4"])
    assert run(*SMALL, "--impl", "oracle") == 1
    printed = capsys.readouterr().out
    assert "oracle, ragged, K = 2: request 1: token 2: expected 3, got 4" in printed
    assert "3 / 1" in printed
    assert printed.splitlines()[-1].startswith("different: 4 runs")


def test_without_torch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else name)
    assert run(*SMALL, "--impl", "torch") == 2
    assert "torch needs torch, which is not installed" in capsys.readouterr().err
    few = {name: subject for name, subject in sweep.SUBJECTS.items() if not name.startswith("jax")}
    monkeypatch.setattr(command, "SUBJECTS", few)
    assert run(*SMALL) == 0
    assert "left out: torch-host-sync, because torch is not installed." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--tokens", "0"), "expected a whole number of at least 1"),
        (("--impl", "numpy"), "invalid choice"),
        (("--model", "gpt"), "invalid choice"),
    ],
)
def test_bad_usage(arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(*arguments)
    assert stopped.value.code == 2
    assert told in capsys.readouterr().err


def test_options_of_the_other_model_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--record", "runs.json") == 2
    assert "--weights and --record go with --model smollm2" in capsys.readouterr().err
