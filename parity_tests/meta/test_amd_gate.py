"""The gate as a whole, in the environment that compiles for AMD GPUs: what is planted is found."""

import argparse

import pytest

from parity_tests.amd import budget, command, compilation
from parity_tests.amd.compilation import Plan, Program, compile_all
from parity_tests.amd.counts import Counts
from parity_tests.amd.environment import choose, look_at, missing_tools, problems

PLANTS = """
import os, signal
import jax, jax.numpy as jnp, numpy as np
import jax_spec
from jax_spec import *

@jax.jit
def seq_lens(cu_seqlens_q, num_computed_tokens):
    out = jax_spec.seq_lens(cu_seqlens_q, num_computed_tokens)
    PLANT

def loop(out):
    return jax.lax.fori_loop(0, out[0], lambda i, x: x * i, out)

def host(out):
    return jax.pure_callback(lambda x: np.asarray(x) + 1, jax.ShapeDtypeStruct(out.shape, out.dtype), out)

def crash(out):
    if out.size > 8:
        os.kill(os.getpid(), signal.SIGSEGV)
    return out

overlay_input_ids_donated = jax_spec.overlay_input_ids
"""


@pytest.fixture(scope="module")
def environment():
    found = look_at(choose(None))
    lacking = problems(found, missing_tools())
    if lacking:
        pytest.skip(f"nothing here compiles for AMD GPUs: {'; '.join(lacking)}")
    return found


@pytest.fixture
def findings(environment, tmp_path, monkeypatch):
    """A function that compiles an operation with `plant` for its last line, and returns what the gate says."""

    def compiled(plant, operation="seq_lens"):
        (tmp_path / "planted.py").write_text(PLANTS.replace("PLANT", plant))
        monkeypatch.syspath_prepend(tmp_path)
        shapes = ("decode-8", "decode-64")
        plan = Plan(environment.python, environment.plugin, (operation,), ("gfx942",), shapes, package="planted")
        outcomes = compile_all(plan, lambda *_: None)
        return budget.judge(outcomes, budget.load(budget.TABLE.read_text()))

    return compiled


@pytest.mark.amd
def test_the_operation_itself_passes(findings):
    assert findings("return out") == []


@pytest.mark.amd
@pytest.mark.parametrize(
    ("plant", "said"),
    [
        ("return jax.lax.optimization_barrier(out)[::-1]", "kernels 2, the budget is kernels 1"),
        ("return loop(out)", "whiles 1"),
        ("return jax.lax.cond(out[0] > 0, jnp.flip, jnp.negative, out)", "branches 1"),
        ("return host(out)", "not compiled: RuntimeError: the program calls the host: pure_callback"),
        ("return jax.device_put(out, jax.memory.Space.Host)", "host_transfers 1"),
        ("return jnp.zeros(8, jnp.int32)", "XLA left 0 GPU programs"),
        ("return jax.ffi.ffi_call('nothing', jax.ShapeDtypeStruct(out.shape, out.dtype))(out)", "not compiled"),
    ],
    ids=["kernel", "loop", "branch", "callback", "host memory", "no program", "custom call"],
)
def test_a_plant_is_found_at_every_shape(findings, plant, said):
    found = findings(plant)
    assert [finding.program for finding in found] == [
        Program("seq_lens", "gfx942", shape) for shape in ("decode-8", "decode-64")
    ]
    assert all(said in finding.text for finding in found), found


@pytest.mark.amd
def test_a_crash_fails_what_was_left(findings):
    [finding] = findings("return crash(out)")
    assert finding.program.shape == "decode-64"
    assert "the process died of SIGSEGV" in finding.text


@pytest.mark.amd
def test_a_process_that_hangs_is_stopped(findings, monkeypatch):
    monkeypatch.setattr(compilation, "LONGEST", 3)
    assert ["stopped after 3 s" in finding.text for finding in findings("while True: pass")] == [True, True]


@pytest.mark.amd
def test_a_donation_that_is_lost_is_found(findings):
    assert ["takes over 0 of" in finding.text for finding in findings("", "overlay_input_ids_donated")] == [True, True]


def run(*arguments):
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    options = parser.parse_args(["amd", *arguments])
    return options.run(options)


ONLY = ("--target", "gfx942", "--shape", "decode-64", "--operation", "seq_lens")


@pytest.mark.amd
@pytest.mark.usefixtures("environment")
def test_the_command_passes_as_ci_calls_it(tmp_path, capsys):
    report = tmp_path / "report.json"
    assert run(*ONLY, "--json", str(report)) == 0
    assert "within budget: 1 of 1 programs of 1 operations" in capsys.readouterr().out
    assert '"kernels": 1' in report.read_text()


@pytest.mark.amd
@pytest.mark.usefixtures("environment")
def test_the_command_asks_to_tighten_and_does(tmp_path, monkeypatch, capsys):
    table = tmp_path / "budgets.json"
    table.write_text('{"seq_lens": {"decode-64": {"gfx942": {"kernels": 5}}}}')
    monkeypatch.setattr(budget, "TABLE", table)
    assert run(*ONLY) == 1
    assert "kernels 1, less than the budget, kernels 5: use --tighten" in capsys.readouterr().out
    assert run(*ONLY, "--tighten") == 0
    assert budget.load(table.read_text()) == {Program("seq_lens", "gfx942", "decode-64"): Counts(kernels=1)}


def test_the_command_says_what_is_missing(tmp_path, capsys):
    assert run("--env", str(tmp_path)) == 2
    assert f"{tmp_path}/bin/python" in capsys.readouterr().err
