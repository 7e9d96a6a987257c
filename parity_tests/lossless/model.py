"""What the loop wants of a model: arrays, and three functions of them in one framework."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Sizes(NamedTuple):
    """The shapes of a run, in the contract's letters; every step has them."""

    rows: int
    """B, rows of a batch."""
    slots: int
    """S, requests whose state is kept."""
    drafts: int
    """K, drafts of a request."""
    capacity: int
    """T, places of the flat buffer."""
    pages: int
    """P, blocks of one request's cache."""
    blocks: int
    """Blocks of the cache, all requests together."""
    block_size: int
    """Tokens of a block."""
    chunk: int
    """C, prompt tokens that a row reads in one step, at most."""


class Batch(NamedTuple):
    """What a forward and a drafter read of a step, all of it on the device."""

    inputs: Any
    """`StepInputs` of `prepare_step`."""
    rows: Any
    """`TokenRows` of `token_rows`."""
    cu_seqlens_q: Any
    """int32 `[B + 1]`."""
    slots: Any
    """int32 `[B]`, row of the state that each row writes, -1 for none."""
    block_tables: Any
    """int32 `[B, P]`."""


class Model(NamedTuple):
    """A target and its drafter in one framework; the functions are pure and, in JAX, traced into one program a step."""

    name: str
    """What the report calls it."""
    parameters: Any
    """Arrays on the device that never change, in any tree that the framework can hand to a program."""
    cache: Callable[[Sizes], Any]
    """An empty cache for a run of these sizes, in any such tree; each step gives up the last one's buffers."""
    forward: Callable[[Any, Any, Batch], tuple[Any, Any]]
    """`(parameters, cache, batch) -> (cache, sampled_token_ids[B * (K + 1)])`: the argmax at every packed logit."""
    draft: Callable[[Any, Any, Batch, Any], tuple[Any, Any]]
    """`(parameters, cache, batch, result) -> (draft_token_ids[B, K], confidence[B, K] float32)`, `result` the
    `StepResult` of `commit_step`. Drafts may depend on the request's own tokens up to its new anchor, and on nothing
    else: no other row, no step."""
    text: Callable[[Sequence[int]], str]
    """Token ids as a reader wants to see them."""
