"""One operation compiled for one target, in a process of its own that a crash may take down."""

import importlib
import json
import os
import re
import sys
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from parity_tests.amd.code_objects import machines_in
from parity_tests.amd.counts import Counts, count
from parity_tests.amd.device import absent_device
from parity_tests.amd.shapes import SHAPES, Dims
from parity_tests.amd.targets import TARGETS
from parity_tests.kit.calls import build
from parity_tests.kit.contract import OPERATIONS, Array, Operation, shape_of, tree_of


class Job(NamedTuple):
    """What to compile, with what, and the folder that takes what the compiler leaves; plain values, for JSON."""

    package: str
    operation: str
    target: str
    shapes: list[str]
    plugin: str
    stubs: list[str]
    scratch: str


class Line(NamedTuple):
    """What became of one shape, as a line of JSON in `RESULTS`; without an error there are counts."""

    shape: str
    counts: dict[str, int]
    error: str
    seconds: float


RESULTS = "results.jsonl"
_CALLBACK = re.compile(r"\b\w+_callback\[")


def main(text: str) -> None:
    """Do the job that `text` describes, a line for each shape as soon as it is known."""
    job = Job(**json.loads(text))
    device = absent_device(TARGETS[job.target], Path(job.plugin), map(Path, job.stubs))
    # Whatever the compiler prints does not get in here.
    with (Path(job.scratch) / RESULTS).open("w") as results:
        for name in job.shapes:
            print(json.dumps(_attempt(job, name, device)._asdict()), file=results, flush=True)


def _attempt(job: Job, name: str, device: Any) -> Line:
    start = perf_counter()
    folder = Path(job.scratch) / name
    folder.mkdir()
    try:
        counts, error = _compile(job, SHAPES[name].dims, device, folder)._asdict(), ""
    except Exception as problem:
        counts, error = {}, f"{type(problem).__name__}: {problem}"
    return Line(name, counts, error, perf_counter() - start)


def _compile(job: Job, dims: Dims, device: Any, folder: Path) -> Counts:
    """The counts of the linked program; raises where there is none, or where it is not what was asked for."""
    package, operation = importlib.import_module(job.package), OPERATIONS[job.operation]
    arrays = _arrays(operation, dims, device, package)
    statics = {static.name: dims[static.letter or static.name] for static in operation.statics}
    # XLA links its code objects in `TMPDIR`; told to keep them, it leaves them there to be looked at.
    os.environ |= {"TMPDIR": str(folder), "TF_ROCM_KEEP_XLA_TEMPFILES": "1"}
    traced = getattr(package, operation.name).trace(*arrays.values(), **statics)
    # Lowered, it would fail too, for the reason that there is no GPU.
    if callback := _CALLBACK.search(str(traced.jaxpr)):
        raise RuntimeError(f"the program calls the host: {callback[0]}...]")
    dump = {"xla_dump_to": str(folder), "xla_dump_hlo_as_text": True}
    compiled = traced.lower(lowering_platforms=("rocm",)).compile(compiler_options=dump)
    counts = count(_thunks_in(folder), compiled.as_text())
    _check_code(counts, machines_in(folder), TARGETS[job.target].machine)
    if operation.donates:
        _check_donation(arrays[operation.donates], compiled)
    return counts


def _arrays(operation: Operation, dims: Dims, device: Any, package: Any) -> dict[str, Any]:
    """The arguments on `device`, without values."""
    import jax

    sharding = jax.sharding.SingleDeviceSharding(device)

    def spec(array: Array) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape_of(array, dims), array.dtype, sharding=sharding)

    return {argument.name: build(argument, tree_of(argument, spec), package) for argument in operation.arguments}


def _thunks_in(folder: Path) -> str:
    # The later `*_after_thunk_passes.txt` puts launches into command buffers, which makes them no fewer.
    # A program none of whose arguments is on the device is compiled for the CPU, and leaves neither.
    found = list(folder.glob("*.thunk_sequence.txt"))
    if len(found) != 1:
        raise RuntimeError(f"XLA left {len(found)} GPU programs, expected 1")
    return found[0].read_text()


def _check_code(counts: Counts, machines: list[int], expected: int) -> None:
    if set(machines) - {expected} or (counts.kernels and not machines):
        seen = [hex(machine) for machine in machines]
        raise RuntimeError(f"linked code objects for the machines {seen}, expected {hex(expected)} only")


def _check_donation(argument: Any, compiled: Any) -> None:
    import jax

    given = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(argument))
    taken = compiled.memory_analysis().alias_size_in_bytes
    if taken != given:
        raise RuntimeError(f"the result takes over {taken} of the {given} bytes that are given up")


if __name__ == "__main__":
    main(sys.argv[1])
