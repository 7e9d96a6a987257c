"""Names of vLLM's second runner: numbers by hand, its rules as plain loops, and ids that don't fit."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
import torch

import torch_ref
from torch_ref.engines.vllm import (
    RequestTables,
    SampledCounts,
    combine_sampled_and_draft_tokens,
    get_num_sampled_and_rejected,
    int32_ids,
    post_update,
    prepare_pos_seq_lens,
)

CASES, B, S, K, T = 300, 6, 8, 3, 64


def int32(values):
    return torch.tensor(values, dtype=torch.int32)


class Batch(NamedTuple):
    """A batch by rows, and its tables by request state."""

    input_ids: torch.Tensor
    idx_mapping: torch.Tensor
    query_start_loc: torch.Tensor
    cu_num_logits: torch.Tensor
    seq_lens: torch.Tensor
    prefill_len: torch.Tensor
    computed: torch.Tensor
    last_sampled: torch.Tensor
    drafts: torch.Tensor


def batch(seed):
    """Decode rows, prompt chunks that end before the prompt, with it or behind it, and rows of padding at the end."""
    rng = np.random.default_rng(seed)
    states, live = rng.permutation(S)[:B], rng.integers(1, B + 1)
    prefill, computed = rng.integers(1, 30, S), rng.integers(30, 60, S)
    lens, logits = np.zeros(B, int), np.zeros(B, int)
    for row in range(live):
        kind, state = rng.choice(["decode", "chunk", "last chunk", "tail"], p=[0.55, 0.15, 0.15, 0.15]), states[row]
        lens[row] = logits[row] = 1 + rng.integers(0, K + 1)
        if kind != "decode":
            lens[row], logits[row] = rng.integers(1, 9), 1
            behind = {"chunk": 3, "last chunk": 0, "tail": -1}[kind]
            prefill[state] = computed[state] + lens[row] + behind
    idx = np.where(np.arange(B) < live, states, -1)
    after = np.where(idx >= 0, computed[idx] + lens, 0)
    ids, last, drafts = rng.integers(1, 99, T), rng.integers(100, 199, S), rng.integers(200, 299, (S, K))
    arrays = ids, idx, np.cumsum([0, *lens]), np.cumsum([0, *logits]), after, prefill, computed, last, drafts
    return Batch(*(int32(array.tolist()) for array in arrays))


def combined(b, num_logits):
    given = b.input_ids, b.idx_mapping, b.last_sampled, b.query_start_loc, b.seq_lens, b.prefill_len
    return combine_sampled_and_draft_tokens(*given, b.drafts, b.cu_num_logits, num_logits=num_logits)


def test_combine_by_hand():
    starts, prefill = int32([0, 1, 5, 7]), int32([1, 1, 1])
    ids, logits = combine_sampled_and_draft_tokens(
        int32([0] * 8),
        int32([2, 0, 1]),
        int32([200, 300, 100]),
        starts,
        int32([11, 24, 32]),
        prefill,
        int32([[21, 22, 23], [31, 32, 33], [11, 12, 13]]),
        starts,
        num_logits=7,
    )
    assert ids.tolist() == [100, 200, 21, 22, 23, 300, 31, 0]
    assert (logits.tolist(), logits.dtype, ids.dtype) == ([0, 1, 2, 3, 4, 5, 6], torch.int64, torch.int32)


def test_a_prompt_chunk_stays_and_rows_count_from_their_end():
    """A chunk that is the whole prompt, 2 drafts, and a row with the prompt's last token before what was sampled."""
    ids, logits = combine_sampled_and_draft_tokens(
        int32([51, 52, 53, 54, 0, 0, 0, 61, 62, 0]),
        int32([0, 1, 2]),
        int32([900, 200, 600]),
        int32([0, 4, 7, 10]),
        int32([4, 23, 9]),
        int32([4, 5, 8]),
        int32([[901, 902], [21, 22], [601, 602]]),
        int32([0, 1, 4, 5]),
        num_logits=5,
    )
    assert ids.tolist() == [51, 52, 53, 54, 200, 21, 22, 61, 62, 600]
    assert logits.tolist() == [3, 4, 5, 6, 9]


