"""The overlap experiment: both ways emit the same, only the old one reads, and the files show what was measured."""

import argparse
import itertools
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib.resources import files

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from parity_tests.bench.overlap import command, experiment, host, measure
from parity_tests.bench.overlap.device import grouped, idle_share
from parity_tests.bench.overlap.host import DISPATCH, PACE, READ, SCHEDULE, Span
from parity_tests.bench.overlap.loop import Run, difference, run_loop
from parity_tests.bench.overlap.measure import DRAWN, DifferentTokensError, Lanes, Plan, least_disturbed, timed
from parity_tests.bench.overlap.model import Sizes
from parity_tests.bench.overlap.report import Gain, closing_lines, gains, table
from parity_tests.bench.overlap.stacks import jax_stack
from parity_tests.bench.overlap.steps import Carry, Loop, make_loop, step_after
from parity_tests.bench.overlap.watched import HiddenReadError
from parity_tests.kit.report import make_console

pytest.importorskip("matplotlib")

SMALL = Sizes(rows=4, drafts=2, blocks=8, block_size=4, vocabulary=16, width=16, layers=1)
Started = tuple[Loop, Carry]
PLAN = Plan(steps=3, rounds=1, observed=1, host_ms=1)
SCHEMA = json.loads((files("parity_tests.bench.overlap") / "overlap.schema.json").read_text())


@pytest.fixture(scope="module")
def found():
    return experiment.experiment(PLAN, SMALL, experiment.torch_device())


@pytest.fixture(scope="module")
def folder(found, tmp_path_factory):
    path = tmp_path_factory.mktemp("overlap")
    command.write(path, *found)
    return path


@pytest.fixture(scope="module")
def started():
    return make_loop(jax_stack(), SMALL)


def lane(path, way, name):
    events = json.loads((path / f"{way}.trace.json").read_text())["traceEvents"]
    return [event for event in events if event["ph"] == "X" and event["cat"] == name]


def test_the_data_keep_to_the_schema(folder):
    data = json.loads((folder / "overlap.json").read_text())
    Draft202012Validator(SCHEMA).validate(data)
    runs = [(sample["way"], sample["host_ms"], sample["observed"]) for sample in data["samples"]]
    assert sorted(runs) == sorted(itertools.product(("before", "after"), (0, 1), (False, True)))
    assert data["sizes"]["capacity"] == 12
    data["samples"][0]["step_ms"] = -1.0
    assert not Draft202012Validator(SCHEMA).is_valid(data)


@pytest.mark.parametrize("way", ["before", "after"])
@pytest.mark.parametrize("name", ["host", "device"])
def test_spans_of_a_lane_do_not_overlap(folder, way, name):
    spans = lane(folder, way, name)
    assert min(span["ts"] for span in spans) >= 0
    for span, following in itertools.pairwise(spans):
        # Times are rounded to a nanosecond.
        assert span["ts"] + span["dur"] <= following["ts"] + 0.002


def test_a_trace_counts_in_microseconds(found, folder):
    for lanes in found[1]:
        for name in ("host", "device"):
            span, shown = getattr(lanes, name)[-1], lane(folder, lanes.way, name)[-1]
            expected = pytest.approx([1e6 * span.start, 1e6 * (span.end - span.start)], abs=0.001)
            assert [shown["ts"], shown["dur"]] == expected


def test_only_the_old_way_is_blocked(folder):
    names = {way: [span["name"] for span in lane(folder, way, "host")] for way in measure.WAYS}
    assert names["before"].count(READ) == 4 * DRAWN
    assert READ not in names["after"]
    assert all(names[way].count(each) == DRAWN for way in names for each in (DISPATCH, SCHEDULE))
    assert all(names[way].count(PACE) == DRAWN - 2 for way in names)


def test_the_device_runs_every_program_in_every_step(folder):
    programs = {"before": ["stage", "forward", "finish_bounded"], "after": ["prepare", "forward", "finish"]}
    for way, order in programs.items():
        assert [span["name"] for span in lane(folder, way, "device")] == order * DRAWN


