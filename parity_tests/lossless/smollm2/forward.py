"""One forward of the model over the ragged buffer: each token finds its past where the step says that it is.

Rotation goes by `positions`, keys and values are written to `slot_mapping` and read through the block tables, how much
of the past a token sees follows from `seq_lens`, and logits are computed at `logits_indices`: nothing is derived twice,
so a fault in any of them is a fault in the text. The past is gathered in the order of its positions; where in the cache
it lies does not change the order of any sum.
"""

from typing import Any, NamedTuple

from parity_tests.lossless.model import Batch
from parity_tests.lossless.smollm2.weights import Layer, Shape, Weights


class Forwarded(NamedTuple):
    """What a forward gives: the layers' keys and values, and per packed logit the best token and its lead."""

    layers: Any
    sampled_token_ids: Any
    margins: Any
    """Best logit less the second best."""


class _Past(NamedTuple):
    """What every layer needs to know of the step."""

    rotation: Any
    """Cosine and sine of each token's angles."""
    slots: Any
    """Where each token's keys and values go, `[T]`."""
    places: Any
    """Where those of each position of its sequence are, `[T, L]`."""
    seen: Any
    """Whether the token may look there."""


def empty_layers(weights: Weights, shape: Shape, slots: int) -> Any:
    """Keys and values of every layer, `[slots, kv_heads, head_dim]` each."""
    import jax.numpy as jnp

    sizes = slots, shape.kv_heads, weights.embedding.shape[1] // shape.heads
    return [(jnp.zeros(sizes, jnp.float32), jnp.zeros(sizes, jnp.float32)) for _ in weights.layers]


def forward(weights: Weights, layers: Any, batch: Batch, *, shape: Shape, block_size: int) -> Forwarded:
    """Run the buffer of a step, and choose greedily at every packed logit.

    Args:
        weights: float32.
        layers: from `empty_layers`, or the last forward.
        batch: the step.
        shape: numbers of the model.
        block_size: tokens of a block.

    Returns:
        `Forwarded`; its tokens are int32 `[B * (K + 1)]`, whatever stands behind the packed ones.
    """
    import jax

    # Without it an accelerator rounds the factors of each product.
    with jax.default_matmul_precision("highest"):
        return _forward(weights, layers, batch, shape, block_size)


def _forward(weights: Weights, layers: Any, batch: Batch, shape: Shape, block_size: int) -> Forwarded:
    past = _past(batch, _frequencies(weights, shape), block_size)
    hidden, written = _embedded(weights, batch.inputs.input_ids), []
    for layer, stored in zip(weights.layers, layers, strict=True):
        attended, stored = _attend(_normed(hidden, layer.attention_norm, shape), layer, stored, past, shape)
        hidden += attended @ layer.output
        hidden += _mlp(_normed(hidden, layer.mlp_norm, shape), layer)
        written.append(stored)
    hidden = _normed(hidden, weights.norm, shape)
    return Forwarded(written, *_choose(hidden, weights, batch.inputs.verify.logits_indices))


def _embedded(weights: Weights, input_ids: Any) -> Any:
    import jax_spec

    return weights.embedding[jax_spec.clamp_token_ids(input_ids, vocab_size=weights.embedding.shape[0])]


def _slots_of_rows(block_tables: Any, block_size: int) -> Any:
    """The cache slot of every position that a row's table has a block for, `[B, L]`; elsewhere one that exists."""
    import jax.numpy as jnp

    position = jnp.arange(block_tables.shape[1] * block_size)
    blocks = jnp.maximum(block_tables, 0)
    return blocks[:, position // block_size] * block_size + position % block_size


def _frequencies(weights: Weights, shape: Shape) -> Any:
    import jax.numpy as jnp

    head_dim = weights.embedding.shape[1] // shape.heads
    return shape.rope_base ** (-jnp.arange(0, head_dim, 2, dtype=jnp.float32) / head_dim)


def _past(batch: Batch, frequencies: Any, block_size: int) -> _Past:
    import jax.numpy as jnp

    inputs, cu, rows = batch.inputs, batch.cu_seqlens_q, batch.rows
    row = jnp.minimum(rows.row, inputs.seq_lens.size - 1)
    behind = cu[row + 1] - cu[row] - 1 - rows.offset
    seen = jnp.where(rows.valid, inputs.seq_lens[row] - behind, 0)
    places = _slots_of_rows(batch.block_tables, block_size)[row]
    angles = inputs.positions[:, None, None].astype(jnp.float32) * frequencies
    in_sight = jnp.arange(places.shape[1]) < seen[:, None]
    return _Past((jnp.cos(angles), jnp.sin(angles)), inputs.slot_mapping, places, in_sight)


def _attend(x: Any, layer: Layer, stored: Any, past: _Past, shape: Shape) -> tuple[Any, Any]:
    """Attention of every token to its past and itself, and the keys and values with those of this step."""
    import jax
    import jax.numpy as jnp

    def heads(matrix: Any, count: int) -> Any:
        return (x @ matrix).reshape(x.shape[0], count, -1)

    query = _rotated(heads(layer.query, shape.heads), past.rotation)
    new = _rotated(heads(layer.key, shape.kv_heads), past.rotation), heads(layer.value, shape.kv_heads)
    keys, values = stored = tuple(
        kept.at[past.slots].set(fresh, mode="drop", wrap_negative_indices=False)
        for kept, fresh in zip(stored, new, strict=True)
    )
    query = query.reshape(x.shape[0], shape.kv_heads, shape.heads // shape.kv_heads, -1)
    scores = jnp.einsum("tgrd,tlgd->tgrl", query, keys[past.places]) * query.shape[-1] ** -0.5
    # Not minus infinity: a place that no row owns sees nothing, and its softmax must not be NaN.
    scores = jnp.where(past.seen[:, None, None, :], scores, jnp.finfo(jnp.float32).min)
    attended = jnp.einsum("tgrl,tlgd->tgrd", jax.nn.softmax(scores), values[past.places])
    return attended.reshape(x.shape[0], -1), stored


def _mlp(x: Any, layer: Layer) -> Any:
    import jax

    return (jax.nn.silu(x @ layer.gate) * (x @ layer.up)) @ layer.down


def _normed(x: Any, scale: Any, shape: Shape) -> Any:
    import jax
    import jax.numpy as jnp

    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + shape.norm_epsilon) * scale


def _rotated(x: Any, rotation: tuple[Any, Any]) -> Any:
    """Each pair of neighbours turned by its angle: the order in which the format keeps them."""
    import jax.numpy as jnp

    (cos, sin), (even, odd) = rotation, (x[..., ::2], x[..., 1::2])
    return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(x.shape)


def _choose(hidden: Any, weights: Weights, logits_indices: Any) -> tuple[Any, Any]:
    """The best token at each packed logit and its lead over the second.

    At most T of the B (K + 1) places are in use, so T are computed: the same product whatever K is.
    """
    import jax.numpy as jnp

    places, capacity = logits_indices.size, hidden.shape[0]
    missing = max(capacity - places, 0), max(places - capacity, 0)
    logits = hidden[jnp.pad(logits_indices[:capacity], (0, missing[0]))] @ weights.embedding.T
    best = jnp.argmax(logits, axis=1).astype(jnp.int32)
    others = jnp.where(jnp.arange(logits.shape[1]) == best[:, None], -jnp.inf, logits)
    margins = jnp.max(logits, axis=1) - jnp.max(others, axis=1)
    return jnp.pad(best, (0, missing[1]))[:places], jnp.pad(margins, (0, missing[1]))[:places]
