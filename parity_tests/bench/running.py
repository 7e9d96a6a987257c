"""A run from its plans to its data."""

import os
from time import perf_counter

from parity_tests.bench.measure import BrokenSessionError, Measured, Progress, measure
from parity_tests.bench.plan import Plan
from parity_tests.bench.report_data import Data, Found, as_data
from parity_tests.bench.results import cells

NOTHING = Measured((), {}, ())


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
    return as_data(Found(*figures, first.machine, first.devices, load, left_out, perf_counter() - start))
