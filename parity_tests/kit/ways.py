"""Other ways to run the JAX functions: on the ranks of a mesh, in two processes, compiled ahead of time.

The ranks are forced devices of the CPU, which a process can only ask for before JAX starts: they get processes of their
own, ended after `LONGEST` seconds whatever happens.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import monotonic

import numpy as np

from parity_tests.kit import jax_subject
from parity_tests.kit.calls import as_tree, checked, invoke
from parity_tests.kit.contract import OPERATIONS, Operation
from parity_tests.kit.processes import ended, last_words
from parity_tests.kit.ranks import DIMS, drawn_case
from parity_tests.kit.shapes import arguments_by_path
from parity_tests.kit.trees import Tree
from parity_tests.kit.trial import verdict

LONGEST = 120.0
SEEDS = 4


def ways() -> dict[str, Callable[[], Iterator[str | None]]]:
    """For each way, what differs from the oracle, call by call."""
    return {
        "sharded over 8 devices": partial(by_ranks, devices=8, processes=1),
        "two processes": partial(by_ranks, devices=4, processes=2),
        "precompiled": precompiled,
    }


def compare(row: str, names: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """A row of the table: each comparison under the name of our JAX functions, if they are asked for."""
    if "jax" in names:
        for text in ways()[row]():
            yield "jax", text and f"{row}: {text}"


def by_ranks(devices: int, processes: int, longest: float = LONGEST) -> Iterator[str | None]:
    """Operations on the ranks of a mesh over all devices of all processes."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "parity_tests.kit.ranks", *map(str, (devices, processes))]
    # With its frames filtered, the last words of a failure would be that they were.
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "JAX_TRACEBACK_FILTERING": "off"}
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    started = [subprocess.Popen([*command, str(index), str(port)], **pipe) for index in range(processes)]
    deadline = monotonic() + longest
    try:
        for process in started:
            told, log = process.communicate(timeout=max(deadline - monotonic(), 0))
            yield from map(json.loads, told.splitlines())
            if process.returncode:
                yield f"a process of {processes} {ended(process.returncode)}: {last_words(log)}"
    except subprocess.TimeoutExpired:
        yield f"{processes} processes were not done in {longest:g} s"
    finally:
        for process in started:
            process.kill()
            process.communicate()


def precompiled() -> Iterator[str | None]:
    """Operations compiled from their shapes alone, then called where JAX may trace nothing."""
    import jax

    import jax_spec

    fixed = [operation for operation in OPERATIONS.values() if not _has_any_shape(operation)]
    functions = [getattr(jax_spec, operation.name) for operation in fixed]
    programs = jax_spec.precompile(
        functions,
        [DIMS["T"]],
        lambda function, _: jax_spec.step_shapes(function, DIMS),
        compiler_options=jax_subject.quick_options(),
    )

    def call(operation: Operation, inputs: Tree) -> Tree:
        return as_tree(invoke(programs[operation.name, DIMS["T"]], operation, inputs, {}, jax_spec), np.asarray)

    for operation in fixed:
        for case in (drawn_case(operation, seed) for seed in range(SEEDS)):
            with jax.no_tracing():
                outcome = checked(partial(call, operation), operation, case)
            yield verdict(case, outcome)


def _has_any_shape(operation: Operation) -> bool:
    return any(array.shape == "..." for array in arguments_by_path(operation).values())
