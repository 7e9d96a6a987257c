"""sglang-jax's names: numbers by hand, its rectangle to the last bit, and its rules as plain loops."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, PartitionSpec

from jax_spec.engines.sglang_jax import (
    RelayBuffers,
    gather_relay,
    ragged_chain_accept,
    ragged_chain_verify,
    update_relay,
)

from .test_engines_jax import B, K, S, T

CASES = 300


def int32(values):
    return jnp.array(values, jnp.int32)


def batch(seed):
    """Tokens, lengths and what the target says: mostly what was drafted, of very few ids."""
    rng = np.random.default_rng(seed)
    anchors, drafts = rng.integers(0, 4, B), rng.integers(0, 4, (B, K))
    seq_lens, lens = rng.integers(0, 1000, B), rng.integers(0, K + 2, B)
    right = np.concatenate([drafts, rng.integers(0, 4, (B, 1))], 1)
    predict = np.where(rng.random((B, K + 1)) < 0.7, right, rng.integers(0, 4, (B, K + 1)))
    return [array.astype(np.int32) for array in (anchors, drafts, seq_lens, lens, predict)]


def test_rectangle_by_hand():
    arrays = int32([100, 200]), int32([[11, 12], [21, 22]]), int32([10, 20]), int32([3, 3])
    chain = ragged_chain_verify(*arrays, capacity=6)
    assert chain.draft_tokens.tolist() == [100, 11, 12, 200, 21, 22]
    assert chain.positions.tolist() == [10, 11, 12, 20, 21, 22]
    assert chain.cu_q_lens.tolist() == [0, 3, 6]
    assert chain.logits_indices.tolist() == [2, 5]


def test_ragged_by_hand():
    tokens = int32([100, 200, 300]), int32([[11, 12, 13], [21, 22, 23], [31, 32, 33]])
    chain = ragged_chain_verify(*tokens, int32([10, 20, 30]), int32([1, 4, 2]), capacity=8)
    assert chain.draft_tokens.tolist() == [100, 200, 21, 22, 23, 300, 31, 0]
    assert chain.positions.tolist() == [10, 20, 21, 22, 23, 30, 31, 0]
    predict = int32([7, 21, 99, 98, 55, 31, 66, 5])
    accepted = ragged_chain_accept(chain.draft_tokens, chain.cu_q_lens, predict, num_speculative_tokens=3)
    assert (accepted.accept_lens.tolist(), accepted.verified_id.tolist()) == ([1, 2, 2], [7, 99, 66])


def test_acceptance_by_hand_counts_the_root_and_leaves_padding_at_0():
    tokens, predict = int32([100, 11, 12, 200, 21, 22]), int32([11, 12, 77, 21, 99, 98])
    accepted = ragged_chain_accept(tokens, int32([0, 3, 3, 6]), predict, num_speculative_tokens=2)
    assert (accepted.accept_lens.tolist(), accepted.verified_id.tolist()) == ([3, 0, 2], [77, 0, 99])


def test_full_lengths_are_their_rectangle():
    for seed in range(CASES):
        anchors, drafts, seq_lens, *_ = batch(seed)
        full = np.full(B, K + 1, np.int32)
        chain = ragged_chain_verify(*map(jnp.array, (anchors, drafts, seq_lens, full)), capacity=B * (K + 1))
        tokens = np.concatenate([anchors[:, None], drafts], 1).reshape(-1)
        positions = (seq_lens[:, None] + np.arange(K + 1, dtype=np.int32)).reshape(-1)
        for got, expected in ((chain.draft_tokens, tokens), (chain.positions, positions)):
            assert got.dtype == expected.dtype
            assert np.array_equal(got, expected)


def packed(anchors, drafts, seq_lens, lens):
    """Each row's verified token and drafts up to its length, end to end."""
    tokens = [t for row, n in enumerate(lens) for t in [anchors[row], *drafts[row]][:n]]
    positions = [p for row, n in enumerate(lens) for p in range(seq_lens[row], seq_lens[row] + n)]
    return [np.array(flat + [0] * (T - len(flat)), np.int32) for flat in (tokens, positions)]


def test_ragged_rows_are_end_to_end():
    for seed in range(CASES):
        *arrays, _ = batch(seed)
        chain = ragged_chain_verify(*map(jnp.array, arrays), capacity=T)
        for got, expected in zip(chain[:2], packed(*arrays), strict=True):
            assert np.array_equal(got, expected), seed
        assert chain.cu_q_lens.tolist() == np.cumsum([0, *arrays[3]]).tolist()


