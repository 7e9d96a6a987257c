"""What a scheduler of drafts is given: confidences, the engine's speed by tokens, and lengths that were decided before.

Floats are drawn as integers, or from a short list: the same on every platform, and with many exact ties.
"""

import numpy as np

from parity_tests.kit.draw._values import INT_MAX, INT_MIN, Source, chance, spoiled

# Products of these meet each other, and those of many of them depend on the order of the factors.
_USUAL = np.array([1, 0.97, 0.96875, 0.9, 0.87, 0.85, 0.75, 0.5, 0.5, 0.25, 0.01, 0], np.float32)
# What no probability and no speed should be, and the neighbours of what is compared with.
_ODD = np.array(
    [
        *(np.nan, np.inf, -np.inf, -0.0, 0, -1, 2, 3.4028235e38, 1e38, 1e-45, 2.0**-127, 2.0**-126, 1.1754942e-38),
        *(2.0**-20, 2.0**-21, 1.5 * 2.0**-20, 1 - 2.0**-24, 1, 1 + 2.0**-23, 0.5, 1 - 2.0**-21),
    ],
    np.float32,
)


def confidences(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """A drafter's confidences, most of them falling over a row; hostile, any float32."""
    fine = source.rng.integers(0, 1025, shape) / np.float32(1024)
    likely = np.where(chance(source, 0.6), source.rng.choice(_USUAL, shape), fine).astype(np.float32)
    falling = -np.sort(-likely, axis=-1)
    return _spoiled(source, _tied(source, np.where(chance(source, 0.8, (source.cases, 1, 1)), falling, likely)))


def tables(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """Steps a second by tokens: falling in a line, in plateaus or as one over them, where every yield is a near tie, or
    flat up to a number of tokens, where a tie is cut in two.
    """
    cases, size = shape
    tokens = np.arange(size) // source.rng.choice(np.array([1, 1, 2, 4, 8]), (cases, 1))
    slope = source.rng.integers(0, 65, (cases, 1)) / (16 * max(size, 1))
    harmonic = 1 / np.maximum(tokens, 1)
    linear = np.maximum(1 - slope * tokens, 1 / 64)
    speeds = np.where(chance(source, 0.3, (cases, 1)), harmonic, linear) * source.rng.integers(1, 100, (cases, 1))
    flat = np.where(np.arange(size) < source.rng.integers(0, size + 1, (cases, 1)), 1, 1 / 64)
    return _spoiled(source, np.where(chance(source, 0.3, (cases, 1)), flat, speeds).astype(np.float32))


def lives(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """Whether a row is a request: most are, but in a few steps hardly any."""
    few = chance(source, 0.1, (source.cases, *[1] * (len(shape) - 1)))
    return chance(source, 0.85, shape) & ~(few & chance(source, 0.9, shape))


def verify_lens(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """Drafts to verify, some of them unknown or more than there are."""
    return spoiled(source, source.rng.integers(-1, source.dims["K"] + 2, shape))


def accepted_max(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """The most drafts that any row had accepted, 0 in every other step."""
    most = source.rng.integers(0, source.dims["K"] + 2, shape)
    return spoiled(source, np.where(chance(source, 0.5, shape), 0, most))


def scheduled_lens(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """Tokens that a scheduler allows: mostly enough, some rows empty and some without a bound."""
    lens = source.rng.integers(1, source.dims["K"] + 3, shape)
    enough = np.where(chance(source, 0.7, shape), source.dims["K"] + 1, lens)
    return spoiled(source, np.where(chance(source, 0.3, shape), source.rng.integers(-1, 1, shape), enough))


def wild_floats(source: Source, shape: tuple[int, ...]) -> np.ndarray:
    """Odd numbers, beside any 32 bits read as a float32."""
    bits = source.rng.integers(INT_MIN, INT_MAX, shape, np.int32, endpoint=True)
    return np.where(chance(source, 0.6, shape), source.rng.choice(_ODD, shape), bits.view(np.float32))


def _tied(source: Source, likely: np.ndarray) -> np.ndarray:
    """In half of the cases some rows begin with a survival that the row behind them has, to the last bit."""
    cases, rows, columns = likely.shape
    if columns == 0:
        return likely
    survival = np.multiply.accumulate(np.roll(likely, -1, axis=1), axis=2)
    column = source.rng.integers(0, columns, (cases, rows, 1))
    twin = np.where(np.arange(columns) > 0, 0, np.take_along_axis(survival, column, 2))
    chosen = chance(source, 0.5, (cases, 1, 1)) & chance(source, 0.3, (cases, rows, 1))
    return np.where(chosen, twin, likely)


def _spoiled(source: Source, plausible: np.ndarray) -> np.ndarray:
    """The values; in a hostile case about a third of them replaced by others that nobody should have put there."""
    if not source.hostile:
        return plausible
    return np.where(chance(source, 0.65, plausible.shape), plausible, wild_floats(source, plausible.shape))
