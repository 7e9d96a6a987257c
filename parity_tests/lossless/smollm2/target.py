"""The model as the loop wants it: the checkpoint on the device, its paged cache, and a drafter that reads the cache."""

from functools import partial
from typing import Any, NamedTuple

from parity_tests.lossless.model import Batch, Model, Sizes
from parity_tests.lossless.smollm2.forward import empty_layers, forward
from parity_tests.lossless.smollm2.lookup import look_up
from parity_tests.lossless.smollm2.vocabulary import decode
from parity_tests.lossless.smollm2.weights import Checkpoint, Shape, Weights


class Cache(NamedTuple):
    """What is kept of every token."""

    token_ids: Any
    """int32 `[blocks, block_size]`: what the drafter searches."""
    layers: Any
    """Keys and values by slot."""


def target(checkpoint: Checkpoint) -> Model:
    """The model, its weights on JAX's default device."""
    import jax

    weights = jax.tree.map(jax.numpy.asarray, checkpoint.weights)
    return Model(
        checkpoint.name,
        weights,
        partial(_cache, weights, checkpoint.shape),
        partial(_forward, checkpoint.shape),
        _draft,
        partial(decode, checkpoint.tokens),
    )


def _cache(weights: Weights, shape: Shape, sizes: Sizes) -> Cache:
    import jax.numpy as jnp

    token_ids = jnp.zeros((sizes.blocks, sizes.block_size), jnp.int32)
    return Cache(token_ids, empty_layers(weights, shape, token_ids.size))


def _forward(shape: Shape, weights: Weights, cache: Cache, batch: Batch) -> tuple[Cache, Any]:
    flat, slots = cache.token_ids.reshape(-1), batch.inputs.slot_mapping
    flat = flat.at[slots].set(batch.inputs.input_ids, mode="drop", wrap_negative_indices=False)
    result = forward(weights, cache.layers, batch, shape=shape, block_size=cache.token_ids.shape[1])
    return Cache(flat.reshape(cache.token_ids.shape), result.layers), result.sampled_token_ids


def _draft(_: Weights, cache: Cache, batch: Batch, result: Any) -> tuple[Any, Any]:
    """Look up the text of each request with its new anchor, which is not in the cache yet."""
    import jax.numpy as jnp

    tokens = cache.token_ids[jnp.maximum(batch.block_tables, 0)].reshape(batch.slots.size, -1)
    last = batch.inputs.positions[result.last_token_indices]
    anchors = result.acceptance.next_token_ids
    tokens = jnp.where(jnp.arange(tokens.shape[1]) == last[:, None] + 1, anchors[:, None], tokens)
    return look_up(tokens, last + 2, result.acceptance.output_token_ids.shape[1] - 1)