def test_the_sampled_token_does_not_replace_the_last_of_the_prompt():
    """Drafts right behind the prompt: the row's first token is the prompt's last."""
    row = int32([61, 0, 0]), int32([0]), int32([600]), int32([0, 3]), int32([10]), int32([8])
    found = combine_sampled_and_draft_tokens(*row, int32([[601, 602]]), int32([0, 3]), num_logits=3)
    assert found.input_ids.tolist() == [61, 601, 602]


def test_positions_by_hand():
    found = prepare_pos_seq_lens(int32([2, 0, 1]), int32([0, 1, 5, 7]), int32([20, 30, 10]), capacity=8, max_num_reqs=5)
    assert found.positions.tolist() == [10, 20, 21, 22, 23, 30, 31, 0]
    assert found.seq_lens.tolist() == [11, 24, 32, 0, 0]
    assert (found.positions.dtype, found.seq_lens.dtype) == (torch.int64, torch.int32)


def test_update_by_hand():
    """Rows sample 1, 2 and 2 tokens of 1, 4 and 2, and a fourth has not read its prompt; computed 10, 20, 30 and 40."""
    mapping, starts = int32([2, 0, 1, 3]), int32([0, 1, 5, 7, 9])
    acceptance = torch_ref.Acceptance(
        int32([0, 1, 1, 0]),
        int32([0, 2, 0, 1]),
        int32([7, 99, 66, 5]),
        int32([[7, -1, -1, -1], [21, 99, -1, -1], [31, 66, -1, -1], [5, -1, -1, -1]]),
    )
    lens = int32([11, 24, 32, 42])
    counts = get_num_sampled_and_rejected(acceptance, int32([0, 1, 5, 7, 9]), lens, mapping, int32([1, 1, 1, 50]))
    assert (counts.num_sampled.tolist(), counts.num_rejected.tolist()) == ([1, 2, 2, 0], [0, 2, 0, 0])
    tables = RequestTables(int32([20, 30, 10, 40, 8]), int32([200, 300, 100, 400, 500]))
    new = post_update(tables, mapping, acceptance.output_token_ids, counts, starts)
    assert new.num_computed_tokens.tolist() == [22, 32, 11, 42, 8]
    assert new.last_sampled_tokens.tolist() == [99, 66, 7, 400, 500]
    assert tables.num_computed_tokens.tolist() == [20, 30, 10, 40, 8]


def test_combine_is_theirs():
    """Beyond the prompt, a row's last tokens are what was sampled last and then its drafts."""
    for seed in range(CASES):
        b = batch(seed)
        ids, places = b.input_ids.tolist(), []
        for row, ((_, end), (a, z)) in enumerate(
            zip(pairwise(b.query_start_loc.tolist()), pairwise(b.cu_num_logits.tolist()), strict=True)
        ):
            places += range(end - (z - a), end)
            state = b.idx_mapping[row]
            if z > a and b.seq_lens[row] > b.prefill_len[state]:
                ids[end - (z - a) : end] = [int(b.last_sampled[state]), *b.drafts[state].tolist()][: z - a]
        ids[int(b.query_start_loc[-1]) :] = [0] * (T - int(b.query_start_loc[-1]))
        found = combined(b, len(places))
        assert found.input_ids.tolist() == ids, seed
        assert found.logits_indices.tolist() == places, seed
        assert combined(b, len(places) + 2).logits_indices.tolist() == [*places, 0, 0]


