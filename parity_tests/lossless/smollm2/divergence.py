"""Where two modes part, and how close the model's choice was there."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from parity_tests.lossless.model import Batch
from parity_tests.lossless.smollm2.forward import Forwarded, empty_layers, forward
from parity_tests.lossless.smollm2.weights import Shape, Weights
from parity_tests.lossless.workload import Request

BLOCK_SIZE = 16


class Divergence(NamedTuple):
    """The first token of a request that is not the expected one."""

    request: int
    place: int
    """How many tokens had been emitted before it."""
    expected: int | None
    """`None` where the other text is longer."""
    got: int | None
    margin: float
    """How far the best logit is ahead of the second, when the text up to there is read in one piece."""


def divergences(
    weights: Weights,
    shape: Shape,
    requests: Sequence[Request],
    expected: Sequence[Sequence[int]],
    got: Sequence[Sequence[int]],
) -> Iterator[Divergence]:
    """One for each request whose tokens differ."""
    room = max((len(request.prompt) + request.new_tokens for request in requests), default=0)
    for number, (request, wanted, found) in enumerate(zip(requests, expected, got, strict=True)):
        if list(wanted) == list(found):
            continue
        both = min(len(wanted), len(found))
        place = next((place for place in range(both) if wanted[place] != found[place]), both)
        _, margin = next_token(weights, shape, [*request.prompt, *wanted[:place]], room)
        expected_one, got_one = (text[place] if place < len(text) else None for text in (wanted, found))
        yield Divergence(number, place, expected_one, got_one, margin)


def next_token(weights: Weights, shape: Shape, ids: Sequence[int], room: int) -> tuple[int, float]:
    """What the model says behind a text, and how far that is ahead of the second best.

    Args:
        weights: on the device.
        shape: numbers of the model.
        ids: the text, read in one piece.
        room: tokens to pad it to, at least as many: each length is another program.
    """
    import jax
    import jax.numpy as jnp

    program = jax.jit(_read, static_argnames="shape")
    padded = jnp.array([*ids, *[0] * (room - len(ids))], jnp.int32)
    result = program(weights, padded, jnp.array([0, len(ids)], jnp.int32), shape=shape)
    return int(result.sampled_token_ids[0]), float(result.margins[0])


def _read(weights: Weights, ids: Any, cu_seqlens_q: Any, *, shape: Shape) -> Forwarded:
    """A step of one row that reads its whole prompt, with nothing to verify."""
    import jax.numpy as jnp

    import jax_spec

    none, zero = jnp.full(1, -1, jnp.int32), jnp.zeros(1, jnp.int32)
    tables = jnp.arange(-(-ids.size // BLOCK_SIZE), dtype=jnp.int32)[None, :]
    state = jax_spec.StepState(zero, jnp.zeros((1, 0), jnp.int32), zero)
    inputs = jax_spec.prepare_step(ids, cu_seqlens_q, none, zero, zero, state, tables, block_size=BLOCK_SIZE)
    rows = jax_spec.token_rows(cu_seqlens_q, capacity=ids.size)
    layers = empty_layers(weights, shape, tables.size * BLOCK_SIZE)
    batch = Batch(inputs, rows, cu_seqlens_q, none, tables)
    return forward(weights, layers, batch, shape=shape, block_size=BLOCK_SIZE)
