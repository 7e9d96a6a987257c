"""Results of the operations, and the letters of their shapes.

B   rows of this step's batch (requests, padded rows included)
S   rows of the state tables: request slots, or the previous batch's rows
K   draft columns; 0 where speculation is off
T   token capacity of the flat buffer
P   columns of a block table
N   entries of a table over batch sizes
B1 = B + 1        one entry per row and one for the end
K1 = K + 1        the drafts and one more: the anchor in front, or the bonus token behind
BK = B * K        one place per draft that a batch can hold
BL = B * (K + 1)  one place per row of logits that a batch can need

Inside, W is the width of a grid that has a row for each row of the batch, and BW = B * W.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from jax.tree_util import GetAttrKey, register_pytree_with_keys
from jaxtyping import Array, Bool, Int32


class TokenRows(NamedTuple):
    """Who owns each position of the flat buffer; from `token_rows`."""

    row: Int32[Array, " T"]
    """Row that owns the position; B where none does."""
    offset: Int32[Array, " T"]
    """Position within the row; 0 where no row owns it."""
    valid: Bool[Array, " T"]
    """Whether any row owns it."""


class VerifyIndices(NamedTuple):
    """What verification reads, packed to the front in row order, 0 behind; from `verify_indices`."""

    num_draft_tokens: Int32[Array, " B"]
    """Drafts that the row verifies, `n`."""
    cu_num_draft_tokens: Int32[Array, " B"]
    """Inclusive prefix sum of `n`."""
    cu_num_logits: Int32[Array, " B1"]
    """Exclusive prefix sum of `n + 1`, or of 0 for a row of length 0."""
    logits_indices: Int32[Array, " BL"]
    """Flat positions in `input_ids` at which logits are needed."""
    target_logits_indices: Int32[Array, " BK"]
    """Packed logits that judge a draft: the first `n` of each row."""
    bonus_logits_indices: Int32[Array, " B"]
    """Packed logit behind each row's last draft."""


class Acceptance(NamedTuple):
    """What verification accepted; from `accept_greedy` and `accept_sampled`."""

    num_accepted: Int32[Array, " B"]
    """Accepted drafts; the correction or bonus token is not counted."""
    num_rejected: Int32[Array, " B"]
    """Verified drafts that were not accepted."""
    next_token_ids: Int32[Array, " B"]
    """Correction or bonus token, the next anchor; -1 for a row of length 0."""
    output_token_ids: Int32[Array, "B K1"]
    """Accepted drafts, then the next token, then -1."""


class StepState(NamedTuple):
    """What stays on the device between two steps, one row per request slot."""

    anchor_token_ids: Int32[Array, " S"]
    """Token that the request produced last."""
    draft_token_ids: Int32[Array, "S K"]
    """Drafts that follow it."""
    num_computed_tokens: Int32[Array, " S"]
    """Tokens whose keys and values are in the cache."""


class StepInputs(NamedTuple):
    """What the forward reads; from `prepare_step`."""

    input_ids: Int32[Array, " T"]
    """Token ids, 0 in the tail."""
    positions: Int32[Array, " T"]
    """Position of each token in its sequence, 0 in the tail."""
    num_computed_tokens: Int32[Array, " B"]
    """Tokens of the row before this step."""
    seq_lens: Int32[Array, " B"]
    """Tokens of the row after this step, 0 for a row of length 0."""
    slot_mapping: Int32[Array, " T"]
    """Cache slot of each token, -1 where it has none."""
    verify: VerifyIndices
    """What verification reads."""
    draft_token_ids: Int32[Array, " BK"]
    """Drafts under verification, packed, -1 behind."""


class StepResult(NamedTuple):
    """What the step produced; from `commit_step`."""

    acceptance: Acceptance
    """What verification accepted."""
    last_token_indices: Int32[Array, " B"]
    """Flat position of the last token of the row that counts: its hidden state seeds the drafter."""
    state: StepState
    """The state for the next step."""


class BoundedLens(NamedTuple):
    """Query lengths within what was scheduled; from `bound_query_lens`."""

    query_lens: Int32[Array, " B"]
    """Tokens of each row."""
    representable: Bool[Array, ""]
    """Whether every row has room for what was accepted; if not, the step must stay rectangular."""


# JAX gives a donated buffer to the first result of its shape: with the state in front, each array of it keeps its own.
_ORDER = ("state", "acceptance", "last_token_indices")


def _state_first(result: StepResult) -> tuple[list[tuple[Any, Any]], None]:
    return [(GetAttrKey(name), getattr(result, name)) for name in _ORDER], None


def _from_state_first(_: None, children: Iterable[Any]) -> StepResult:
    return StepResult(**dict(zip(_ORDER, children, strict=True)))


register_pytree_with_keys(StepResult, _state_first, _from_state_first)
