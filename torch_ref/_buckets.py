"""Buckets: the few capacities that graphs are captured for, and which of them holds a step. Host arithmetic only."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from torch_ref._arguments import check_static


def bucket_ladder(smallest: int, largest: int, *, step: int | None = None) -> list[int]:
    """Capacities from `smallest` to `largest`: each twice the one before, and multiples of `step` once it is reached.

        after(last) = 2 * last if step is None or last < step else (last // step + 1) * step

    Args:
        smallest: the first capacity, in tokens, at least 1.
        largest: the last capacity, at least `smallest`; it is in the ladder whether or not the rule meets it.
        step: the largest distance between two capacities from `step` on; None for doubling throughout.

    Returns:
        The capacities in rising order.

    Raises:
        ValueError: an argument is no int of at least 1, or `smallest` is above `largest`.

    >>> bucket_ladder(64, 320)
    [64, 128, 256, 320]
    """
    check_static("smallest", smallest, 1)
    check_static("largest", largest, 1)
    if smallest > largest:
        raise ValueError(f"`smallest`: got {smallest}, expected at most `largest` = {largest}")
    if step is not None:
        check_static("step", step, 1)
    ladder = []
    entry = smallest
    while entry < largest:
        ladder.append(entry)
        entry = 2 * entry if step is None or entry < step else entry - entry % step + step
    return [*ladder, largest]


def pick_bucket(ladder: Sequence[int], totals: Sequence[int], *, multiple_of: int = 1) -> int:
    """The smallest capacity that the busiest rank fits into: all ranks have to replay the same graph.

        min(entry for entry in ladder if entry >= max([0, *totals]) and entry % multiple_of == 0)

    Args:
        ladder: capacities, as from `bucket_ladder`.
        totals: tokens of each data-parallel rank in this step; none is as good as 0.
        multiple_of: a number that has to divide the capacity, such as `K + 1` for whole rows.

    Returns:
        One of `ladder`.

    Raises:
        ValueError: no entry fits, or something is no int.

    >>> pick_bucket([4, 8, 12, 16], [7, 10], multiple_of=3)
    12
    """
    check_static("multiple_of", multiple_of, 1)
    entries, sizes = _listed("ladder", ladder), _listed("totals", totals)
    total = max([0, *sizes])
    usable = sorted(entry for entry in entries if entry % multiple_of == 0)
    place = bisect_left(usable, total)
    if place == len(usable):
        divided = f" that {multiple_of} (`multiple_of`) divides" if multiple_of > 1 else ""
        remedy = f"schedule fewer tokens, or add a larger entry{divided}"
        raise ValueError(f"`totals`: got {total} as the largest, expected one that `ladder` {entries} holds: {remedy}")
    return usable[place]


def _listed(name: str, values: Iterable[int]) -> list[int]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ValueError(f"`{name}`: got {values!r}, expected a sequence of ints")
    entries = list(values)
    for entry in entries:
        check_static(name, entry, 0)
    return entries
