"""The model against the recorded runs: another implementation's tokens from the same weights, at every packed logit."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from parity_tests.kit.traces import BLOCK_SIZE, Run, Step, replay
from parity_tests.lossless.model import Batch
from parity_tests.lossless.smollm2.forward import empty_layers, forward
from parity_tests.lossless.smollm2.weights import Shape, Weights


class Choice(NamedTuple):
    """What the model chose at one packed logit, and what was recorded there."""

    step: int
    logit: int
    token_id: int
    recorded: int
    margin: float
    """How far the best logit was ahead of the second."""


def choices(weights: Weights, shape: Shape, run: Run) -> Iterator[Choice]:
    """The steps of a recording in order, each with the ids that were recorded, whatever the model says.

    Args:
        weights: on the device.
        shape: numbers of the model.
        run: the recording.

    Yields:
        A `Choice` for every packed logit of every step.
    """
    import jax

    import jax_spec

    def one(weights: Weights, layers: Any, staged: tuple, state: Any, tables: Any) -> Any:
        ids, cu_seqlens_q, source_rows, drafts, computed = staged
        inputs = jax_spec.prepare_step(
            ids, cu_seqlens_q, source_rows, drafts, computed, state, tables, block_size=BLOCK_SIZE
        )
        rows = jax_spec.token_rows(cu_seqlens_q, capacity=run.capacity)
        # The forward doesn't read the slots that the state is written to.
        batch = Batch(inputs, rows, cu_seqlens_q, source_rows, tables)
        return forward(weights, layers, batch, shape=shape, block_size=BLOCK_SIZE), inputs.verify.cu_num_logits[-1]

    program = jax.jit(one, donate_argnums=1)
    layers = empty_layers(weights, shape, (1 + run.num_slots * run.pages) * BLOCK_SIZE)
    for step in replay(run):
        state = jax_spec.StepState(**{name: jax.numpy.array(table) for name, table in step.state.items()})
        result, count = program(weights, layers, _staged(step), state, step.block_tables)
        layers = result.layers
        answers = (np.asarray(x)[: int(count)].tolist() for x in (result.sampled_token_ids, result.margins))
        recorded = step.sampled_token_ids.tolist()
        for logit, (token_id, margin) in enumerate(zip(*answers, strict=True)):
            yield Choice(step.number, logit, token_id, recorded[logit], margin)


def _staged(step: Step) -> tuple[np.ndarray, ...]:
    return (
        step.staged_input_ids,
        step.cu_seqlens_q,
        step.source_rows,
        step.num_draft_tokens,
        step.staged_computed,
    )
