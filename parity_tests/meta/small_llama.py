"""A model of SmolLM2's make with random weights, small enough for every test, and its arithmetic without any paging."""

import numpy as np

from parity_tests.lossless.smollm2.weights import Checkpoint, Layer, Shape, Weights

SHAPE = Shape(heads=4, kv_heads=2, rope_base=1e4, norm_epsilon=1e-5)
VOCABULARY, WIDTH, INNER, BLOCKS = 64, 32, 48, 2


def checkpoint() -> Checkpoint:
    """Scaled so that each token depends on much of its past, and the text doesn't fall into a loop at once."""
    rng = np.random.default_rng(0)

    def matrix(rows: int, columns: int, gain: float) -> np.ndarray:
        return (rng.standard_normal((rows, columns)) * gain / np.sqrt(rows)).astype(np.float32)

    def scale() -> np.ndarray:
        return rng.uniform(0.8, 1.2, WIDTH).astype(np.float32)

    def layer() -> Layer:
        narrow = WIDTH * SHAPE.kv_heads // SHAPE.heads
        attention = matrix(WIDTH, WIDTH, 2), matrix(WIDTH, narrow, 2), matrix(WIDTH, narrow, 3), matrix(WIDTH, WIDTH, 3)
        mlp = matrix(WIDTH, INNER, 2), matrix(WIDTH, INNER, 2), matrix(INNER, WIDTH, 2)
        return Layer(scale(), *attention, scale(), *mlp)

    embedding = (0.3 * rng.standard_normal((VOCABULARY, WIDTH))).astype(np.float32)
    weights = Weights(embedding, tuple(layer() for _ in range(BLOCKS)), scale())
    return Checkpoint("a small Llama", SHAPE, weights, tuple(chr(ord("!") + number) for number in range(VOCABULARY)))


def logits(model: Checkpoint, ids: list[int]) -> np.ndarray:
    """The logits behind a text, in float64 and one head at a time."""
    shape, weights = model.shape, model.weights
    hidden = weights.embedding[ids].astype(np.float64)
    for layer in weights.layers:
        x = _normed(hidden, layer.attention_norm)
        query, key, value = (
            np.split(x @ matrix, count, axis=1)
            for matrix, count in (
                (layer.query, shape.heads),
                (layer.key, shape.kv_heads),
                (layer.value, shape.kv_heads),
            )
        )
        group = shape.heads // shape.kv_heads
        attended = [_head(query[head], key[head // group], value[head // group]) for head in range(shape.heads)]
        hidden = hidden + np.concatenate(attended, axis=1) @ layer.output
        x = _normed(hidden, layer.mlp_norm)
        gate = x @ layer.gate
        hidden = hidden + (gate / (1 + np.exp(-gate)) * (x @ layer.up)) @ layer.down
    return _normed(hidden, weights.norm)[-1] @ weights.embedding.T


def _normed(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + SHAPE.norm_epsilon) * scale


def _head(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
    scores = _turned(query) @ _turned(key).conj().T
    scores = np.where(np.tri(len(query), dtype=bool), np.real(scores) / np.sqrt(query.shape[1]), -np.inf)
    weight = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weight / weight.sum(axis=1, keepdims=True) @ value


def _turned(x: np.ndarray) -> np.ndarray:
    """Pairs of neighbours as complex numbers, turned by position and frequency."""
    position, pair = np.arange(len(x))[:, None], np.arange(x.shape[1] // 2)
    return (x[:, ::2] + 1j * x[:, 1::2]) * np.exp(1j * position * SHAPE.rope_base ** (-2 * pair / x.shape[1]))
