"""The oracle: every operation of the contract in NumPy and plain loops, slow and obviously right."""

from parity_tests.kit.oracle._assemble import assemble_input_ids as assemble_input_ids
from parity_tests.kit.oracle._assemble import overlay_input_ids as overlay_input_ids
from parity_tests.kit.oracle._assemble import overlay_rows as overlay_rows
from parity_tests.kit.oracle._bounds import clamp_token_ids as clamp_token_ids
from parity_tests.kit.oracle._bounds import clamp_token_indices as clamp_token_indices
from parity_tests.kit.oracle._bounds import last_token_indices as last_token_indices
from parity_tests.kit.oracle._bounds import token_index_bound as token_index_bound
from parity_tests.kit.oracle._check import check_step as check_step
from parity_tests.kit.oracle._defined import is_defined as is_defined
from parity_tests.kit.oracle._evaluate import evaluate as evaluate
from parity_tests.kit.oracle._layout import cu_seqlens as cu_seqlens
from parity_tests.kit.oracle._layout import token_rows as token_rows
from parity_tests.kit.oracle._positions import seq_lens as seq_lens
from parity_tests.kit.oracle._positions import slot_mapping as slot_mapping
from parity_tests.kit.oracle._positions import token_positions as token_positions
from parity_tests.kit.oracle._schedule import bound_query_lens as bound_query_lens
from parity_tests.kit.oracle._schedule import schedule_verify_lens as schedule_verify_lens
from parity_tests.kit.oracle._step import commit_step as commit_step
from parity_tests.kit.oracle._step import prepare_step as prepare_step
from parity_tests.kit.oracle._step import store_drafts as store_drafts
from parity_tests.kit.oracle._verify import accept_greedy as accept_greedy
from parity_tests.kit.oracle._verify import accept_sampled as accept_sampled
from parity_tests.kit.oracle._verify import gather_draft_token_ids as gather_draft_token_ids
from parity_tests.kit.oracle._verify import verify_indices as verify_indices
