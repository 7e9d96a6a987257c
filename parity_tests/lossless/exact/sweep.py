"""The exact model in every framework, mode and number of drafts, each run held to plain decoding by the oracle."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from parity_tests.lossless import frameworks
from parity_tests.lossless.compare import differences, differing_tokens
from parity_tests.lossless.exact.forward import exact_model
from parity_tests.lossless.exact.text import Text
from parity_tests.lossless.frameworks import Framework
from parity_tests.lossless.loop import steps
from parity_tests.lossless.model import Sizes
from parity_tests.lossless.modes import FLOORED, PLAIN, RAGGED, RECTANGULAR, Mode
from parity_tests.lossless.on_device import ON_DEVICE, decode
from parity_tests.lossless.record import Counts, Run, collect
from parity_tests.lossless.report_data import Found, Outcome, acceptance
from parity_tests.lossless.step import make_engine
from parity_tests.lossless.workload import Request

MODES = (PLAIN, RECTANGULAR, RAGGED, FLOORED)
Judges = dict[str, Run]


class Subject(NamedTuple):
    """A framework by its name, and the modes that it is run in."""

    framework: Callable[[], Framework]
    modes: tuple[Mode, ...]
    needs: str = ""
    """What has to be installed."""


SUBJECTS = {
    "oracle": Subject(frameworks.oracle_framework, MODES),
    "jax": Subject(frameworks.jax_framework, MODES, "jax"),
    ON_DEVICE: Subject(frameworks.jax_framework, (RAGGED,), "jax"),
    "torch": Subject(frameworks.torch_framework, MODES, "torch"),
    "torch-host-sync": Subject(frameworks.host_sync_framework, (RAGGED,), "torch"),
}


class Plan(NamedTuple):
    """What is run."""

    text: Text
    requests: Sequence[Request]
    drafts: Sequence[int]
    """Values of K."""
    names: Sequence[str]
    """Of `SUBJECTS`; the oracle runs in any case, first."""
    seed: int


def sweep(plan: Plan, tell: Callable[[int, int], None]) -> Found:
    """All runs of a plan; `tell` hears how many of how many are done.

    >>> from parity_tests.lossless.exact.text import tokenize
    >>> text = tokenize("to be, or not to be: that is the question")
    >>> found = sweep(Plan(text, [Request((1, 2), 3, 0)], [1], ["oracle"], 0), lambda done, total: None)
    >>> found.texts, len(found.outcomes), [outcome.differences for outcome in found.outcomes]
    ([('to be', ', or not')], 4, [[], [], [], []])
    """
    names = ["oracle", *(name for name in plan.names if name != "oracle")]
    found, total = Found([], [], []), len(plan.drafts) * sum(len(SUBJECTS[name].modes) for name in names)
    for drafts in plan.drafts:
        sizes, judges = sizes_for(plan.requests, drafts), {}
        for name in names:
            if name == ON_DEVICE:
                found.outcomes.append(_on_device(plan, sizes, judges[PLAIN.name]))
            else:
                judges = _add_runs(found, plan, name, sizes, judges)
            tell(len(found.outcomes), total)
        if not found.texts:
            found.texts.extend(_texts(plan, sizes, judges[PLAIN.name]))
    return found


def sizes_for(requests: Sequence[Request], drafts: int) -> Sizes:
    """Shapes that hold any one request, but not long ones in all slots at once."""
    longest = max(len(request.prompt) + request.new_tokens for request in requests) + drafts
    pages = -(-longest // 8)
    return Sizes(
        6, 8, drafts, capacity=max(64, 2 * drafts + 2), pages=pages, blocks=5 * pages + 3, block_size=8, chunk=16
    )


def _add_runs(found: Found, plan: Plan, name: str, sizes: Sizes, judges: Judges) -> Judges:
    """Adds the runs of one subject to `found`; the first subject's own are what all are held to."""
    framework, modes = SUBJECTS[name].framework(), SUBJECTS[name].modes
    engine = make_engine(framework, exact_model(framework, plan.text, sizes), sizes)
    runs = {mode.name: collect(steps(engine, mode, plan.requests, plan.seed), plan.requests) for mode in modes}
    judges = judges or runs
    for mode, run in runs.items():
        told = differences(run, judges[PLAIN.name], judges[mode])
        found.outcomes.append(Outcome(sizes.drafts, mode, name, run.counts, len(plan.requests), told))
    if RECTANGULAR.name in runs:
        found.acceptances.append(acceptance(name, sizes.drafts, runs[RECTANGULAR.name], runs[RAGGED.name]))
    return judges


def _on_device(plan: Plan, sizes: Sizes, plain: Run) -> Outcome:
    places = sizes.rows * max(sizes.chunk, sizes.drafts + 1)
    sizes = sizes._replace(capacity=places, blocks=sizes.slots * sizes.pages)
    framework = frameworks.jax_framework()
    done = decode(make_engine(framework, exact_model(framework, plan.text, sizes), sizes), RAGGED, plan.requests)
    counts = Counts(forwards=done.forwards, emitted=sum(map(len, done.tokens)))
    told = differing_tokens(done.tokens, plain.tokens)
    return Outcome(sizes.drafts, RAGGED.name, ON_DEVICE, counts, len(plan.requests), told)


def _texts(plan: Plan, sizes: Sizes, plain: Run) -> Iterator[tuple[str, str]]:
    text = exact_model(frameworks.oracle_framework(), plan.text, sizes).text
    for request, tokens in zip(plan.requests, plain.tokens, strict=True):
        yield text(request.prompt), text(tokens)
