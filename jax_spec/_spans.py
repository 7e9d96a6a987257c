"""Sums and fills over the spans of rows, each in the form that suits the platform.

An accelerator pays for every kernel: there each place looks at all rows, in one kernel, O(B T). A CPU pays for every
element, and so does an accelerator where there are more than `COMPARED_ROWS` rows or an exported program leaves their
number open: there the work is O(B + T).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import export, lax
from jaxtyping import Array, Int32

COMPARED_ROWS = 1024

Form = Callable[..., Any]


def prefix_sum(counts: Int32[Array, " B"]) -> Int32[Array, " B"]:
    """The sum of each count and all before it."""
    return _by_platform(counts.size, _sum_by_scan, _sum_by_comparison)(counts)


def rows_of(ends: Int32[Array, " B"], capacity: int) -> Int32[Array, " T"]:
    """The row that owns each position, where row `i` ends in front of `ends[i]`; B behind the last."""
    forms = (partial(form, capacity=capacity) for form in (_rows_by_scan, _rows_by_comparison))
    return _by_platform(ends.size, *forms)(ends)


def count_up(
    first: Int32[Array, " B"], lens: Int32[Array, " B"], ends: Int32[Array, " B"], width: int
) -> Int32[Array, " BW"]:
    """`first_i, first_i + 1, ...` over the span of each row, none longer than `width`; 0 behind the last."""
    forms = (partial(form, width=width) for form in (_count_by_scatter, _count_by_comparison))
    return _by_platform(ends.size, *forms)(first, lens, ends)


def pack(
    grid: Int32[Array, "B W"], starts: Int32[Array, " B"], ends: Int32[Array, " B"], capacity: int
) -> Int32[Array, " T"]:
    """The first entries of each row of `grid`, as many as its span has places, end to end; 0 elsewhere."""
    place = starts[:, None] + jnp.arange(grid.shape[1], dtype=jnp.int32)[None, :]
    return put(jnp.zeros(capacity, jnp.int32), jnp.where(place < ends[:, None], place, capacity), grid)


def take(table: Array, *index: Array) -> Array:
    """`table[index]` for indices in range: a plain subscript would count negative ones from the end."""
    return table.at[index].get(mode="promise_in_bounds", wrap_negative_indices=False)


def put(table: Array, index: Array, values: Array) -> Array:
    """`table` with `values` at `index`; an index out of range, a negative one too, is dropped."""
    return table.at[index].set(values, mode="drop", wrap_negative_indices=False)


def _by_platform(rows: int, by_element: Form, by_comparison: Form) -> Form:
    if export.is_symbolic_dim(rows) or rows > COMPARED_ROWS:
        return by_element
    return partial(lax.platform_dependent, cpu=by_element, default=by_comparison)


def _sum_by_scan(counts: Int32[Array, " B"]) -> Int32[Array, " B"]:
    return jnp.cumsum(counts, dtype=jnp.int32)


def _sum_by_comparison(counts: Int32[Array, " B"]) -> Int32[Array, " B"]:
    row = jnp.arange(counts.size, dtype=jnp.int32)
    before = row[None, :] <= row[:, None]
    return jnp.sum(jnp.where(before, counts[None, :], 0), axis=1, dtype=jnp.int32)


def _rows_by_scan(ends: Int32[Array, " B"], *, capacity: int) -> Int32[Array, " T"]:
    marks = jnp.zeros(capacity, jnp.int32).at[ends].add(1, mode="drop", wrap_negative_indices=False)
    # A CPU runs the tree faster than `cumsum`, a GPU needs a kernel for each of its levels.
    return lax.platform_dependent(marks, cpu=partial(lax.associative_scan, jnp.add), default=_sum_by_scan)


def _rows_by_comparison(ends: Int32[Array, " B"], *, capacity: int) -> Int32[Array, " T"]:
    positions = jnp.arange(capacity, dtype=jnp.int32)
    return jnp.sum(ends[None, :] <= positions[:, None], axis=1, dtype=jnp.int32)


def _count_by_scatter(
    first: Int32[Array, " B"], lens: Int32[Array, " B"], ends: Int32[Array, " B"], *, width: int
) -> Int32[Array, " BW"]:
    step = jnp.arange(width, dtype=jnp.int32)
    return pack(first[:, None] + step[None, :], ends - lens, ends, ends.size * width)


def _count_by_comparison(
    first: Int32[Array, " B"], lens: Int32[Array, " B"], ends: Int32[Array, " B"], *, width: int
) -> Int32[Array, " BW"]:
    starts, place = ends - lens, jnp.arange(ends.size * width, dtype=jnp.int32)[:, None]
    inside = (starts[None, :] <= place) & (place < ends[None, :])
    value = (first - starts)[None, :] + place
    return jnp.sum(jnp.where(inside, value, 0), axis=1, dtype=jnp.int32)