def test_positions_are_theirs():
    for seed in range(CASES):
        b = batch(seed)
        found = prepare_pos_seq_lens(b.idx_mapping, b.query_start_loc, b.computed, capacity=T, max_num_reqs=B + 2)
        flat = []
        for state, (a, z) in zip(b.idx_mapping.tolist(), pairwise(b.query_start_loc.tolist()), strict=True):
            flat += range(int(b.computed[state]), int(b.computed[state]) + z - a)
        assert found.positions.tolist() == flat + [0] * (T - len(flat)), seed
        assert found.seq_lens.tolist() == [*b.seq_lens.tolist(), 0, 0]


def test_update_is_theirs():
    """Nothing is sampled or rejected before the prompt's end; the rest of the row is computed all the same."""
    for seed in range(CASES):
        b, rng = batch(seed), np.random.default_rng([seed, 1])
        logits = np.diff(b.cu_num_logits.tolist())
        accepted = rng.integers(0, np.maximum(logits, 1))
        acceptance = torch_ref.Acceptance(
            int32(accepted.tolist()),
            int32(np.maximum(logits - 1 - accepted, 0).tolist()),
            int32([0] * B),
            int32(rng.integers(0, 99, (B, K + 1)).tolist()),
        )
        counts = get_num_sampled_and_rejected(acceptance, b.cu_num_logits, b.seq_lens, b.idx_mapping, b.prefill_len)
        tables = RequestTables(b.computed, b.last_sampled)
        new = post_update(tables, b.idx_mapping, acceptance.output_token_ids, counts, b.query_start_loc)
        computed, last = b.computed.tolist(), b.last_sampled.tolist()
        for row, state in enumerate(b.idx_mapping.tolist()):
            reads_on = state < 0 or b.seq_lens[row] < b.prefill_len[state]
            sampled = 0 if reads_on else accepted[row] + 1
            rejected = 0 if reads_on else logits[row] - sampled
            assert (counts.num_sampled[row], counts.num_rejected[row]) == (sampled, rejected), (seed, row)
            if state >= 0:
                start, end = b.query_start_loc[row : row + 2].tolist()
                computed[state] += end - start - rejected
                last[state] = int(acceptance.output_token_ids[row, sampled - 1]) if sampled else last[state]
        assert new.num_computed_tokens.tolist() == computed, seed
        assert new.last_sampled_tokens.tolist() == last, seed


def test_the_batches_hold_all_kinds_of_rows():
    kinds = set()
    for seed in range(CASES):
        b = batch(seed)
        for row, state in enumerate(b.idx_mapping.tolist()):
            kinds.add((state >= 0, int(torch.sign(b.seq_lens[row] - b.prefill_len[state])) if state >= 0 else 0))
    assert kinds == {(False, 0), (True, -1), (True, 0), (True, 1)}


@pytest.mark.parametrize("wide", [2**31, -(2**31) - 1, 2**32 + 7])
def test_an_id_that_does_not_fit_is_told(wide):
    ids = torch.tensor([[1, 2], [3, wide]])
    with pytest.raises(ValueError, match=rf"`draft_tokens`: got {wide} at index 1, 1, expected an int32"):
        int32_ids(ids, name="draft_tokens")


def test_ids_that_fit_are_int32():
    ids = torch.tensor([[2**31 - 1, -(2**31)], [-1, 0]])
    assert torch.equal(int32_ids(ids, name="draft_tokens"), ids.to(torch.int32))
    assert int32_ids(ids, name="draft_tokens").dtype == torch.int32


def test_a_batch_above_their_maximum_is_refused():
    with pytest.raises(ValueError, match="`max_num_reqs`: got 1, expected a Python int of at least 2"):
        prepare_pos_seq_lens(int32([0, 1]), int32([0, 1, 2]), int32([5, 6]), capacity=2, max_num_reqs=1)


def test_counts_of_rows_without_logits_are_0():
    acceptance = torch_ref.Acceptance(int32([0]), int32([0]), int32([-1]), int32([[-1]]))
    counts = get_num_sampled_and_rejected(acceptance, int32([0, 0]), int32([0]), int32([-1]), int32([9]))
    assert counts == SampledCounts(int32([0]), int32([0]))
