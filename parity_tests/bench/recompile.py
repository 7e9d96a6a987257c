"""Warms up a ladder of buckets and serves many steps, counting what JAX traces and compiles in the meantime.

As a script, in a process of its own: `python -m parity_tests.bench.recompile JSON` with the fields of `Task`.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from parity_tests.bench.cases import PAGE, PAGES, VOCABULARY
from parity_tests.bench.serving import COLUMNS, ROWS, SLOTS, Staged, steps
from parity_tests.bench.variants import arguments
from parity_tests.kit.contract import OPERATIONS, Array, Operation, shape_of, statics_of, tree_of

# What every step calls, in this order; the others take turns, one a step.
STEP = ("prepare_step", "commit_step_donated", "store_drafts_donated")
TRACED = "/jax/core/compile/jaxpr_trace_duration"
COMPILED = "/jax/core/compile/backend_compile_duration"
FOUND, NOT_FOUND = "/jax/compilation_cache/cache_hits", "/jax/compilation_cache/cache_misses"

Functions = Mapping[str, Callable[..., Any]]


class Task(NamedTuple):
    """Operations and capacities to warm up, and how many steps to serve then."""

    operations: tuple[str, ...]
    ladder: tuple[int, ...]
    steps: int
    seed: int


class WarmUp(NamedTuple):
    """Seconds until every program was there, and how many of them the persistent cache had and had not."""

    programs: int
    seconds: float
    found: int
    not_found: int


class Served(NamedTuple):
    """Steps, what was traced and compiled in them, how often each capacity was taken, and who came and went."""

    steps: int
    seconds: float
    traces: int
    compilations: int
    buckets: dict[int, int]
    arrived: int
    gone: int


def warm_up(functions: Functions, ladder: tuple[int, ...]) -> WarmUp:
    """Compiles every function for every capacity, as a serving stack does before it takes requests."""
    import jax_spec

    events, start = _listen(), perf_counter()
    programs = jax_spec.precompile(
        list(functions.values()), ladder, lambda function, capacity: _shapes(function.__name__, capacity)
    )
    seconds, seen = perf_counter() - start, Counter(events)
    return WarmUp(len(programs), seconds, seen[FOUND], seen[NOT_FOUND])


def serve(functions: Functions, task: Task) -> Served:
    """Serves the steps of a task; all functions are expected to be warm."""
    import jax

    import jax_spec

    rng, others = np.random.default_rng(task.seed), [name for name in functions if name not in STEP]
    state, taken, moved = _state(), Counter(), np.zeros(2, int)
    events, start = _listen(), perf_counter()
    for number, staged in enumerate(steps(task.steps, task.ladder[-1], rng)):
        capacity = jax_spec.pick_bucket(task.ladder, [staged.total])
        state = _step(functions, state, staged, rng.integers(0, VOCABULARY, capacity, np.int32))
        if others:
            name = others[number % len(others)]
            functions[name](*jax.device_put(_any_arguments(name, capacity, rng)), **_statics(name, capacity))
        taken[capacity] += 1
        moved += staged.arrived, staged.gone
    jax.block_until_ready(state)
    seconds, seen = perf_counter() - start, Counter(events)
    return Served(task.steps, seconds, seen[TRACED], seen[COMPILED], dict(sorted(taken.items())), *moved.tolist())


def _step(functions: Functions, state: Any, staged: Staged, input_ids: np.ndarray) -> Any:
    """One step, between whose parts a model would run; nothing is read back."""
    prepare, commit, store = (functions[name] for name in STEP)
    known = staged.cu_seqlens_q, staged.source_rows, staged.num_draft_tokens, staged.num_computed_tokens
    inputs = prepare(input_ids, *known, state, staged.block_tables, block_size=PAGE)
    result = commit(state, inputs, staged.cu_seqlens_q, staged.slots, staged.sampled_token_ids)
    return store(result.state, staged.slots, staged.draft_token_ids)


def _state() -> Any:
    import jax
    import jax.numpy as jnp

    import jax_spec

    shapes = (SLOTS,), (SLOTS, COLUMNS), (SLOTS,)
    return jax.block_until_ready(jax_spec.StepState(*(jnp.zeros(shape, jnp.int32) for shape in shapes)))


def _dims(capacity: int) -> dict[str, int]:
    letters = {"B": ROWS, "S": SLOTS, "K": COLUMNS, "T": capacity, "P": PAGES, "N": ROWS * (COLUMNS + 1) + 1}
    return {**letters, "block_size": PAGE, "vocab_size": VOCABULARY, "early_stop": True}


def _statics(name: str, capacity: int) -> dict[str, int]:
    return statics_of(OPERATIONS[name], _dims(capacity))


def _any_arguments(name: str, capacity: int, rng: np.random.Generator) -> tuple:
    """Arguments of the right dtypes and shapes: what is in them makes no difference to a compiler."""
    dims = _dims(capacity)

    def values(array: Array) -> np.ndarray:
        return np.asarray(rng.integers(0, 2, shape_of(array, dims)), array.dtype)

    return _built(OPERATIONS[name], values)


def _shapes(name: str, capacity: int) -> Any:
    import jax

    import jax_spec

    dims = _dims(capacity)
    structs = _built(OPERATIONS[name], lambda array: jax.ShapeDtypeStruct(shape_of(array, dims), array.dtype))
    return jax_spec.StepShapes(structs, _statics(name, capacity))


def _built(operation: Operation, leaf: Callable[[Array], Any]) -> tuple:
    import jax_spec

    return arguments(operation, {argument.name: tree_of(argument, leaf) for argument in operation.arguments}, jax_spec)


def _listen() -> list[str]:
    """The names of JAX's events from now on; it tells of them in several threads."""
    import jax.monitoring

    events: list[str] = []
    jax.monitoring.register_event_listener(lambda event, **_: events.append(event))
    jax.monitoring.register_event_duration_secs_listener(lambda *event, **_: events.append(event[0]))
    return events


def main() -> None:
    """Does the task and prints what came of it as JSON."""
    import jax

    import jax_spec

    given = json.loads(sys.argv[1])
    task = Task(tuple(given["operations"]), tuple(given["ladder"]), given["steps"], given["seed"])
    functions = {name: getattr(jax_spec, name) for name in task.operations}
    warm, devices = warm_up(functions, task.ladder), [str(device) for device in jax.devices()]
    print(json.dumps({"devices": devices, "warm_up": warm._asdict(), "served": serve(functions, task)._asdict()}))


if __name__ == "__main__":
    main()