def test_both_clocks_are_one(found):
    for lanes in found[1]:
        dispatched = [span.start for span in lanes.host if span.name == DISPATCH]
        forwards = [span.start for span in lanes.device if span.name == "forward"]
        assert all(host < device for host, device in zip(dispatched, forwards, strict=True))
        assert max(span.end for span in lanes.device) <= lanes.seconds


def test_torch_reads_in_the_old_way_only(found):
    pytest.importorskip("torch")
    assert found[0].torch_events == {
        "before": {"aten::item": 1, "aten::_local_scalar_dense": 1},
        "after": {"aten::item": 0, "aten::_local_scalar_dense": 0},
    }


def test_the_ways_take_turns_to_be_first(started: Started):
    samples = list(timed(*started, Plan(3, 2, 0, 1)))
    assert [sample.host_ms for sample in samples] == [0, 0, 1, 1] * 2
    assert [sample.way for sample in samples] == [*["before", "after"] * 2, *["after", "before"] * 2]


def test_host_and_device_have_cores_of_their_own():
    code = """if True:
        import os, jax
        from parity_tests.bench.overlap.cores import divided_cores
        cores = sorted(os.sched_getaffinity(0))
        with divided_cores():
            kept = [sorted(os.sched_getaffinity(int(task))) for task in os.listdir("/proc/self/task")]
            assert os.sched_getaffinity(0) == {cores[0]}, kept
            assert (cores[1:] or cores) in kept, kept
        assert sorted(os.sched_getaffinity(0)) == cores"""
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_difference_is_told():
    run = Run(1.0, [], np.array([[[1, 2]], [[3, 4]]]), [np.array([5])])
    other = run._replace(tokens=run.tokens + np.array([[[0, 0]], [[0, 1]]]))
    assert difference(run, run) is None
    assert difference(run, other) == "step 1, row 0, token 1: expected 4, got 5"
    assert difference(run, run._replace(last=[np.array([6])])) == "the last states differ"


def test_the_drafter_is_sometimes_right(started: Started):
    accepted = (run_loop(*started, step_after, 10, 0).tokens >= 0).sum(2) - 1
    assert set(accepted.ravel().tolist()) == {0, 1, 2}


def test_operations_of_a_program_are_one_span():
    operations = [(0, 2, "forward"), (2, 5, "forward"), (3, 4, "forward"), (6, 7, "finish"), (8, 9, "forward")]
    assert grouped(operations) == [(0, 5, "forward"), (6, 7, "finish"), (8, 9, "forward")]


def test_idle_is_what_no_program_fills():
    programs = [Span("prepare", -3, -1), Span("forward", 0, 4), Span("finish", 5, 6), Span("forward", 8, 10)]
    assert idle_share([*programs, Span("finish", 12, 13)]) == pytest.approx(0.3)
    assert idle_share(programs[:1]) is None


def test_the_shortest_run_is_drawn(found):
    sample = found[0].samples[0]._replace(host_ms=1)
    lengths = {"before": [9.0, 2.0, 5.0], "after": [1.0, 4.0]}
    seen = [(sample._replace(way=way), Lanes(way, length, [], [])) for way in lengths for length in lengths[way]]
    seen.append((sample._replace(way="after", host_ms=0), Lanes("after", 0.5, [], [])))
    assert [lanes.seconds for lanes in least_disturbed(seen, 1)] == [2.0, 1.0]


def test_gains_are_taken_round_by_round(found):
    sample = found[0].samples[0]._replace(host_ms=3, observed=False)
    times = {"after": [6.0, 1.0, 30.0], "before": [12.0, 20.0, 15.0]}
    samples = [sample._replace(way=way, step_ms=time) for way in times for time in times[way]]
    slow = sample._replace(way="after", step_ms=1000.0, observed=True)
    assert gains([*samples, slow, slow]) == [Gain("jax", 3, 2.0, 0.5, 20.0)]


def test_host_work_grows():
    assert host.bookkeeping(1000) > host.bookkeeping(10) > 1
    assert host.rounds_in(4) > 2 * host.rounds_in(1) > 0


