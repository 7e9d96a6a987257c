"""ATOM's names: numbers by hand, and its rules as plain loops."""

from itertools import pairwise

import numpy as np
import pytest
import torch

import torch_ref
from torch_ref.engines.atom import (
    anchor_token_indices,
    calc_spec_decode_metadata,
    decode_positions,
    fill_deferred_decode_ids,
    verification_counts,
)

CASES, B, S, K, N = 300, 6, 7, 3, 40


def int32(values):
    return torch.tensor(values, dtype=torch.int32)


def batch(seed):
    """Decode rows, new sequences and empty rows in any order, over a table of the previous batch's rows."""
    rng = np.random.default_rng(seed)
    lens = rng.integers(0, K + 2, B)
    src = np.where(rng.random(B) < 0.7, rng.permutation(S)[:B], -rng.integers(1, 3, B))
    drafts = np.where(src >= 0, np.maximum(lens - 1, 0), 0)
    arrays = (
        rng.integers(1, 99, N),
        np.cumsum([0, *lens]),
        src,
        rng.integers(100, 199, S),
        rng.integers(200, 299, (S, K)),
    )
    return [int32(array.tolist()) for array in (*arrays, drafts)]


def test_fill_by_hand():
    # Rows of the previous batch 0, 1 and 2; two new sequences between them, whose ids the scheduler staged.
    staged = int32([0, 0, 501, 51, 0, 0, 502, 52, 0, 0, 9, 9, 9, 9])
    cu, src = int32([0, 2, 4, 6, 8, 10]), int32([0, -1, 1, -1, 2])
    tables = int32([100, 200, 300]), int32([[11], [21], [31]])
    filled = fill_deferred_decode_ids(staged, cu, src, *tables, graph_bs=6, max_seqlen_q=2)
    assert filled.tolist() == [100, 11, 501, 51, 200, 21, 502, 52, 300, 31, 0, 0, 9, 9]
    assert staged.tolist() == [0, 0, 501, 51, 0, 0, 502, 52, 0, 0, 9, 9, 9, 9]


@pytest.mark.parametrize(
    ("graph_bs", "q", "expected"),
    [
        (1, 2, [200, 21, 22, 9, 9, 9]),  # more tokens than the graph has: nothing to clear
        (2, 2, [200, 21, 22, 0, 9, 9]),
        (2, 9, [200, 21, 22, 0, 0, 0]),  # the buffer ends first
        (2**31 - 1, 2**31 - 1, [200, 21, 22, 0, 0, 0]),
    ],
)
def test_tail_is_cleared_as_far_as_the_graph_reads(graph_bs, q, expected):
    arrays = int32([9] * 6), int32([0, 3]), int32([0]), int32([200]), int32([[21, 22]])
    assert fill_deferred_decode_ids(*arrays, graph_bs=graph_bs, max_seqlen_q=q).tolist() == expected


def test_metadata_by_hand():
    ids, cu = int32([100, 200, 21, 22, 23, 300, 31, 0]), int32([0, 1, 5, 7])
    found = calc_spec_decode_metadata(ids, cu, int32([0, 3, 1]), mtp_k=3)
    assert found.draft_token_ids.tolist() == [21, 22, 23, 31, *[-1] * 5]
    assert found.cu_num_draft_tokens.tolist() == [0, 3, 4]
    assert found.target_logits_indices.tolist() == [1, 2, 3, 5, 0, 0, 0, 0, 0]
    assert found.bonus_logits_indices.tolist() == [0, 4, 6]
    dtypes = [field.dtype for field in found]
    assert dtypes == [torch.int32, torch.int32, torch.int64, torch.int64]


