"""A fault in any function between two forwards changes what requests emit, or what is drafted, verified, accepted."""

import pytest

from parity_tests.lossless import frameworks
from parity_tests.lossless.compare import differences
from parity_tests.lossless.frameworks import Framework
from parity_tests.lossless.modes import PLAIN, RAGGED
from parity_tests.meta.lossless_faults import FAULTS, Fault
from parity_tests.meta.lossless_runs import run

DRAFTS = 3


def jax_by_functions() -> Framework:
    """Each function a program of its own, so that a fault in one costs no compilation of all."""
    return frameworks.jax_framework()._replace(program=lambda step: step, program_in_place=lambda step: step)


PLAIN_RUN, RAGGED_RUN = (run(frameworks.oracle_framework(), DRAFTS, mode) for mode in (PLAIN, RAGGED))


FIRST = {fault.kind: fault for fault in reversed(FAULTS)}.values()
OTHERS = [fault for fault in FAULTS if fault not in FIRST]


def see(framework: Framework, fault: Fault) -> None:
    found = run(fault.plant(framework), DRAFTS, RAGGED)
    assert fault.in_tokens in (None, found.tokens != PLAIN_RUN.tokens)
    assert differences(found, PLAIN_RUN, RAGGED_RUN)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_seen_in_torch(fault: Fault) -> None:
    pytest.importorskip("torch")
    see(frameworks.torch_framework(), fault)


@pytest.mark.parametrize("fault", FIRST, ids=lambda fault: fault.name)
def test_a_fault_of_each_kind_is_seen_in_jax(fault: Fault) -> None:
    see(jax_by_functions(), fault)


@pytest.mark.full
@pytest.mark.parametrize("fault", OTHERS, ids=lambda fault: fault.name)
def test_every_other_fault_is_seen_in_jax(fault: Fault) -> None:
    see(jax_by_functions(), fault)


def test_without_a_fault_nothing_is_seen() -> None:
    assert differences(run(jax_by_functions(), DRAFTS, RAGGED), PLAIN_RUN, RAGGED_RUN) == []


def test_there_are_faults_of_every_kind() -> None:
    kinds = "assembly layout positions slots lengths indices acceptance state drafter schedule"
    assert [fault.kind for fault in FIRST][::-1] == kinds.split()
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
