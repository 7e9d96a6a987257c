"""The golden vectors as they are written by hand, one module for each group of operations."""

from parity_tests.vectors.named import (
    accept,
    assemble,
    bounds,
    check,
    check_faults,
    commit,
    faults,
    layout,
    lens,
    overlay,
    positions,
    prepare,
    schedule,
    schedule_numbers,
    schedule_ties,
    verify,
)

MODULES = (layout, assemble, overlay, bounds, verify, accept, positions, prepare, commit)
MODULES += (schedule, schedule_ties, schedule_numbers, lens, check, check_faults, faults)
