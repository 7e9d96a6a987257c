"""The microbenchmarks: what is measured, what the figures mean, and what the command refuses."""

import argparse
import itertools
import json
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import jax
import jsonschema
import numpy as np
import pytest

import jax_spec
from parity_tests.bench import command, compare, device, in_jax, refusal, report_data, results, selection, tables
from parity_tests.bench.cases import LENGTHS, STEP, Row, make_case, operation_of
from parity_tests.bench.markdown import as_markdown
from parity_tests.bench.measure import Block
from parity_tests.bench.variants import OURS, on_host
from parity_tests.kit.calls import invoke
from parity_tests.kit.compare import compare as difference
from parity_tests.kit.trees import Tree

SCHEMA = json.loads((Path(command.__file__).parent / "report.schema.json").read_text())
THEIRS = """
import numpy as np
import jax.numpy as jnp
def adapter(inputs, static):
    inputs['query_lens'].cumsum(out=inputs['query_lens'])
    return {'out': np.pad(inputs['query_lens'], (1, 0))}
def scan(query_lens):
    print('@progress nothing', '@difference "of its own"', '["difference", "nor this"]', sep='\\n', end='@')
    return jnp.pad(jnp.cumsum(query_lens, dtype=jnp.int32), (1, 0))
def later(query_lens):
    raise NotImplementedError
"""
ROW = Row("assemble_input_ids", 64, 7, "drawn")


def block(variant: str, *samples: int, row: Row = ROW) -> Block:
    return Block(tuple(row), variant, samples, None)


def bench(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    options = parser.parse_args(["bench", *arguments])
    return options.run(options)


def data_of(*blocks: Block) -> Tree:
    found = report_data.Found(results.cells(blocks), {}, {}, ("cpu:0",), (0.5, 1.2), (), 3.0)
    return report_data.as_data(found)


@pytest.mark.parametrize("name", selection.OPERATION_NAMES)
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("batch", [1, 8])
def test_numpy_gives_what_the_oracle_gives(name: str, lengths: str, batch: int) -> None:
    row = Row(name, batch, 3, lengths)
    case, variant = make_case(row), on_host(make_case(row), operation_of(row))
    assert difference(case, variant.read(variant.call())) is None


@pytest.mark.parametrize("lengths", LENGTHS)
def test_steps_are_legal(lengths: str) -> None:
    inputs = make_case(Row("whole_step", 64, 7, lengths)).inputs
    given = {name: inputs[name] for name in ("source_rows", "slots", "num_draft_tokens")}
    jax_spec.check_step(
        inputs["cu_seqlens_q"], capacity=inputs["input_ids"].size, num_speculative_tokens=7, num_slots=128, **given
    )


def test_drawn_lengths_have_their_mean() -> None:
    lens = LENGTHS["drawn"](4096, 7, np.random.default_rng(0))
    assert abs(lens.mean() - (1 + 0.64 * 7)) < 0.1


def test_every_size_is_among_all_and_the_aims_among_the_usual() -> None:
    everything, usual = selection.everything(), selection.usual()
    assert len(set(everything.rows)) == len(selection.OPERATION_NAMES) * 5 * 3 * len(LENGTHS)
    assert set(usual.rows) < set(everything.rows)
    assert {row.operation for row in usual.rows} == set(selection.OPERATION_NAMES)
    assert set(selection.quick().rows) | usual.compiled_by_torch <= set(usual.rows)
    named = {row.operation for row in selection.quick(["cu_seqlens", "whole_step"]).rows}
    assert named == {*selection.AIMED, "cu_seqlens"}


@pytest.mark.parametrize("name", ["token_rows", STEP.name])
def test_the_floor_has_the_shapes_of_the_result(name: str) -> None:
    row = Row(name, 8, 3, "drawn")
    case, operation = make_case(row), operation_of(row)
    function = in_jax.functions(operation, jax_spec)[0]
    shapes = jax.eval_shape(lambda: invoke(function, operation, case.inputs, case.static, jax_spec))
    zeros = in_jax.floor(shapes)(case.inputs)
    assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), zeros) == jax.tree.map(
        lambda leaf: (leaf.shape, leaf.dtype), shapes
    )
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(zeros))


