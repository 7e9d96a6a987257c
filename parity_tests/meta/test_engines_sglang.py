"""SGLang's names: numbers by hand, its rules as plain loops, and 64-bit ids that stay what they are."""

import numpy as np
import pytest
import torch

from torch_ref.engines.sglang import accept_greedy, compact_row_index, compact_verify_ids, ragged_verify_window

CASES, B, K, S, T = 300, 6, 3, 8, 32
WIDE = 2**40


def int32(values):
    return torch.tensor(values, dtype=torch.int32)


def int64(values):
    return torch.tensor(values, dtype=torch.int64)


def batch(seed):
    """Rows of 0 to K + 1 tokens of very few ids, half of them beyond int32, and a target that mostly agrees."""
    rng = np.random.default_rng(seed)
    candidates = rng.integers(0, 4, (B, K + 1))
    right = np.roll(candidates, -1, axis=1)
    predict = np.where(rng.random((B, K + 1)) < 0.7, right, rng.integers(0, 4, (B, K + 1)))
    lens, prefix = rng.integers(0, K + 2, B), rng.integers(0, 20, B)
    wide = WIDE * (seed % 2)
    return (
        int64((candidates + wide).tolist()),
        int64((predict + wide).tolist()),
        int32(lens.tolist()),
        int64(prefix.tolist()),
    )


def test_rows_by_hand():
    rows = compact_row_index(int32([1, 4, 2]), padded_total=8)
    assert rows.req_id.tolist() == [0, 1, 1, 1, 1, 2, 2, 3]
    assert rows.within.tolist() == [0, 0, 1, 2, 3, 0, 1, 0]
    assert rows.valid.tolist() == [True] * 7 + [False]
    assert [field.dtype for field in rows] == [torch.int64, torch.int64, torch.bool]


def test_ids_by_hand():
    blocks = int64([[100, -5], [200, -5], [300, -5]])
    drafts = int64([[11, 12, 13], [21, 22, 23], [31, 32, 33]])
    ids = compact_verify_ids(blocks, drafts, int32([1, 4, 2]), padded_total=8)
    assert (ids.tolist(), ids.dtype) == ([100, 200, 21, 22, 23, 300, 31, 0], torch.int64)


def test_window_by_hand():
    """Request 0 in row 2 of the pool from position 1 on, request 1 in row 0 from position 0 on."""
    pool = int32([[70, 71, 72, 73], [0, 0, 0, 0], [90, 91, 92, 93]])
    window = ragged_verify_window(int64([1, 0]), int32([2, 3]), int64([2, 0]), pool, padded_total=7)
    assert window.positions.tolist() == [1, 2, 0, 1, 2, 0, 0]
    assert window.verify_cache_loc.tolist() == [91, 92, 70, 71, 72, 0, 0]
    assert [field.dtype for field in window] == [torch.int64, torch.int64]


def test_acceptance_by_hand():
    candidates, predict = int64([[100, 11, 12], [200, 21, 22]]), int64([[11, 12, 77], [21, 99, 98]])
    found = accept_greedy(candidates, predict, int32([3, 3]), int64([10, 20]))
    assert found.correct_len.tolist() == [2, 1]
    assert found.bonus.tolist() == [77, 99]
    assert found.commit_lens.tolist() == [3, 2]
    assert found.new_seq_lens.tolist() == [13, 22]
    assert found.out_tokens.tolist() == [[11, 12, 77], [21, 99, 0]]


def test_a_short_row_is_cut_and_keeps_its_rejected_drafts():
    candidates, predict = int64([[100, 11, 12, 13]] * 3), int64([[11, 12, 13, 77], [11, 12, 13, 77], [99, 12, 13, 77]])
    found = accept_greedy(candidates, predict, int32([2, 0, 4]), int64([10, 20, 30]))
    assert found.correct_len.tolist() == [1, 0, 0]
    assert found.bonus.tolist() == [12, 0, 99]
    assert found.commit_lens.tolist() == [2, 0, 1]
    assert found.out_tokens.tolist() == [[11, 12, 13, 0], [11, 12, 13, 0], [99, 12, 13, 0]]


