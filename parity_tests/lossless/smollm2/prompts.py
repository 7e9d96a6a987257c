"""Prompts of real text, already as tokens: the questions of the recorded runs."""

from parity_tests.kit.traces import Run


def prompts_of(run: Run) -> list[tuple[int, ...]]:
    """What each request of a recording reads before it says anything, in request order."""
    prompts: list[list[int]] = [[] for _ in run.outputs]
    for step in run.steps:
        ends = [0]
        for length in step["query_lens"]:
            ends.append(ends[-1] + length)
        for row, request in enumerate(step["request"]):
            if step["anchors"][row] < 0:
                prompts[request] += step["input_ids"][ends[row] : ends[row + 1]]
    return [tuple(prompt) for prompt in prompts]