def test_arguments_of_the_floor_are_handed_over() -> None:
    lowered = in_jax.floor(jax.ShapeDtypeStruct((3,), np.int32)).lower(np.zeros(7, np.int32), np.zeros(9, np.int32))
    assert all(shape in lowered.compile().as_text() for shape in ("s32[7]", "s32[9]"))


def test_ratios_are_taken_block_by_block() -> None:
    # The machine is half as fast in the second block, of which the floor has more rounds: no ratio may see that.
    slow = [block("jax", 20, 20, 20, 22), block("jax", 40)]
    cells = results.cells([block("floor", 10), block("floor", 20, 20, 20, 22), *slow])
    assert cells[ROW, "jax"].to_floor == results.Ratio(2.0, 2.0, 2.0)
    assert cells[ROW, "floor"].to_floor is None
    assert (cells[ROW, "floor"].median, cells[ROW, "jax"].median) == (20, 20)


def test_figures_that_scatter_are_marked() -> None:
    data = data_of(block("jax", *range(1000, 1010)), block("torch", *[1000] * 5, *[1500] * 5))
    assert [figure["unstable"] for figure in data["figures"]] == [False, True]
    assert [figure["spread_ns"] for figure in data["figures"]] == [4.5, 500]
    assert "| - / 1.0 / - | - / ~1.2 / - |" in as_markdown(data)


def test_where_numpy_is_faster_is_published() -> None:
    data = data_of(block("jax", 10, 10), block("numpy", 5, 5), block("jax", 4, 4, row=ROW._replace(batch=8)))
    assert [(row["B"], row["times"]["median"]) for row in data["numpy_is_faster"]] == [(64, 2.0)]
    assert "faster, at one size at least, in `assemble_input_ids`" in as_markdown(data)


def test_aims_are_told_reached_or_missed() -> None:
    reached = [block("jax", 10, 10), block("torch", 29, 29), block("torch-host-sync", 41, 41)]
    told = list(tables.aim_lines(data_of(*reached)))
    assert [("MISSED" in line, "reached" in line) for line in told] == [(True, False), (False, True)]
    assert "MISSED, 2.9x (2.9 to 2.9)" in told[0]


def test_compare_sees_beyond_the_spread_and_not_below() -> None:
    floor = [block("floor", 10, 10)] * 3
    before = data_of(*floor, *(block("jax", time, time) for time in (20, 21, 22)))

    def verdict(*times: int) -> str:
        after = data_of(*floor, *(block("jax", time, time) for time in times))
        (change,) = compare.changes(before, after)
        return change.verdict

    assert verdict(30, 31, 32) == "slower"
    assert verdict(10, 11, 12) == "faster"
    assert verdict(22, 25, 26) == verdict(20, 21, 22) == "alike"
    assert verdict(20, 60, 90) == "unsure"


def test_a_floor_that_moves_alone_proves_nothing() -> None:
    rows = [ROW._replace(batch=batch) for batch in (8, 64, 256)]

    def verdicts(*floors: int) -> list[str]:
        runs = [
            [block("floor", time, row=row), block("jax", 20, row=row)] for row, time in zip(rows, floors, strict=True)
        ]
        return [change.verdict for change in compare.changes(before, data_of(*itertools.chain(*runs)))]

    before = data_of(*(block(name, time, row=row) for row in rows for name, time in (("floor", 10), ("jax", 20))))
    assert verdicts(10, 10, 5) == ["alike", "alike", "unsure"]
    assert verdicts(5, 5, 5) == ["slower"] * 3