def accepted_in(tokens, predict):
    """Tokens of one row that count, and the one that comes next; 0 and 0 for an empty row."""
    for count, said in enumerate(predict, 1):
        if count == len(tokens) or tokens[count] != said:
            return count, said
    return 0, 0


def test_acceptance_is_theirs():
    counts = set()
    for seed in range(CASES):
        anchors, drafts, seq_lens, lens, predict = batch(seed)
        tokens, _ = packed(anchors, drafts, seq_lens, lens)
        cu = np.cumsum([0, *lens], dtype=np.int32)
        flat = np.concatenate([predict[row, :n] for row, n in enumerate(lens)])
        flat = np.pad(flat, (0, T - flat.size))
        got = ragged_chain_accept(*map(jnp.array, (tokens, cu, flat)), num_speculative_tokens=K)
        rows = [accepted_in(tokens[a:b].tolist(), flat[a:b].tolist()) for a, b in pairwise(cu)]
        assert list(zip(got.accept_lens.tolist(), got.verified_id.tolist(), strict=True)) == rows, seed
        counts |= {count for count, _ in rows}
    assert counts == set(range(K + 2))


def test_relay_by_hand():
    buffers = RelayBuffers(int32([[1, 2], [3, 4], [5, 6]]), int32([10, 20, 30]), int32([7, 8, 9]))
    got = gather_relay(buffers, int32([2, -1, 0, 3]))
    assert got.topk_index.tolist() == [[5, 6], [0, 0], [1, 2], [0, 0]]
    assert (got.verified_id.tolist(), got.new_seq_lens.tolist()) == ([30, 0, 10, 0], [9, 0, 7, 0])
    rows = int32([[11, 12], [13, 14], [15, 16]]), int32([71, 72, 73]), int32([41, 42, 43])
    new = update_relay(buffers, int32([2, -1, 3]), *rows)
    assert new.topk_index.tolist() == [[1, 2], [3, 4], [11, 12]]
    assert (new.verified_id.tolist(), new.new_seq_lens.tolist()) == ([10, 20, 71], [7, 8, 41])


def test_relay_is_theirs():
    """A row that their mask leaves out goes to the place behind the last one, where it is dropped."""
    for seed in range(CASES):
        rng = np.random.default_rng(seed)
        shapes = ((S, K), (S,), (S,))
        buffers = RelayBuffers(*(int32(rng.integers(0, 100, shape)) for shape in shapes))
        rows = [rng.integers(0, 100, (B, *shape[1:])).astype(np.int32) for shape in shapes]
        future, valid = rng.permutation(S)[:B].astype(np.int32), rng.random(B) < 0.6
        masked = np.where(valid, future, -1).astype(np.int32)
        new = update_relay(*jax.tree.map(jnp.array, (buffers, masked, *rows)))
        for before, after, row in zip(buffers, new, rows, strict=True):
            expected = np.array(before)
            for slot, value, wanted in zip(future, row, valid, strict=True):
                if wanted:
                    expected[slot] = value
            assert np.array_equal(after, expected), seed
        read = gather_relay(new, jnp.array(future))
        for table, got in zip(new, read, strict=True):
            assert np.array_equal(got, np.asarray(table)[future])


@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit], ids=["auto", "explicit"])
@pytest.mark.parametrize("ranks", [1, 4])
def test_their_layout_under_data_parallelism(ranks, axis_type):
    """Rows and tokens of the ranks one behind the other, and a `cu_q_lens` that starts at 0 in each."""
    batches = [batch(seed)[:4] for seed in range(ranks)]
    joined = [np.concatenate(arrays) for arrays in zip(*batches, strict=True)]
    mesh = jax.make_mesh((ranks,), ("data",), axis_types=(axis_type,))
    rows = PartitionSpec("data")
    with jax.set_mesh(mesh):
        placed = jax.device_put(joined, jax.NamedSharding(mesh, rows))
        sharded = jax.shard_map(
            lambda *arrays: ragged_chain_verify(*arrays, capacity=T), mesh=mesh, in_specs=rows, out_specs=rows
        )
        chain = jax.device_get(jax.jit(sharded)(*placed))
    starts = [np.cumsum([0, *arrays[3]]) for arrays in batches]
    tokens, positions = (np.concatenate(flat) for flat in zip(*(packed(*arrays) for arrays in batches), strict=True))
    assert chain.cu_q_lens.tolist() == np.concatenate(starts).tolist()
    assert np.array_equal(chain.draft_tokens, tokens)
    assert np.array_equal(chain.positions, positions)
