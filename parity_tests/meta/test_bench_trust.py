"""No figure of a function that is wrong while it is timed, and no measurement that is lost at its end."""

import argparse
import json
from pathlib import Path

import pytest

from parity_tests.bench import command, report_data, results, running
from parity_tests.bench.cases import Row
from parity_tests.bench.markdown import as_markdown
from parity_tests.bench.measure import Block, Measured
from parity_tests.kit.trees import Tree

LATE = """
import itertools
import jax.numpy as jnp
calls = itertools.count()
def scan(query_lens):
    return jnp.pad(jnp.cumsum(query_lens, dtype=jnp.int32), (1, 0)) + (next(calls) > 6)
"""
WRITES = """
import torch
def scan(query_lens):
    result = torch.zeros(len(query_lens) + 1, dtype=torch.int32)
    result[1:] = query_lens.cumsum(0)
    query_lens.zero_()
    return result
"""
WRITES_IN_JAX = """
import jax.numpy as jnp
import torch
def scan(query_lens):
    result = jnp.pad(jnp.cumsum(query_lens, dtype=jnp.int32), (1, 0)).block_until_ready()
    torch.from_dlpack(query_lens).zero_()
    return result
"""


def bench(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    options = parser.parse_args(["bench", *arguments])
    return options.run(options)


def data_of(*rows: Row, variants: tuple[str, ...] = ("floor", "jax")) -> Tree:
    blocks = [Block(tuple(row), variant, (10, 10), None) for row in rows for variant in variants]
    return report_data.as_data(report_data.Found(results.cells(blocks), {}, {}, ("cpu:0",), (0, 0), (), 3.0))


@pytest.mark.parametrize(
    ("code", "door", "told"),
    [
        (LATE, "jax", "cu_seqlens cu_seqlens-B8-K7-drawn: values: `out`[0]"),
        (WRITES, "torch", "cu_seqlens-B8-K7-drawn: it writes to its argument `query_lens`"),
        (WRITES_IN_JAX, "jax", "cu_seqlens-B8-K7-drawn: it writes to its argument `query_lens`"),
    ],
    ids=["wrong from the eighth call on", "writes to a tensor", "writes to an array"],
)
def test_what_is_timed_is_right(
    code: str,
    door: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "torch" in code:
        pytest.importorskip("torch")
    (tmp_path / "faulty.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    spec = f"cu_seqlens={door}:faulty:scan"
    assert bench("--impl", spec, "--filter", "/B=8/", "--filter", spec, "--json", "run.json") == 1
    assert capsys.readouterr().out.startswith(f"wrong, so nothing is published: {spec}: {told}")
    assert Path("run.json").read_text() == ""


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"schema": 9, "figures": [{}]}', "expected what a run of this command wrote with --json"),
        ('{"figures": 3}', "expected what a run of this command wrote with --json"),
        ("[]", "expected what a run of this command wrote with --json"),
        ("figures", "cannot be read as JSON"),
        (b"\xff\xfe\x00", "cannot be read as JSON"),
        (json.dumps(data_of(Row("cu_seqlens", 2048, 7, "drawn"))), "none of the figures that this run would measure"),
        (json.dumps(data_of(Row("cu_seqlens", 64, 7, "drawn"))), "none of the figures that this run would measure"),
        (json.dumps(data_of(Row("cu_seqlens", 8, 7, "drawn"), variants=("floor",))), "none of the figures"),
    ],
    ids=["schema", "figures", "list", "text", "binary", "other sizes", "filtered", "floor"],
)
def test_a_run_that_cannot_be_compared_is_refused_before_measuring(
    content: str | bytes,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(running, "run_plans", lambda *_: pytest.fail("it measures"))
    path = tmp_path / "earlier.json"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    assert bench("--filter", "/B=8/", "--compare", str(path)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"python -m parity_tests bench: --compare {path}: ")
    assert told in line


def test_figures_are_written_before_they_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = data_of(Row("cu_seqlens", 8, 7, "drawn"))
    monkeypatch.setattr(running, "run_plans", lambda *_: data)
    monkeypatch.setattr(command, "changes", lambda *_: pytest.fail("no comparison"))
    monkeypatch.chdir(tmp_path)
    Path("earlier.json").write_text(json.dumps(data))
    with pytest.raises(pytest.fail.Exception, match="no comparison"):
        bench("--compare", "earlier.json", "--json", "run.json", "--markdown", "run.md")
    assert json.loads(Path("run.json").read_text()) == data
    assert Path("run.md").read_text() == as_markdown(data)


def test_a_device_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch")
    device = "xpu" if torch.cuda.is_available() else "cuda"
    assert bench("--impl", f"torch@{device}:torch_ref") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"--impl torch@{device}:torch_ref: torch has no device '{device}' here" in line


def test_who_was_not_measured_is_said() -> None:
    block = Block(("cu_seqlens", 8, 7, "drawn"), "numpy:mine", (10,), None)
    measured = Measured((block,), {}, (), (("numpy:mine", "seq_lens"), ("numpy:mine", "token_rows")))
    assert list(running.not_measured(["numpy:mine", "numpy:theirs"], measured)) == [
        "numpy:mine was not measured everywhere: it raises NotImplementedError in seq_lens, token_rows",
        "numpy:theirs was not measured: --filter leaves nothing of it",
    ]


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([Row("cu_seqlens", 64, 7, "drawn"), Row("cu_seqlens", 1024, 7, "drawn")], "B = 8 / 64 / 256, K = 7"),
        ([Row("cu_seqlens", 1024, 7, "drawn")], "B = 1024, K = 7"),
        ([Row("whole_step", 1, 5, "ones"), Row("whole_step", 1024, 5, "ones")], "B = 1 / 1024, K = 5, ones"),
    ],
)
def test_the_table_has_the_sizes_that_there_are(rows: list[Row], title: str) -> None:
    first, _, cells = as_markdown(data_of(*rows)).splitlines()[:3]
    assert first == f"| µs at {title} | `floor` | `jax` |"
    assert "0.0" in cells