def test_work_of_devices_is_summed_over_their_lanes() -> None:
    def plane(name: str, **lanes: list[float]) -> SimpleNamespace:
        lines = [
            SimpleNamespace(name=lane, events=[SimpleNamespace(duration_ns=time) for time in times])
            for lane, times in lanes.items()
        ]
        return SimpleNamespace(name=name, lines=lines)

    planes = [plane("/device:GPU:0", Stream_13=[5.0, 7.0], Steps=[100.0]), plane("/host:CPU", Stream_1=[900.0])]
    assert device.busy_ns(planes) == 12.0
    assert device.device_ns(lambda: None) is None


def test_a_run_is_valid_and_has_somebodys_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "theirs.py").write_text(THEIRS)
    monkeypatch.chdir(tmp_path)
    specs = ["cu_seqlens=numpy:theirs:adapter", "cu_seqlens=jax:theirs:scan"]
    later = "cu_seqlens=jax:theirs:later"
    asked = ["--filter", "/B=8/", *(word for spec in (*specs, later) for word in ("--impl", spec))]
    row = Row("cu_seqlens", 8, 7, "drawn")
    earlier = data_of(block("floor", 100, 100, row=row), block("jax", 1, 1, row=row))
    Path("earlier.json").write_text(json.dumps(earlier))
    assert bench(*asked, "--json", "run.json", "--markdown", "run.md", "--compare", "earlier.json") == 0
    data = json.loads(Path("run.json").read_text())
    jsonschema.validate(data, SCHEMA)
    measured = [figure["variant"] for figure in data["figures"]]
    assert measured == [name for name in OURS if name in measured] + specs
    assert {"floor", "jax", "jax-aot", "numpy"} < set(measured)
    for figure in data["figures"]:
        assert figure["median_ns"] == median(sample for block in figure["blocks_ns"] for sample in block)
        assert len(figure["blocks_ns"]) == 5
    (program,) = data["programs"]
    assert program["device_ns"] is None
    assert min(program[name] for name in ("lower_ns", "compile_ns", "dispatch_ns", "output_bytes")) > 0
    assert "| `cu_seqlens` |" in Path("run.md").read_text()
    printed = capsys.readouterr().out
    assert "load average" in printed
    assert "peak is temporary plus output memory as XLA plans it, without the arguments" in printed
    assert f"left out: {later} was not measured: it raises NotImplementedError in cu_seqlens\n" in printed
    assert "compared with the earlier run: 1 figures" in printed


def test_a_wrong_function_stops_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mistaken.py").write_text("def bound(cu_seqlens_q):\n    return cu_seqlens_q[-1]\n")
    monkeypatch.chdir(tmp_path)
    spec = "token_index_bound=jax:mistaken:bound"
    assert bench("--impl", spec, "--filter", "/B=8/", "--json", "run.json") == 1
    printed = capsys.readouterr().out
    assert printed.startswith(
        f"wrong, so nothing is published: {spec}: token_index_bound token_index_bound-B8-K7-drawn"
    )
    assert "µs" not in printed
    assert Path("run.json").read_text() == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--impl", "jax"], "give a function of yours"),
        (["--impl", "proc:./binary"], "give a function of yours"),
        (["--impl", "nothing"], "unknown implementation"),
        (["--impl", "commit_step_donated=jax:jax_spec:commit_step_donated"], "no row of commit_step_donated"),
        (["--impl", "check_step=jax:jax_spec:check_step"], "no row of check_step"),
        (["--compare", "nowhere.json"], "nowhere.json"),
        (["--json", "no/where.json"], "no/where.json"),
    ],
)
def test_bad_usage(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(*arguments) == 2
    assert told in capsys.readouterr().err


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(refusal, "NEEDED", ("rich", "no_such_module"))
    assert bench() == 2
    assert "no_such_module is not installed (pip install 'jax-spec-decode[bench]')" in capsys.readouterr().err
