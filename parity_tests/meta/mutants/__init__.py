"""Implementations that are wrong on purpose: the kit must tell each of them from a right one."""

from parity_tests.meta.mutants import (
    accept,
    assemble,
    bounds,
    check,
    in_jax,
    inputs,
    layout,
    positions,
    schedule,
    step,
    verify,
)
from parity_tests.meta.mutants._mutant import Mutant as Mutant
from parity_tests.meta.mutants._mutant import module_of as module_of
from parity_tests.meta.mutants._mutant import write as write

_MODULES = (layout, assemble, bounds, verify, accept, positions, step, schedule, check, inputs, in_jax)
MUTANTS = tuple(mutant for module in _MODULES for mutant in module.MUTANTS)