def test_verification_by_hand():
    """Drafts 21 22 23 and 31 against 21 99 98 and 31: of three drafts, rows accept 0, 1 and 1."""
    cu = int32([0, 1, 5, 7])
    indices = torch_ref.verify_indices(cu, int32([0, 3, 1]), num_speculative_tokens=3)
    drafts, sampled = int32([21, 22, 23, 31, *[-1] * 5]), int32([7, 21, 99, 98, 55, 31, 66, *[0] * 5])
    acceptance = torch_ref.accept_greedy(indices, drafts, sampled)
    counts = verification_counts(acceptance, mtp_k=3)
    assert acceptance.output_token_ids.tolist() == [[7, -1, -1, -1], [21, 99, -1, -1], [31, 66, -1, -1]]
    assert counts.num_bonus.tolist() == [0, 1, 1]
    assert counts.num_reject.tolist() == [3, 2, 2]
    assert acceptance.num_rejected.tolist() == [0, 2, 0]
    assert anchor_token_indices(cu, counts.num_reject, mtp_k=3).tolist() == [0, 2, 6]


def test_an_empty_step_has_no_place_before_the_first():
    assert anchor_token_indices(int32([0, 0, 0]), int32([3, 3]), mtp_k=3).tolist() == [0, 0]


def test_positions_by_hand():
    found = decode_positions(int32([0, 1, 5, 5, 7]), int32([11, 24, 0, 32]), capacity=8)
    assert found.tolist() == [10, 20, 21, 22, 23, 30, 31, 0]


def test_fill_is_theirs():
    """A span whose `src` is not negative is one row of `[prev, drafts]`, cut to its length."""
    for seed in range(CASES):
        out, cu, src, prev, drafts, _ = batch(seed)
        graph_bs = B + seed % 3
        filled = fill_deferred_decode_ids(out, cu, src, prev, drafts, graph_bs=graph_bs, max_seqlen_q=K + 1)
        expected = out.tolist()
        for row, (start, end) in enumerate(pairwise(cu.tolist())):
            if src[row] >= 0:
                expected[start:end] = [prev[src[row]].item(), *drafts[src[row]].tolist()][: end - start]
        for place in range(int(cu[-1]), graph_bs * (K + 1)):
            expected[place] = 0
        assert filled.tolist() == expected, seed


def test_metadata_is_theirs():
    """With a row of logits for every row: the number of drafts and one more, placed at the row's end."""
    for seed in range(CASES):
        ids, cu, *_, counts = batch(seed)
        found = calc_spec_decode_metadata(ids, cu, counts, mtp_k=K)
        drafts, targets, bonus, logits = [], [], [], 0
        for (start, end), count in zip(pairwise(cu.tolist()), counts.tolist(), strict=True):
            drafts += ids[end - count : end].tolist()
            targets += range(logits, logits + count)
            logits += count + 1 if end > start else 0
            bonus.append(max(logits, 1) - 1)
        rest = B * K - len(drafts)
        assert found.draft_token_ids.tolist() == drafts + [-1] * rest, seed
        assert found.target_logits_indices.tolist() == targets + [0] * rest, seed
        assert found.bonus_logits_indices.tolist() == bonus, seed
        assert found.cu_num_draft_tokens.tolist() == counts.cumsum(0).tolist()


def test_anchor_is_the_three_offsets_of_theirs():
    rng = np.random.default_rng(0)
    for _ in range(CASES):
        lens = rng.integers(1, K + 2, B)
        accepted = rng.integers(0, lens)
        cu, reject = np.cumsum([0, *lens]), K - accepted
        got = anchor_token_indices(int32(cu.tolist()), int32(reject.tolist()), mtp_k=K)
        ragged = lens - (K - reject)
        shrunk = 1 + reject - (K + 1 - lens)
        assert np.array_equal(ragged, shrunk)
        assert got.tolist() == (cu[1:] - ragged).tolist() == (cu[:-1] + accepted).tolist()
        if (lens == K + 1).all():
            assert got.tolist() == (cu[1:] - 1 - reject).tolist()


def test_positions_are_theirs():
    for seed in range(CASES):
        _, cu, *_ = batch(seed)
        context = np.random.default_rng(seed).integers(K + 1, 1000, B)
        got = decode_positions(cu, int32(context.tolist()), capacity=N)
        spans = [range(last - (b - a), last) for last, (a, b) in zip(context, pairwise(cu.tolist()), strict=True)]
        flat = [place for span in spans for place in span]
        assert got.tolist() == flat + [0] * (N - len(flat)), seed
