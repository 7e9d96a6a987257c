"""Results as NamedTuples of tensors, and the letters of every shape.

`B` rows of this step's batch, `S` rows of the state tables, `K` draft columns, `T` token capacity of the flat buffer,
`P` columns of a block table, `N` entries of a throughput table. `B*K` is the size of packed drafts, `B*(K+1)` that of
packed logits.
"""

from typing import NamedTuple

from jaxtyping import Bool, Int32
from torch import Tensor

# At run time jaxtyping can evaluate `B+1` only after it has seen `B`, so these sizes have names of their own.
CuSeqlens = Int32[Tensor, " B_plus_1"]
PackedDrafts = Int32[Tensor, " BK"]
PackedDecisions = Bool[Tensor, " BK"]
PackedLogits = Int32[Tensor, " BK_plus_B"]


class TokenRows(NamedTuple):
    """The owner of every flat position: its row, the offset in that row, and whether there is an owner at all."""

    row: Int32[Tensor, " T"]
    offset: Int32[Tensor, " T"]
    valid: Bool[Tensor, " T"]


class VerifyIndices(NamedTuple):
    """Where the target's logits are needed, packed to the front; see `verify_indices`."""

    num_draft_tokens: Int32[Tensor, " B"]
    cu_num_draft_tokens: Int32[Tensor, " B"]
    cu_num_logits: CuSeqlens
    logits_indices: PackedLogits
    target_logits_indices: PackedDrafts
    bonus_logits_indices: Int32[Tensor, " B"]


class Acceptance(NamedTuple):
    """What verification made of every row; see `accept_sampled`."""

    num_accepted: Int32[Tensor, " B"]
    num_rejected: Int32[Tensor, " B"]
    next_token_ids: Int32[Tensor, " B"]
    output_token_ids: Int32[Tensor, " B K+1"]


class StepState(NamedTuple):
    """What stays on the device between steps, one row per request slot."""

    anchor_token_ids: Int32[Tensor, " S"]
    draft_token_ids: Int32[Tensor, " S K"]
    num_computed_tokens: Int32[Tensor, " S"]


class StepInputs(NamedTuple):
    """What one forward of the target model reads; see `prepare_step`."""

    input_ids: Int32[Tensor, " T"]
    positions: Int32[Tensor, " T"]
    num_computed_tokens: Int32[Tensor, " B"]
    seq_lens: Int32[Tensor, " B"]
    slot_mapping: Int32[Tensor, " T"]
    verify: VerifyIndices
    draft_token_ids: PackedDrafts


class StepResult(NamedTuple):
    """What one step leaves behind; see `commit_step`."""

    acceptance: Acceptance
    last_token_indices: Int32[Tensor, " B"]
    state: StepState


class BoundedLens(NamedTuple):
    """How long the query of each row is, and whether such lengths exist; see `bound_query_lens`."""

    query_lens: Int32[Tensor, " B"]
    representable: Bool[Tensor, ""]
