"""What grows with the batch, and what is compiled while serving."""

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

import jax_spec
from parity_tests.bench import command, recompile, recompile_command, running, scaling, serving

SCHEMAS = ("recompile.schema.json", "report.schema.json")
TASK = recompile.Task((*recompile.STEP, "cu_seqlens"), (64,), 40, 0)


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    options = parser.parse_args(arguments)
    return options.run(options)


@pytest.fixture(scope="module")
def warm() -> dict[str, Callable[..., Any]]:
    functions = {name: getattr(jax_spec, name) for name in TASK.operations}
    assert recompile.warm_up(functions, TASK.ladder).programs == 4
    return functions


def test_serving_compiles_nothing(warm: dict[str, Callable[..., Any]]) -> None:
    served = recompile.serve(warm, TASK)
    assert (served.steps, served.traces, served.compilations) == (40, 0, 0)
    assert served.buckets == {64: 40}


def test_a_function_that_traces_again_is_caught(warm: dict[str, Callable[..., Any]]) -> None:
    fixed = jax.jit(lambda lens, *, total: jax_spec.cu_seqlens(lens) + total, static_argnames="total")
    functions = warm | {"cu_seqlens": lambda lens: fixed(lens, total=int(lens.sum()))}
    served = recompile.serve(functions, TASK._replace(steps=6))
    assert min(served.traces, served.compilations) >= 5


def test_requests_come_and_go_through_every_bucket() -> None:
    made = list(serving.steps(400, 512, np.random.default_rng(0)))
    buckets = {min(size for size in (64, 128, 256, 512) if size >= step.total) for step in made}
    assert buckets == {64, 128, 256, 512}
    assert sum(step.arrived for step in made) >= sum(step.gone for step in made) > 100
    for step in made[::7]:
        jax_spec.check_step(
            step.cu_seqlens_q,
            capacity=512,
            num_speculative_tokens=serving.COLUMNS,
            source_rows=step.source_rows,
            slots=step.slots,
            num_slots=serving.SLOTS,
        )


def test_second_process_finds_its_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "warm.json"
    asked = ["--operation", "cu_seqlens", "--largest", "64", "--steps", "30", "--json", str(path)]
    assert run("recompile", *asked) == 0
    data = json.loads(path.read_text())
    schemas = {name: json.loads(Path(command.__file__).with_name(name).read_text()) for name in SCHEMAS}
    registry = Registry().with_resources((name, Resource.from_contents(schema)) for name, schema in schemas.items())
    Draft202012Validator(schemas[SCHEMAS[0]], registry=registry).validate(data)
    assert data["warm_up"]["not_found"] > 0 == data["warm_up"]["found"]
    assert data["second_process"]["found"] > 0 == data["second_process"]["not_found"]
    assert capsys.readouterr().out.splitlines()[-1].endswith("nothing was traced or compiled: 0 traces, 0 compilations")
    data["served"]["traces"] = 1
    assert not recompile_command.is_warm(data)
    assert list(recompile_command.lines(data))[-1].startswith("after the warm-up: NOT WARM: 1 traces")


def programs(time_of: Callable[[int], float]) -> dict[str, Any]:
    sizes = [{"operation": "grows", "B": batch, "tokens": 5 * batch} for batch in scaling.BATCHES]
    return {"programs": [size | {"blocked_ns": time_of(size["B"])} for size in sizes]}


@pytest.mark.parametrize(
    ("time_of", "steep"),
    [
        (lambda b: 9000 + 40 * b, False),
        (lambda b: 9000 + 0.05 * b**2, True),
        (lambda b: 4 * b * np.log(b), False),
        (lambda b: 190_000 + 0.05 * b**2, True),
        (lambda b: 40 * b * (1.5 if b > 4096 else 1), False),
    ],
    ids=["linear", "quadratic", "sorting", "quadratic behind a constant", "linear beyond a cache"],
)
def test_what_is_quadratic_is_told(time_of: Callable[[int], float], steep: bool) -> None:
    (curve,) = scaling.curves(programs(time_of))
    assert scaling.is_steep(curve) == steep
    assert any(line.startswith("MORE THAN LINEAR: grows") for line in scaling.lines([curve])) == steep
    assert curve.per_token[8] == time_of(8) / 40


def test_the_last_doubling_is_told_apart() -> None:
    (curve,) = scaling.curves(programs(lambda b: 190_000 + 0.05 * b**2))
    assert curve.power < scaling.LINEAR
    steep, overall = scaling.lines([curve])
    assert steep.endswith(f"with the power {curve.power:.2f} of B, {curve.last_power:.2f} in the last doubling")
    assert f"from {curve.last_power:.2f} to {curve.last_power:.2f} in the last doubling" in overall


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["--plot", "growth.xyz"], "--plot growth.xyz: expected"), (["--json", "no/where.json"], "no/where.json")],
)
def test_what_cannot_be_written_is_not_measured(
    arguments: list[str], told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(running, "run_plans", lambda *_: pytest.fail("it measures"))
    assert run("scaling", *arguments) == 2
    assert told in capsys.readouterr().err
    assert not Path("growth.xyz").exists()


def test_one_large_size_gives_no_verdict(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(running, "run_plans", lambda *_: pytest.fail("it measures"))
    with pytest.raises(SystemExit) as stop:
        run("scaling", "--largest", "2047")
    assert stop.value.code == 2
    assert "expected a whole number of at least 2048" in capsys.readouterr().err


def test_growth_is_measured_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scaling, "LARGE", 8)
    # Two small sizes on a busy machine give no verdict.
    monkeypatch.setattr(scaling, "is_steep", lambda _: False)
    path = tmp_path / "growth.svg"
    assert run("scaling", "--operation", "assemble_input_ids", "--largest", "16", "--plot", str(path)) == 0
    assert "<svg" in path.read_text()
    assert "ns a token" in capsys.readouterr().out


def test_growth_that_is_too_steep_is_the_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = {"packages": {}, "cores": 2, "cpu": "", "system": "", "python": "", "noisy": False}
    rest = {
        "left_out": [],
        "figures": [],
        "seconds": 1,
        "environment": {**environment, "devices": [], "load_before": 0},
    }
    rest["environment"]["load_after"] = 0
    monkeypatch.setattr(running, "run_plans", lambda *_: rest | programs(partial(pow, exp=2)))
    assert run("scaling") == 1
    assert "MORE THAN LINEAR" in capsys.readouterr().out
