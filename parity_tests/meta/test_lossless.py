"""Whatever is verified, in whatever order and by whichever framework, requests emit what plain decoding emits."""

from collections import defaultdict
from functools import partial

import jax
import numpy as np
import pytest

from parity_tests.lossless import frameworks, on_device
from parity_tests.lossless.compare import differences
from parity_tests.lossless.exact.sweep import MODES, SUBJECTS, sizes_for
from parity_tests.lossless.exact.text import documentation, prompts
from parity_tests.lossless.loop import Step, steps
from parity_tests.lossless.modes import FLOORED, PLAIN, RAGGED, RECTANGULAR
from parity_tests.lossless.record import Run, collect, in_both
from parity_tests.lossless.step import POISON, Engine
from parity_tests.lossless.workload import requests_from
from parity_tests.meta.lossless_runs import REQUESTS, SEED, engine, run

ORACLE = frameworks.oracle_framework()
OTHERS = [name for name in SUBJECTS if name not in ("oracle", on_device.ON_DEVICE)]


def judged(drafts: int) -> dict[str, Run]:
    return {mode.name: run(ORACLE, drafts, mode) for mode in MODES}


def check(name: str, drafts: int) -> None:
    """All modes of one engine, against the oracle."""
    pytest.importorskip(SUBJECTS[name].needs)
    judges, subject = judged(drafts), engine(SUBJECTS[name].framework(), drafts)
    for mode in MODES:
        found = collect(steps(subject, mode, REQUESTS, SEED), REQUESTS)
        assert differences(found, judges[PLAIN.name], judges[mode.name]) == []
        assert found.counts == judges[mode.name].counts


@pytest.mark.parametrize("name", OTHERS)
def test_frameworks_and_modes_emit_the_same(name):
    check(name, 3)


@pytest.mark.full
@pytest.mark.parametrize("drafts", [0, 1, 7])
@pytest.mark.parametrize("name", OTHERS)
def test_with_any_number_of_drafts(name, drafts):
    check(name, drafts)


@pytest.mark.parametrize("drafts", [0, 1, 3, 7])
def test_modes_emit_the_same_in_the_oracle(drafts):
    runs = judged(drafts)
    expected = [request.new_tokens for request in REQUESTS]
    assert [len(tokens) for tokens in runs[PLAIN.name].tokens] == expected
    assert {found.tokens for found in runs.values()} == {runs[PLAIN.name].tokens}


def test_tokens_do_not_depend_on_who_is_when_where():
    subject = engine(ORACLE, 3)
    runs = [collect(steps(subject, RAGGED, REQUESTS, seed), REQUESTS) for seed in range(5)]
    assert {found.tokens for found in runs} == {runs[0].tokens}
    assert len({found.counts for found in runs}) > 1


@pytest.mark.parametrize("drafts", [1, 3, 7])
def test_acceptance_is_the_same_where_both_verify(drafts):
    runs = judged(drafts)
    columns = in_both(runs[RECTANGULAR.name], runs[RAGGED.name], drafts)
    assert [column.differing for column in columns] == [0] * drafts
    assert 0 < columns[0].accepted < columns[0].verified


def test_verdicts_are_what_the_text_says():
    found = run(ORACLE, 3, RAGGED)
    for (request, token, draft), verdict in found.verdicts.items():
        said = found.tokens[request][token + 1 : token + 2 + draft]
        made = [found.verdicts[request, token, before].draft for before in range(draft + 1)]
        assert verdict.accepted == (made == [*said]), (request, token, draft)
    verdicts = [verdict.accepted for verdict in found.verdicts.values()]
    assert (len(verdicts), sum(verdicts)) == (found.counts.verified, found.counts.accepted)
    assert found.counts.emitted == sum(request.new_tokens for request in REQUESTS)


def test_another_verdict_where_both_verify_is_seen():
    runs = judged(3)
    place, verdict = next(iter(runs[RAGGED.name].verdicts.items()))
    other = runs[RAGGED.name].verdicts | {place: verdict._replace(accepted=not verdict.accepted)}
    columns = in_both(runs[RAGGED.name], runs[RAGGED.name]._replace(verdicts=other), 3)
    assert sum(column.differing for column in columns) == 1


def test_modes_verify_as_they_say():
    counts = {name: found.counts for name, found in judged(3).items()}
    assert counts[PLAIN.name].decoded == counts[PLAIN.name].decoding
    assert counts[RECTANGULAR.name].decoded == 4 * counts[RECTANGULAR.name].decoding
    assert 0 < counts[RAGGED.name].verified < counts[FLOORED.name].verified < counts[RECTANGULAR.name].verified
    assert counts[RAGGED.name].forwards < counts[PLAIN.name].forwards


