"""An implementation under test: what it takes, how it is run, and how much is asked of it."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from parity_tests.kit import oracle_subject
from parity_tests.kit.cases import Case
from parity_tests.kit.compare import Outcome
from parity_tests.kit.contract import Operation
from parity_tests.kit.vectors import OPERATION_NAMES

Run = Callable[[Operation, list[Case]], list[Outcome]]


class Library(NamedTuple):
    """Functions of one framework: `find` has the one for an operation or None, `types` the NamedTuples they take.

    `device` is where torch tensors are put; empty for the CPU, and for JAX, which knows its own default.
    """

    framework: str
    find: Callable[[str], Callable | None]
    types: Any
    device: str = ""


class Subject(NamedTuple):
    """One implementation: its operations, the cases of them that it takes, one outcome for each of several cases of one
    signature, and how many of them there must be to make a run worth its while.

    `quick` runs the same with less care where compiling is what takes the time. `functions` are what a caller would
    call, if the subject is made of such. Where the implementation is not ours (`outside`), `NotImplementedError` is no
    difference, and `lacks` names the operations that it should have.
    """

    name: str
    operations: tuple[str, ...]
    takes: Callable[[Case], bool]
    run: Run
    fewest: int = 1
    quick: Run | None = None
    functions: Library | None = None
    outside: bool = False
    lacks: tuple[str, ...] = ()


ORACLE = Subject("oracle", OPERATION_NAMES, oracle_subject.answers, oracle_subject.run)


def of_operations(name: str, operations: Iterable[str], run: Run) -> Subject:
    """A subject that takes every case of some operations."""
    known = tuple(operations)
    return Subject(name, known, lambda case: case.op in known, run)


def offered(library: Library) -> list[str]:
    """The operations that a library has."""
    return [name for name in OPERATION_NAMES if library.find(name) is not None]


def hurried(subject: Subject) -> Subject:
    """The same, compiled with less care where that is what takes the time."""
    return subject._replace(run=subject.quick or subject.run)