def test_rows_and_ids_are_theirs():
    for seed in range(CASES):
        candidates, _, lens, _ = batch(seed)
        rows = compact_row_index(lens, padded_total=T)
        ids = compact_verify_ids(candidates[:, :1], candidates[:, 1:], lens, padded_total=T)
        owners = [(row, place) for row, n in enumerate(lens.tolist()) for place in range(n)]
        rest = T - len(owners)
        assert rows.req_id.tolist() == [row for row, _ in owners] + [B] * rest, seed
        assert rows.within.tolist() == [place for _, place in owners] + [0] * rest, seed
        assert ids.tolist() == [int(candidates[owner]) for owner in owners] + [0] * rest, seed


def test_window_is_theirs():
    for seed in range(CASES):
        _, _, lens, prefix = batch(seed)
        rng = np.random.default_rng(seed)
        pool, slots = int32(rng.integers(1, 999, (S, 24)).tolist()), int64(rng.permutation(S)[:B].tolist())
        window = ragged_verify_window(prefix, lens, slots, pool, padded_total=T)
        tokens = [(row, int(prefix[row]) + place) for row, n in enumerate(lens.tolist()) for place in range(n)]
        rest = [0] * (T - len(tokens))
        assert window.positions.tolist() == [position for _, position in tokens] + rest, seed
        assert window.verify_cache_loc.tolist() == [int(pool[slots[row], p]) for row, p in tokens] + rest, seed


def test_acceptance_is_theirs():
    """Drafts that the target repeats from the left count, at most one less than the row has tokens."""
    seen = set()
    for seed in range(CASES):
        candidates, predict, lens, prefix = batch(seed)
        found = accept_greedy(candidates, predict, lens, prefix)
        for row, n in enumerate(lens.tolist()):
            tokens, said = candidates[row].tolist(), predict[row].tolist()
            correct = 0
            while correct < n - 1 and tokens[correct + 1] == said[correct]:
                correct += 1
            out = [*tokens[1:], 0]
            if n:
                out[correct] = said[correct]
            commit = correct + 1 if n else 0
            expected = (correct, said[correct] if n else 0, commit, int(prefix[row]) + commit, out)
            assert tuple(field[row].tolist() for field in found) == expected, (seed, row)
            seen.add((n, correct))
    assert len(seen) == 1 + sum(range(1, K + 2))


def test_ids_that_are_equal_in_32_bits_only_are_not_equal():
    found = accept_greedy(int64([[1, 7]]), int64([[7 + 2**32, 5 + 2**33]]), int32([2]), int64([0]))
    assert (found.correct_len.tolist(), found.bonus.tolist()) == ([0], [7 + 2**32])


@pytest.mark.parametrize("wild", [2**62, 2**32, -1, -(2**62)])
def test_a_request_or_position_outside_the_pool_reads_nothing(wild):
    pool = int32([[5, 6]])
    outside = ragged_verify_window(int64([wild]), int32([2]), int64([0]), pool, padded_total=2)
    assert outside.positions.tolist() == [wild, wild + 1]
    assert outside.verify_cache_loc.tolist() == [0, 5 if wild == -1 else 0]
    nobody = ragged_verify_window(int64([0]), int32([2]), int64([wild]), pool, padded_total=2)
    assert nobody.verify_cache_loc.tolist() == [0, 0]


def test_a_length_above_the_width_is_the_width():
    candidates, predict = int64([[100, 11], [200, 21]]), int64([[11, 77], [21, 88]])
    found = accept_greedy(candidates, predict, int32([2**31 - 1, 2]), int64([10, 20]))
    assert (found.correct_len.tolist(), found.bonus.tolist()) == ([1, 1], [77, 88])


def test_blocks_without_anchors_are_refused():
    empty, lens = torch.zeros((1, 0), dtype=torch.int64), int32([1])
    with pytest.raises(ValueError, match="`draft_block_ids`: got no columns"):
        compact_verify_ids(empty, empty, lens, padded_total=1)
    with pytest.raises(ValueError, match="`candidates`: got no columns"):
        accept_greedy(empty, empty, lens, int64([0]))