def test_the_picture_has_four_lanes(folder):
    text = (folder / "overlap.svg").read_text()
    assert len(text) < 150_000
    root = ElementTree.fromstring(text)
    ids = {node.get("id", "") for node in root.iter()}
    blocked = READ.replace(" ", "-")
    for name in ("before-host", "before-device", "after-host", "after-device"):
        assert any(each.startswith(name) for each in ids), name
    assert f"before-host-{blocked}" in ids
    assert f"after-host-{blocked}" not in ids
    words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"host", "device", "host blocked in a read", "device: forward", "1", str(DRAWN)} <= set(words)


def test_the_page_tells_all(found):
    console = make_console()
    with console.capture() as captured:
        console.print(table(found[0]))
    page = captured.get()
    assert all(f"jax, scheduling {ms} ms, {way}" in page for ms in (0, 1) for way in ("before", "after"))
    told = {"host reads in one step, before: 4", "host reads in one step, after: 0"}
    assert told <= set(closing_lines(found[0]))


def called(*arguments):
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    options = parser.parse_args(["overlap", *map(str, arguments)])
    return options.run(options)


@pytest.mark.parametrize(
    ("reads", "of_torch", "told"),
    [
        ((4, 0), None, ""),
        ((4, 0), (1, 0), ""),
        ((4, 1), None, "not as claimed: jax: the step built on the device reads it, too (1 in one step)\n"),
        ((0, 0), None, "not as claimed: jax: the step built on the host reads nothing"),
        ((4, 0), (1, 0.25), "not as claimed: torch: the step built on the device reads it, too (0.25 in one step)\n"),
        ((4, 0), (0, 0), "not as claimed: torch: the step built on the host reads nothing"),
    ],
)
def test_a_count_that_contradicts_the_claim_is_a_failure(found, tmp_path, monkeypatch, capsys, reads, of_torch, told):
    events = of_torch and {way: {"aten::item": count} for way, count in zip(measure.WAYS, of_torch, strict=True)}
    counted = dict(zip(measure.WAYS, reads, strict=True))
    report = found[0]._replace(reads=counted, torch_events=events)
    monkeypatch.setattr(experiment, "experiment", lambda *_: (report, found[1]))
    assert called("--out", tmp_path / "new" / "folder") == int(bool(told))
    printed = capsys.readouterr().out
    assert told in printed
    assert printed.count("not as claimed") == int(bool(told))
    assert {path.name for path in (tmp_path / "new" / "folder").iterdir()} == set(command.FILES)


@pytest.mark.parametrize("blocked", ["", "overlap.svg", "after.trace.json"])
def test_what_cannot_be_written_is_refused_first(tmp_path, monkeypatch, capsys, blocked):
    folder = tmp_path / "out"
    if blocked:
        (folder / blocked).mkdir(parents=True)
    else:
        folder.touch()
    monkeypatch.setattr(experiment, "experiment", lambda *_: pytest.fail("it ran"))
    assert called("--out", folder) == 2
    assert "--out: [Errno" in capsys.readouterr().err
    assert not blocked or [path.name for path in folder.iterdir()] == [blocked]


def test_the_options_reach_the_experiment(found, tmp_path, monkeypatch):
    plans = []
    monkeypatch.setattr(experiment, "experiment", lambda plan, sizes, _: plans.append((plan, sizes)) or found)
    called("--out", tmp_path, "--quick", "--host-ms", 0)
    called("--out", tmp_path, "--steps", 7)
    assert plans == [(Plan(12, 2, 1, 0), Sizes()), (Plan(7, 8, 6, 2), Sizes())]


@pytest.mark.parametrize("error", [DifferentTokensError, HiddenReadError])
def test_a_difference_is_a_failure(error, tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise error("step 3")

    monkeypatch.setattr(experiment, "experiment", fail)
    assert called("--out", tmp_path) == 1
    assert "step 3" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_it_says_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == "matplotlib" else 1)
    assert called("--out", tmp_path) == 2
    assert "pip install 'jax-spec-decode[bench]'" in capsys.readouterr().err


def test_a_device_that_is_not_there_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "gather", lambda: argparse.Namespace(jax=None, torch=None))
    assert called("--out", tmp_path, "--device", "tpu") == 2
    assert "no tpu device for JAX here" in capsys.readouterr().err


@pytest.mark.full
def test_it_runs_as_it_stands(tmp_path):
    assert called("--out", tmp_path, "--quick") == 0
