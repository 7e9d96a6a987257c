"""A whole recorded run with its state on the device: from what the host knew, every token that it emitted.

Of the recording only the host's side goes in (rows, lengths, slots, staged prompt tokens) and what the model and the
drafter said. Anchors, drafts, counts and acceptance are the implementation's own, carried from step to step.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from parity_tests.kit.traces import BLOCK_SIZE, Run, replay

POISON = -7
"""Stands where the host must not know the token: it would be seen in whatever is derived from it."""


class HostSteps(NamedTuple):
    """What the host stages for each step, and what the model and the drafter answered: `[steps, ...]` each."""

    input_ids: Any
    cu_seqlens_q: Any
    source_rows: Any
    num_draft_tokens: Any
    num_computed_tokens: Any
    block_tables: Any
    slots: Any
    sampled_token_ids: Any
    next_draft_token_ids: Any


class Outputs(NamedTuple):
    """What the device gives back of each step: `[steps, ...]` each."""

    input_ids: Any
    num_accepted: Any
    output_token_ids: Any


class Framework(NamedTuple):
    """A package under test and the way in and out of its arrays."""

    package: Any
    put: Callable[[np.ndarray], Any]
    get: Callable[[Any], np.ndarray]


def host_steps(run: Run) -> HostSteps:
    """The host's side of a run."""
    steps = []
    for step in replay(run):
        carried = np.repeat(step.source_rows >= 0, step.query_lens)
        ids = np.where(np.pad(carried, (0, run.capacity - carried.size)), POISON, step.input_ids)
        steps.append(
            HostSteps(
                ids.astype(np.int32),
                step.cu_seqlens_q,
                step.source_rows,
                step.num_draft_tokens,
                np.where(step.source_rows >= 0, POISON, step.num_computed_tokens).astype(np.int32),
                step.block_tables,
                step.slots,
                step.sampled_token_ids,
                step.next_draft_token_ids,
            )
        )
    return HostSteps(*(np.stack(arrays) for arrays in zip(*steps, strict=True)))


def first_state(run: Run, framework: Framework) -> Any:
    """A state in which no slot has been written."""
    shapes = (run.num_slots,), (run.num_slots, run.k), (run.num_slots,)
    return framework.package.StepState(*(framework.put(np.full(shape, POISON, np.int32)) for shape in shapes))


def one_step(package: Any, state: Any, step: HostSteps) -> tuple[Any, Outputs]:
    """The step between two forwards: the state that the next one starts from, and what the host will want to read."""
    *staged, tables, slots, sampled, drafts = step
    inputs = package.prepare_step(*staged, state, tables, block_size=BLOCK_SIZE)
    result = package.commit_step_donated(state, inputs, step.cu_seqlens_q, slots, sampled)
    state = package.store_drafts_donated(result.state, slots, drafts)
    return state, Outputs(inputs.input_ids, result.acceptance.num_accepted, result.acceptance.output_token_ids)


def ways(names: Sequence[str]) -> dict[str, list[tuple[str, Callable[[Run], Outputs]]]]:
    """The ways to run a recording with the frameworks among `names`, by the framework that starts."""
    found = {name: _FRAMEWORKS[name]() for name in names if name in _FRAMEWORKS}
    orders = [(name, [found[name], *(found[other] for other in found if other != name)]) for name in found]
    return {
        "run, step by step": [(name, partial(by_turns, frameworks=order[:1])) for name, order in orders],
        "run, handed over": [(name, partial(by_turns, frameworks=order)) for name, order in orders if order[1:]],
        "run, as one scan": [(name, partial(scanned, framework=order[0])) for name, order in orders if name == "jax"],
    }


def by_turns(run: Run, frameworks: list[Framework]) -> Outputs:
    """The run in equal parts, one for each framework in turn, the state handed over in between."""
    steps, state, outputs = host_steps(run), first_state(run, frameworks[0]), []
    parts = np.array_split(np.arange(len(run.steps)), len(frameworks))
    for before, framework, part in zip([None, *frameworks], frameworks, parts, strict=False):
        if before:
            state = framework.package.StepState(*(framework.put(before.get(array)) for array in state))
        for number in part:
            arrays = HostSteps(*(framework.put(array[number]) for array in steps))
            state, output = one_step(framework.package, state, arrays)
            outputs.append((framework, output))
    read = [Outputs(*map(framework.get, output)) for framework, output in outputs]
    return Outputs(*(np.stack(arrays) for arrays in zip(*read, strict=True)))


def scanned(run: Run, framework: Framework) -> Outputs:
    """The run as one `jax.lax.scan` over its steps: one dispatch for all of them."""
    import jax

    program = jax.jit(lambda state, steps: jax.lax.scan(partial(one_step, framework.package), state, steps))
    _, outputs = program(first_state(run, framework), host_steps(run))
    return Outputs(*map(framework.get, outputs))


def comparisons(run: Run, outputs: Outputs) -> Iterator[str | None]:
    """For each step, whether the model read what was recorded, and for each request, whether it emitted that."""
    emitted: dict[int, list[int]] = defaultdict(list)
    for number, (recorded, step) in enumerate(zip(run.steps, replay(run), strict=True)):
        yield _difference(f"step {number}: input_ids", step.input_ids.tolist(), outputs.input_ids[number].tolist())
        for row, request in enumerate(recorded["request"]):
            if recorded["emitted"][row]:
                count = outputs.num_accepted[number][row] + 1
                emitted[request] += outputs.output_token_ids[number][row][:count].tolist()
    for request, expected in enumerate(run.outputs):
        yield _difference(f"request {request}: tokens", expected, emitted[request])


def _difference(what: str, expected: list[int], got: list[int]) -> str | None:
    return None if got == expected else f"{what}: expected {expected}, got {got}"


def _jax() -> Framework:
    import jax.numpy as jnp

    import jax_spec

    return Framework(jax_spec, jnp.array, np.asarray)


def _torch() -> Framework:
    import torch

    import torch_ref

    return Framework(torch_ref, lambda array: torch.from_numpy(array.copy()), lambda tensor: tensor.numpy())


_FRAMEWORKS = {"jax": _jax, "torch": _torch}