@pytest.fixture(scope="module")
def seen() -> list[Step]:
    """A run in which, of all that can happen to a request, everything does."""
    requests = requests_from(prompts(documentation(), 24, SEED), 40, SEED)
    sizes = sizes_for(requests, 3)
    return list(steps(engine(ORACLE, 3, sizes), RAGGED, requests, SEED))


def test_the_host_knows_no_token_of_what_decodes(seen):
    for step in seen:
        decodes = step.staged.source_rows >= 0
        assert (step.staged.chunks[decodes] == POISON).all()
        assert (step.staged.num_computed_tokens[decodes] == POISON).all()


def test_prompts_are_read_in_chunks_beside_rows_that_decode(seen):
    reads = [(step.request >= 0) & (step.staged.source_rows < 0) & (step.seen.query_lens > 0) for step in seen]
    decodes = [(step.staged.source_rows >= 0) & (step.seen.query_lens > 0) for step in seen]
    assert any(some.any() and others.any() for some, others in zip(reads, decodes, strict=True))
    assert sum(some.sum() for some in reads) > len({int(number) for step in seen for number in step.request})
    assert len({tuple(lens[lens > 0]) for lens in (step.seen.query_lens for step in seen)}) > 5


def test_rows_are_empty_anywhere_and_requests_sit_out(seen):
    empty = [step.seen.query_lens == 0 for step in seen]
    assert any(row[: np.flatnonzero(~row)[-1]].any() for row in empty if not row.all())
    nobody = [step.request < 0 for step in seen]
    assert any(row[: np.flatnonzero(~row)[-1]].any() for row in nobody if not row.all())
    rests = [step.request[(step.seen.query_lens == 0) & (step.staged.source_rows >= 0)] for step in seen]
    assert sum(map(len, rests)) > 0


def test_requests_change_rows_and_slots_and_are_preempted(seen):
    rows, slots = defaultdict(set), defaultdict(set)
    resumed = set()
    for step in seen:
        for row in np.flatnonzero(step.request >= 0):
            request = int(step.request[row])
            rows[request].add(int(row))
            slots[request].add(int(step.staged.slots[row]))
            if step.generated[row] and step.staged.source_rows[row] < 0:
                resumed.add(request)
    assert all(len(places) > 1 for places in rows.values())
    assert any(len(places) > 1 for places in slots.values())
    assert resumed


def test_pages_serve_one_request_after_another(seen):
    owners: dict[int, set[int]] = {}
    for step in seen:
        for row in np.flatnonzero(step.request >= 0):
            for block in step.staged.block_tables[row]:
                owners.setdefault(int(block), set()).add(int(step.request[row]))
    owners.pop(-1, None)
    assert any(len(requests) > 1 for requests in owners.values())


def roomy(drafts: int) -> Engine:
    """An engine that can hold all that the loop on the device asks for."""
    framework = frameworks.jax_framework()
    sizes = engine(framework, drafts).sizes
    places = sizes.rows * max(sizes.chunk, drafts + 1)
    return engine(framework, drafts, sizes._replace(capacity=places, blocks=sizes.slots * sizes.pages))


def test_all_in_one_loop_on_the_device():
    done = on_device.decode(roomy(3), RAGGED, REQUESTS)
    plain = run(ORACLE, 3, PLAIN)
    assert done.tokens == plain.tokens
    assert done.forwards < plain.counts.forwards


@pytest.mark.full
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("drafts", [0, 1, 7])
def test_any_mode_in_one_loop_on_the_device(mode, drafts):
    assert on_device.decode(roomy(drafts), mode, REQUESTS).tokens == run(ORACLE, drafts, PLAIN).tokens


def test_the_loop_on_the_device_asks_the_host_for_nothing():
    subject = roomy(3)
    program = jax.jit(partial(on_device.whole, subject, RAGGED))
    traced = program.trace(*on_device.arguments(subject, REQUESTS))
    assert [equation.primitive.name for equation in traced.jaxpr.eqns].count("while") == 1
    text = traced.lower().as_text()
    assert not [word for word in ("callback", "infeed", "outfeed", "send", "recv") if word in text]


def test_the_loop_on_the_device_wants_room():
    with pytest.raises(ValueError, match=r"`engine`: got Sizes.* expected a capacity of at least 96 and \d+ blocks"):
        on_device.decode(engine(frameworks.jax_framework(), 3), RAGGED, REQUESTS)
