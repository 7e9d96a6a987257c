"""The ragged step of speculative decoding between one forward and the next, as jitted JAX functions.

No function reads anything back to the host, and new lengths, rows or tokens never compile anything.
"""

from jax_spec._assemble import assemble_input_ids as assemble_input_ids
from jax_spec._assemble import overlay_input_ids as overlay_input_ids
from jax_spec._assemble import overlay_input_ids_donated as overlay_input_ids_donated
from jax_spec._assemble import overlay_rows as overlay_rows
from jax_spec._bounds import clamp_token_ids as clamp_token_ids
from jax_spec._bounds import clamp_token_indices as clamp_token_indices
from jax_spec._bounds import last_token_indices as last_token_indices
from jax_spec._bounds import token_index_bound as token_index_bound
from jax_spec._buckets import StepShapes as StepShapes
from jax_spec._buckets import bucket_ladder as bucket_ladder
from jax_spec._buckets import pick_bucket as pick_bucket
from jax_spec._buckets import precompile as precompile
from jax_spec._buckets import step_shapes as step_shapes
from jax_spec._check import check_step as check_step
from jax_spec._export import ExportedStep as ExportedStep
from jax_spec._export import export_step as export_step
from jax_spec._layout import cu_seqlens as cu_seqlens
from jax_spec._layout import token_rows as token_rows
from jax_spec._positions import seq_lens as seq_lens
from jax_spec._positions import slot_mapping as slot_mapping
from jax_spec._positions import token_positions as token_positions
from jax_spec._schedule import bound_query_lens as bound_query_lens
from jax_spec._schedule import schedule_verify_lens as schedule_verify_lens
from jax_spec._schedule import throughput_table as throughput_table
from jax_spec._sharding import shard_rows as shard_rows
from jax_spec._step import commit_step as commit_step
from jax_spec._step import commit_step_donated as commit_step_donated
from jax_spec._step import prepare_step as prepare_step
from jax_spec._step import store_drafts as store_drafts
from jax_spec._step import store_drafts_donated as store_drafts_donated
from jax_spec._types import Acceptance as Acceptance
from jax_spec._types import BoundedLens as BoundedLens
from jax_spec._types import StepInputs as StepInputs
from jax_spec._types import StepResult as StepResult
from jax_spec._types import StepState as StepState
from jax_spec._types import TokenRows as TokenRows
from jax_spec._types import VerifyIndices as VerifyIndices
from jax_spec._verify import accept_greedy as accept_greedy
from jax_spec._verify import accept_sampled as accept_sampled
from jax_spec._verify import gather_draft_token_ids as gather_draft_token_ids
from jax_spec._verify import verify_indices as verify_indices

__version__ = "0.1.0"
