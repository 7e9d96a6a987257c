"""All programs of a plan compiled: a process for each operation and target, some at a time."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from parity_tests.amd.counts import Counts
from parity_tests.amd.stubs import build_stubs
from parity_tests.amd.worker import RESULTS, Job, Line
from parity_tests.kit.processes import ended, last_words

# Seconds that a process may take for all its shapes; they take two.
LONGEST = 300


class Program(NamedTuple):
    """An operation compiled for a target at a shape, each by name."""

    operation: str
    target: str
    shape: str


class Outcome(NamedTuple):
    """What became of a program: its counts, or what went wrong."""

    program: Program
    counts: Counts | None
    error: str = ""
    seconds: float = 0.0


class Plan(NamedTuple):
    """What to compile, where: the Python and the plugin of the environment, and the package with the operations."""

    python: Path
    plugin: Path
    operations: tuple[str, ...]
    targets: tuple[str, ...]
    shapes: tuple[str, ...]
    processes: int = 2
    package: str = "jax_spec"


def compile_all(plan: Plan, progress: Callable[[int, int], None]) -> list[Outcome]:
    """The outcome of every program of `plan`; `progress` is told how many processes of how many are done."""
    with TemporaryDirectory(prefix="parity-amd-") as name, ThreadPoolExecutor(plan.processes) as pool:
        room = Path(name)
        sources, stubs = _folder(room / "sources"), build_stubs(plan.plugin, _folder(room / "stubs"))
        for package in {plan.package, "jax_spec", "parity_tests"}:
            _link(package, sources)
        jobs = list(_jobs(plan, room, [str(stub) for stub in stubs]))
        futures = [pool.submit(_run, plan.python, job, sources) for job in jobs]
        for done, _ in enumerate(as_completed(futures), 1):
            progress(done, len(jobs))
    return [outcome for future in futures for outcome in future.result()]


def _jobs(plan: Plan, room: Path, stubs: list[str]) -> Iterator[Job]:
    for target, operation in product(plan.targets, plan.operations):
        scratch = _folder(room / f"{operation}-{target}")
        shapes, plugin = list(plan.shapes), str(plan.plugin)
        yield Job(plan.package, operation, target, shapes, plugin, stubs, str(scratch))


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def _link(package: str, folder: Path) -> None:
    """Let `package` be imported from `folder` as it is here, and nothing with it: the JAX beside it is another one."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package} is not installed", name=package)
    source = Path(spec.origin).resolve()
    source = source.parent if spec.submodule_search_locations else source
    (folder / source.name).symlink_to(source)


def _run(python: Path, job: Job, sources: Path) -> list[Outcome]:
    command = [str(python), "-m", "parity_tests.amd.worker", json.dumps(job._asdict())]
    options: dict[str, Any] = {"env": _environment(sources), "cwd": job.scratch, "timeout": LONGEST}
    try:
        done = subprocess.run(command, capture_output=True, text=True, **options)
        end = f"the process {ended(done.returncode)}; its last words: {last_words(done.stderr) or 'none'}"
    except subprocess.TimeoutExpired:
        end = f"the process was stopped after {LONGEST} s"
    outcomes = list(_outcomes(job, end))
    shutil.rmtree(job.scratch)
    return outcomes


def _environment(sources: Path) -> dict[str, str]:
    """This process' variables without those that change JAX, XLA or the search for modules."""
    changing = ("JAX_", "XLA_", "TF_", "PYTHON", "HIP_", "ROCR_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(changing)}
    return kept | {"PYTHONPATH": str(sources), "PYTHONNOUSERSITE": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}


def _outcomes(job: Job, end: str) -> Iterator[Outcome]:
    """What the process wrote before its end; what it left undone has failed."""
    path = Path(job.scratch) / RESULTS
    lines = [Line(**json.loads(text)) for text in path.read_text().splitlines()] if path.exists() else []
    known = {line.shape: line for line in lines}
    for shape in job.shapes:
        program = Program(job.operation, job.target, shape)
        if shape not in known:
            yield Outcome(program, None, end)
            continue
        line = known[shape]
        yield Outcome(program, None if line.error else Counts(**line.counts), line.error, line.seconds)
