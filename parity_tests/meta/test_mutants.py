"""Every mutant dies: a mistake that an engine made, put into an implementation, is one that the kit sees."""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import invalidate_caches
from pathlib import Path

import numpy as np
import pytest

from parity_tests.kit import doors, laws, oracle, vectors
from parity_tests.kit.calls import ArgumentChanged, operation_of
from parity_tests.kit.cases import Case
from parity_tests.kit.contract import CHECK_STEP, OPERATIONS
from parity_tests.kit.search import search_cases
from parity_tests.kit.shapes import dims_of
from parity_tests.kit.subjects import Subject, hurried
from parity_tests.kit.trace_cases import trace_cases
from parity_tests.kit.trial import verdicts
from parity_tests.meta.mutants import MUTANTS, Mutant, module_of, write
from parity_tests.meta.suite_run import run_pytest
from parity_tests.suite import test_laws

KINDS = {"torch_ref": "torch", "jax_spec": "jax"}
PARTS = ("golden vectors", "recorded steps", "random search")
# Of the mutants that no step can excuse, how many each part of the proof finds on its own, in percent at least. The
# engine that was recorded had no scheduler of drafts: of one's mistakes the recordings find few.
ALONE = {"golden vectors": 97, "recorded steps": 58, "random search": 90}
# For every law a mutant that it finds without an oracle.
BREACHES = {
    laws.rows_in_another_order: "offset-of-the-batch",
    laws.one_empty_row_more: "empty-rows-fall-together",
    laws.one_idle_row_more: "idle-rows-are-counted",
    laws.two_steps_in_one: "left-side-search",
    laws.twice_is_once: "indices-from-one",
    laws.nothing_behind_the_last_row: "one-token-too-many",
    laws.tokens_of_their_own_row: "stride-of-the-wrong-k",
    laws.greedy_is_sampled: "compared-one-late",
    laws.nothing_accepted: "always-the-bonus",
    laws.donated_is_plain: "staged-buffer-written",
    laws.others_keep_their_slots: "absent-slots-cleared",
    laws.step_is_its_parts: "stale-lengths",
}
UNTOUCHED = Mutant("untouched", "cu_seqlens", "_layout.py", "def cu_seqlens(", "def cu_seqlens(", "no mistake")
UNBOUND = 2**31 - 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the broken copies are imported from."""
    path = tmp_path_factory.mktemp("mutants")
    sys.path.insert(0, str(path))
    yield path
    sys.path.remove(str(path))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_dies(mutant: Mutant, folder: Path, record_testsuite_property: Callable[[str, object], None]) -> None:
    subject = through_the_door(mutant, folder)
    killers = (killer(subject, judging(mutant.operation, part, not mutant.tolerated)) for part in PARTS)
    first = next(filter(None, killers), None) or next(iter(failed_by_command([mutant], folder, "-x")), None)
    assert first is not None, mutant.story
    record_testsuite_property(f"{mutant.name} killed by", first)


@pytest.mark.parametrize("package", KINDS)
def test_copy_without_a_mistake_lives(package: str, folder: Path) -> None:
    subject = through_the_door(UNTOUCHED._replace(name=f"untouched-{package}", package=package), folder)
    assert (
        killer(subject, [case for case in golden() if case.op in ("cu_seqlens", "overlay_rows", "check_step")]) is None
    )


@pytest.mark.parametrize("old", ["no such line", "cu_seqlens"])
def test_mistake_that_has_no_place_is_an_error(old: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected once"):
        write(UNTOUCHED._replace(old=old), tmp_path)


def test_every_operation_has_mutants_and_every_mutant_a_name() -> None:
    assert {mutant.operation for mutant in MUTANTS} == {*OPERATIONS, CHECK_STEP.name}
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.full
@pytest.mark.parametrize("part", PARTS)
def test_part_of_the_proof_on_its_own(
    part: str, folder: Path, record_testsuite_property: Callable[[str, object], None]
) -> None:
    killed = {
        mutant.name: killer(through_the_door(mutant, folder), judging(mutant.operation, part, True))
        for mutant in MUTANTS
        if not mutant.tolerated
    }
    for name, first in killed.items():
        record_testsuite_property(f"{name} killed in {part} by", first)
    assert 100 * sum(map(bool, killed.values())) >= ALONE[part] * len(killed)


@pytest.mark.full
@pytest.mark.parametrize("package", KINDS)
def test_suite_fails_for_every_mutant(package: str, folder: Path) -> None:
    mutants = [mutant for mutant in MUTANTS if mutant.package == package]
    for mutant in mutants:
        through_the_door(mutant, folder)
    failed = "\n".join(failed_by_command(mutants, folder, "-k", "test_vectors or test_arguments"))
    assert [mutant.name for mutant in mutants if f":{module_of(mutant)}-" not in failed] == []


@pytest.mark.full
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_law_can_be_broken(law: laws.Law, folder: Path) -> None:
    (mutant,) = (mutant for mutant in MUTANTS if mutant.name == BREACHES[law])
    with pytest.raises((pytest.fail.Exception, ArgumentChanged)):
        test_laws.test_law(through_the_door(mutant, folder), law, mutant.operation)


def failed_by_command(mutants: list[Mutant], folder: Path, *options: str) -> list[str]:
    """The tests of the suite that fail for any of the mutants, each held to the operation that it breaks."""
    specs = [f"--impl={mutant.operation}={KINDS[mutant.package]}:{module_of(mutant)}" for mutant in mutants]
    status, printed = run_pytest(folder, "--tb=no", *specs, *options)
    assert status <= 1, printed
    return [line.split()[1] for line in printed.splitlines() if line.startswith("FAILED ")]


def through_the_door(mutant: Mutant, folder: Path) -> Subject:
    """The mutant as `--impl` takes it."""
    pytest.importorskip("torch" if mutant.package == "torch_ref" else "jax")
    if not (folder / module_of(mutant)).exists():
        write(mutant, folder)
        invalidate_caches()
    return hurried(doors.subject(f"{KINDS[mutant.package]}:{module_of(mutant)}"))


def killer(subject: Subject, cases: list[Case]) -> str | None:
    """The first case in which the subject differs; what comes behind it is not run."""
    found = next(filter(None, verdicts(subject._replace(fewest=1), cases)), None)
    return found and found.split(":")[0]


@cache
def judging(name: str, part: str, good: bool) -> list[Case]:
    """The cases of an operation in a part of the proof; only those whose step is `good`, if that is asked."""
    if part == "random search":
        cases = search_cases(OPERATIONS[name], 200, seed=1) if name in OPERATIONS else []
    else:
        cases = [case for case in (golden() if part == "golden vectors" else recorded()) if case.op == name]
    return list(filter(is_good_step, cases)) if good else cases


def is_good_step(case: Case) -> bool:
    """Whether `check_step` accepts as much of a step as the case has."""
    if case.fault is not None or case.op == CHECK_STEP.name:
        return case.fault is None
    dims = dims_of(operation_of(case.op), case.inputs, case.static)
    given = {name: case.inputs.get(name) for name in ("source_rows", "slots", "num_draft_tokens")}
    cu_seqlens_q = case.inputs.get("cu_seqlens_q", np.zeros(dims.get("B", 0) + 1, np.int32))
    capacity, columns = dims.get("T", UNBOUND), dims.get("K", UNBOUND)
    try:
        oracle.check_step(
            cu_seqlens_q, capacity=capacity, num_speculative_tokens=columns, num_slots=dims.get("S"), **given
        )
    except ValueError:
        return False
    return True


@cache
def golden() -> list[Case]:
    return vectors.load()


@cache
def recorded() -> list[Case]:
    return list(trace_cases())
