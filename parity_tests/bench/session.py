"""The session of pytest in which pytest-benchmark times the variants of each row; `measure` starts it.

Each row in its turn: its variants are made, and their results held to the oracle's, before any of them is timed. Then
they take turns, a block of rounds each, several blocks of each, so that whatever slows the machine down for a while
meets all of them; samples, and the ratios that are taken block by block, come from the same minute. The last result of
every block is held to the oracle's too, and its arguments to what they were. The first difference ends the session, and
nothing of it is published.
"""

import json
import os
from collections.abc import Iterator
from functools import cache, lru_cache, partial
from pathlib import Path
from time import perf_counter_ns
from typing import Any, NamedTuple, NoReturn

import pytest

from parity_tests.bench import in_jax, in_torch
from parity_tests.bench.cases import Row, make_case, operation_of
from parity_tests.bench.plan import Plan, from_json, kept
from parity_tests.bench.variants import FLOOR, NUMPY, Variant, adapter, found, has_numpy, on_host
from parity_tests.kit import doors
from parity_tests.kit.cases import Case
from parity_tests.kit.compare import Outcome, compare, describe, equal
from parity_tests.kit.contract import Operation
from parity_tests.kit.trees import leaves

# Where the plan stands.
VARIABLE = "PARITY_TESTS_BENCH_PLAN"
# The number of the open file that `tell` writes to.
CHANNEL = "PARITY_TESTS_BENCH_CHANNEL"
# Rounds that are not timed: another variant has just had the caches.
WARM = 5
FEWEST = 7


class Turn(NamedTuple):
    """One block of one variant; `number` of `total` turns."""

    row: Row
    variant: str
    block: int
    number: int
    total: int


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test a turn, in the order in which they are taken."""
    plan = _plan()
    order = [
        (row, name, block)
        for row in plan.rows
        if (names := kept(row, _names(row), plan.texts))
        for block in range(plan.blocks)
        for name in names
    ]
    turns = [Turn(*entry, number, len(order)) for number, entry in enumerate(order)]
    metafunc.parametrize("turn", turns, ids=[str(turn.number) for turn in turns])


def test_turn(turn: Turn, benchmark: Any) -> None:
    """One block of rounds."""
    tell("progress", [turn.number, turn.total])
    prepared = _prepared(turn.row)
    if turn.variant not in prepared:
        benchmark.skipped = True
        pytest.skip("it does not implement this")
    case, variant, rounds = prepared[turn.variant]
    facts = variant.facts if turn.block == 0 else None
    benchmark.extra_info.update(row=list(turn.row), variant=turn.variant, facts=facts)
    timed = _unawaited(variant) if _plan().dispatch else variant
    setup = None if timed.fresh is tuple else lambda: (timed.fresh(), {})
    result = benchmark.pedantic(timed.call, setup=setup, rounds=rounds, warmup_rounds=WARM)
    _hold(variant, case, variant.read(result))


def tell(kind: str, value: Any) -> None:
    """One line for the process that reads."""
    with open(int(os.environ[CHANNEL]), "w", closefd=False) as channel:
        channel.write(json.dumps([kind, value]) + "\n")


@cache
def _plan() -> Plan:
    plan = from_json(json.loads(Path(os.environ[VARIABLE]).read_text()))
    import jax

    # Blocked calls are timed without a thread that hands them over, and launched ones with it, as they are in use.
    jax.config.update("jax_cpu_enable_async_dispatch", plan.dispatch)
    tell("devices", [str(device) for device in jax.devices()])
    return plan


@cache
def _names(row: Row) -> list[str]:
    operation, plan = operation_of(row), _plan()
    names = in_jax.offered(operation)
    names += in_torch.offered(operation, row in plan.compiled_by_torch) if plan.torch else []
    names += [NUMPY] if has_numpy(operation) else []
    names += [text for text in plan.implementations if _offers(text, row)]
    return [name for name in names if not plan.variants or name in plan.variants]


def _offers(text: str, row: Row) -> bool:
    """Whether somebody's implementation has the operation of a row; a whole step needs all parts."""
    subject = doors.subject(text)
    if subject.functions:
        return found(operation_of(row), subject.functions.find) is not None
    return row.operation in subject.operations


@lru_cache(maxsize=1)
def _prepared(row: Row) -> dict[str, tuple[Case, Variant, int]]:
    """The variants of a row, each with its case and the rounds of its blocks; all have given what the oracle gives."""
    case, operation = make_case(row), operation_of(row)
    prepared = {}
    for variant in _made(row, case, operation):
        outcome = _outcome(variant)
        if isinstance(outcome, NotImplementedError) and variant.name in _plan().implementations:
            tell("unimplemented", [variant.name, row.operation])
            continue
        _hold(variant, case, outcome)
        prepared[variant.name] = case, variant, _rounds(variant)
    return prepared


def _hold(variant: Variant, case: Case, outcome: Outcome) -> None:
    """Ends the session if an outcome is not the oracle's, or if the arguments are no longer what they were."""
    difference = compare(case, outcome) if variant.name != FLOOR else None
    if difference:
        _end(f"{variant.name}: {describe(case, difference)}")
    after = dict(leaves(variant.held()))
    changed = [path for path, before in leaves(case.inputs) if path in after and not equal(before, after[path])]
    if changed:
        _end(f"{variant.name}: {case.id}: it writes to its argument `{changed[0]}`")


def _end(difference: str) -> NoReturn:
    tell("difference", difference)
    pytest.fail("different", pytrace=False)


def _made(row: Row, case: Case, operation: Operation) -> Iterator[Variant]:
    names = kept(row, _names(row), _plan().texts)
    yield from (variant for variant in in_jax.variants(case, operation, names))
    if _plan().torch:
        yield from in_torch.variants(case, operation, names)
    if NUMPY in names:
        yield on_host(case, operation)
    for text in _plan().implementations:
        if text in names:
            yield _outside(text, case, operation)


def _outside(text: str, case: Case, operation: Operation) -> Variant:
    library, spec = doors.subject(text).functions, doors.parse(text)
    if library is None:
        _, function = doors.resolve(spec)
        assert function is not None, "its subject could be made"
        call = function if spec.operation else partial(function, operation.name)
        return adapter(text, call, case, operation)
    return {"jax": in_jax, "torch": in_torch}[library.framework].outside(text, library, case, operation)


def _outcome(variant: Variant) -> Any:
    try:
        return variant.read(variant.call(*variant.fresh()))
    except Exception as error:
        return error


def _rounds(variant: Variant) -> int:
    """As many as the time of a block allows."""
    plan, spent = _plan(), []
    for _ in range(3):
        given = variant.fresh()
        start = perf_counter_ns()
        variant.call(*given)
        spent.append(perf_counter_ns() - start)
    return min(plan.rounds, max(FEWEST, plan.block_ns // min(spent)))


def _unawaited(variant: Variant) -> Variant:
    """The variant without the wait for its result, which is made up for before the next round."""
    import jax

    assert variant.launch is not None, "only JAX returns before the result is there"
    launch, running = variant.launch, []

    def fresh() -> tuple:
        jax.block_until_ready(running)
        running.clear()
        return ()

    def call() -> Any:
        running.append(launch())
        return running[-1]

    return variant._replace(call=call, fresh=fresh)
