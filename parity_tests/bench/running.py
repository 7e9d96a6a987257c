"""A run from its plans to its data."""

import os
from collections.abc import Iterable, Iterator
from time import perf_counter

from parity_tests.bench.measure import BrokenSessionError, Measured, Progress, measure
from parity_tests.bench.plan import Plan
from parity_tests.bench.report_data import Data, Found, as_data
from parity_tests.bench.results import cells

NOTHING = Measured((), {}, (), ())


def run_plans(awaited: Plan, launched: Plan | None, left_out: tuple[str, ...], progress: Progress) -> Data:
    """The data of a run that waits for its calls and, if there is a plan for it, of one that does not.

    Raises:
        DifferentError: a variant gives something else than the oracle.
        BrokenSessionError: there are no figures, for whatever reason.
    """
    start, before = perf_counter(), os.getloadavg()[0]
    first = measure(awaited, progress)
    if not first.blocks:
        raise BrokenSessionError("nothing is left to measure: see --filter, --impl and --all")
    second = measure(launched, progress) if launched else NOTHING
    load = before, os.getloadavg()[0]
    figures = cells(first.blocks), cells(second.blocks)
    missed = (*left_out, *not_measured(awaited.implementations, first))
    return as_data(Found(*figures, first.machine, first.devices, load, missed, perf_counter() - start))


def not_measured(implementations: Iterable[str], measured: Measured) -> Iterator[str]:
    """What there is no figure of, and why, a text for each implementation.

    >>> list(not_measured(["numpy:theirs"], Measured((), {}, (), (("numpy:theirs", "seq_lens"),))))
    ['numpy:theirs was not measured: it raises NotImplementedError in seq_lens']
    """
    known = {block.variant for block in measured.blocks}
    for text in dict.fromkeys(implementations):
        refused = ", ".join(operation for name, operation in measured.unimplemented if name == text)
        if refused:
            extent = " everywhere" if text in known else ""
            yield f"{text} was not measured{extent}: it raises NotImplementedError in {refused}"
        elif text not in known:
            yield f"{text} was not measured: --filter leaves nothing of it"
