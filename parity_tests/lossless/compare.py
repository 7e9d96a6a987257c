"""Whether a run is the run that it should be: of every request the tokens, and of every draft the verdict."""

from collections.abc import Iterator, Sequence

from parity_tests.lossless.record import Run

Tokens = Sequence[Sequence[int]]


def differences(run: Run, plain: Run, judge: Run) -> list[str]:
    """For each request that differs, the first thing that does.

    Args:
        run: the run in question.
        plain: what every run must emit.
        judge: the same mode and seed elsewhere, the drafts and verdicts of which must be the same.
    """
    told = dict(_verdicts(run, judge)) | dict(_tokens(run.tokens, plain.tokens))
    return [f"request {request}: {told[request]}" for request in sorted(told)]


def differing_tokens(tokens: Tokens, expected: Tokens) -> list[str]:
    """The same for tokens alone.

    >>> differing_tokens([[5, 6], [7]], [[5, 6], [8, 9]])
    ['request 1: token 0: expected 8, got 7']
    >>> differing_tokens([[5]], [[5, 6]])
    ['request 0: token 1: expected 6, got none']
    """
    return [f"request {request}: {told}" for request, told in _tokens(tokens, expected)]


def _tokens(tokens: Tokens, expected: Tokens) -> Iterator[tuple[int, str]]:
    for request, (got, wanted) in enumerate(zip(tokens, expected, strict=True)):
        if list(got) != list(wanted):
            most = max(len(got), len(wanted))
            place = next(i for i in range(most) if [*got[i : i + 1]] != [*wanted[i : i + 1]])
            texts = (str(ids[place]) if place < len(ids) else "none" for ids in (wanted, got))
            yield request, "token {}: expected {}, got {}".format(place, *texts)


def _verdicts(run: Run, judge: Run) -> Iterator[tuple[int, str]]:
    places = {place for place, _ in run.verdicts.items() ^ judge.verdicts.items()}
    # The last one told of a request is kept.
    for place in sorted(places, reverse=True):
        request, token, draft = place
        wanted, got = judge.verdicts.get(place), run.verdicts.get(place)
        yield request, f"draft {draft} behind token {token}: expected {_said(wanted)}, got {_said(got)}"


def _said(verdict: tuple[int, bool] | None) -> str:
    if verdict is None:
        return "it not verified"
    draft, accepted = verdict
    return f"{draft} {'accepted' if accepted else 'rejected'}"
