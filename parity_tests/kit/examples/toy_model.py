"""A target model and a drafter for `serving_loop`, in integers: small enough to check by hand, strict about the cache.

Every token sums up its sequence as the paged cache has it, so that one wrong slot or position changes what follows.
"""

from typing import Any

import jax.numpy as jnp

VOCAB_SIZE = 997


def write(table: Any, index: Any, values: Any) -> Any:
    """`table` with `values` at `index`; -1 is nowhere, not the last entry."""
    return table.at[index].set(values, mode="drop", wrap_negative_indices=False)


def target(cache: Any, positions: Any, block_tables: Any, block_size: int) -> Any:
    """Stands for the forward: the hidden state of each token, from the cache blocks of its sequence `[T, P]`."""
    places = jnp.maximum(block_tables, 0)[:, :, None] * block_size + jnp.arange(block_size, dtype=jnp.int32)
    places = places.reshape(positions.size, -1)
    place = jnp.arange(places.shape[1], dtype=jnp.int32)
    terms = jnp.where(place <= positions[:, None], added(cache[places], place), 0)
    return jnp.sum(terms, axis=1, dtype=jnp.int32)


def added(token: Any, position: Any) -> Any:
    """What a token adds to the sum of its sequence."""
    return token * (position % 7 + 1)


def answer(hidden: Any, position: Any) -> Any:
    """Stands for logits and argmax: the token that follows."""
    return (hidden * 31 + position * 17) % VOCAB_SIZE


def drafter(hidden: Any, positions: Any, tokens: Any, count: int) -> tuple[Any, Any]:
    """What may follow `tokens`, and how sure that is, `[B, count]` each: one guess in three is wrong and unsure."""
    guesses, confidence = [], []
    for _ in range(count):
        positions = positions + 1
        hidden = hidden + added(tokens, positions)
        unsure = hidden % 3 == 0
        tokens = answer(hidden, positions) + unsure.astype(jnp.int32)
        guesses.append(tokens)
        confidence.append(jnp.where(unsure, jnp.float32(0.4), jnp.float32(0.9)))
    return jnp.stack(guesses, axis=1), jnp.stack(confidence, axis=1)
