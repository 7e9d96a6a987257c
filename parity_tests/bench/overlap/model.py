"""A target model and a drafter that compute in earnest: matrix products on embeddings that the token ids choose.

Written once for both frameworks: `xp` is `jax.numpy` or `torch`. The weights are random; but another token, position or
seed of the drafter gives other tokens, so that a mistake anywhere in the step shows in what is emitted.
"""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

# Positions repeat after so many tokens.
PERIOD = 64


class Sizes(NamedTuple):
    """What the experiment computes on: the letters of the contract, then the model's own sizes."""

    rows: int = 32
    drafts: int = 3
    blocks: int = 64
    block_size: int = 16
    vocabulary: int = 1024
    width: int = 384
    layers: int = 6


# The usual sizes are for a CPU; these keep a card busy for milliseconds, too.
CARD = Sizes(rows=128, vocabulary=32768, width=4096, layers=16)


class Weights(NamedTuple):
    """The weights of the target model; the drafter has its embeddings, its first layer and its output."""

    embedding: Any
    position: Any
    layers: tuple[Any, ...]
    output: Any


def capacity_of(sizes: Sizes) -> int:
    """T: every row with all its drafts."""
    return sizes.rows * (sizes.drafts + 1)


def make_weights(sizes: Sizes) -> Weights:
    """Random weights, scaled so that the drafter is right about half the time."""
    random = np.random.default_rng(0)

    def normal(*shape: int, scale: float) -> np.ndarray:
        return random.standard_normal(shape, np.float32) * np.float32(scale)

    width = sizes.width
    return Weights(
        embedding=normal(sizes.vocabulary, width, scale=1.0),
        position=normal(PERIOD, width, scale=0.2),
        layers=tuple(normal(width, width, scale=0.1 / width**0.5) for _ in range(sizes.layers)),
        output=normal(width, sizes.vocabulary, scale=1.0),
    )


def forward(xp: ModuleType, weights: Weights, inputs: Any) -> tuple[Any, Any]:
    """The target model on one flat buffer: its tokens at the packed logits, and its hidden states."""
    hidden = weights.embedding[inputs.input_ids] + weights.position[inputs.positions % PERIOD]
    for layer in weights.layers:
        hidden = hidden + xp.tanh(hidden @ layer)
    return _best(xp, hidden[inputs.verify.logits_indices] @ weights.output), hidden


def draft(xp: ModuleType, weights: Weights, anchors: Any, positions: Any, seeds: Any, drafts: int) -> Any:
    """The drafter: from each row's anchor, its position and a hidden state, one guess after the other."""
    token, guesses = anchors, []
    for ahead in range(drafts):
        hidden = weights.embedding[token] + weights.position[(positions + ahead) % PERIOD] + seeds / 8
        token = _best(xp, (hidden + xp.tanh(hidden @ weights.layers[0])) @ weights.output)
        guesses.append(token)
    return xp.stack(guesses, 1)


def _best(xp: ModuleType, logits: Any) -> Any:
    return xp.asarray(logits.argmax(1), dtype=xp.int32)
