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
    overlay,
    positions,
    prepare,
    verify,
)

MODULES = (layout, assemble, overlay, bounds, verify, accept, positions, prepare, commit, check, check_faults, faults)
