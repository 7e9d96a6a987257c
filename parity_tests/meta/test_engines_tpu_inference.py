"""tpu-inference's names: the numbers that its documented rules give by hand, and its rules as plain loops."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, PartitionSpec

import jax_spec
from jax_spec.engines.tpu_inference import SubstitutedTokens, compact_accepted, spec_metadata, substitute_spec_tokens

from .test_engines_jax import B, K, T, step

CASES = 300


def int32(values):
    return jnp.array(values, jnp.int32)


def test_substitution_by_hand():
    # A prompt chunk of 3, row 1 of the last step with 2 tokens, nothing, and row 0 with 3.
    new = substitute_spec_tokens(
        int32([51, 52, 53, 0, 0, 0, 0, 0, 9, 9]),
        int32([3, 24, 0, 40]),
        int32([[0, 1, 2, 22, 23, 37, 38, 39, 5, 5], [7] * 10, [0] * 10]),
        int32([0, 3, 5, 5, 8]),
        int32([100, 200]),
        int32([[11, 12], [21, 22]]),
        int32([2, 1]),
        int32([-1, 1, -1, 0]),
    )
    assert new.input_ids.tolist() == [51, 52, 53, 200, 21, 100, 11, 12, 0, 0]
    assert new.seq_lens.tolist() == [3, 23, 0, 38]
    assert new.positions.tolist() == [
        [0, 1, 2, 21, 22, 35, 36, 37, 5, 5],
        [7, 7, 7, 6, 6, 5, 5, 5, 7, 7],
        [0, 0, 0, -1, -1, -2, -2, -2, 0, 0],
    ]


def test_metadata_by_hand():
    # The rows end at 4, 104, 107, 207 and 209 and hold 3, 0, 2, 0 and 1 drafts: their own example.
    found = spec_metadata(
        int32([0, 4, 104, 107, 207, 209, 209]), int32([3, 0, 2, 0, 1, 0]), num_speculative_tokens=3, capacity=16
    )
    logits = [0, 1, 2, 3, 103, 104, 105, 106, 206, 207, 208]
    assert found.final_logits_indices.tolist() == [*logits, 0, 0, 0, 0, 0]
    assert found.target_logits_indices.tolist() == [0, 1, 2, 5, 6, 9, *[0] * 10]
    assert found.bonus_logits_indices.tolist() == [3, 4, 7, 8, 10, 0]
    assert found.draft_lengths.tolist() == [3, 0, 2, 0, 1, 0]


def test_compaction_by_hand():
    kept = compact_accepted(int32([0, 1, 5, 5, 7]), int32([0, 2, 0, 1]), capacity=6)
    assert kept.token_indices.tolist() == [0, 1, 2, 5, 0, 0]
    assert kept.query_start_loc.tolist() == [0, 1, 3, 3, 4]


def test_what_the_sampler_left_is_what_is_substituted():
    # Drafts [], [21, 22, 23], [31] against the target's 7 | 21 99 98 55 | 31 66.
    indices = jax_spec.verify_indices(int32([0, 1, 5, 7]), int32([0, 3, 1]), num_speculative_tokens=3)
    drafts = jax_spec.gather_draft_token_ids(int32([100, 200, 21, 22, 23, 300, 31, 0]), indices)
    accepted = jax_spec.accept_greedy(indices, drafts, int32([7, 21, 99, 98, 55, 31, 66, 0, 0, 0, 0, 0]))
    assert (accepted.next_token_ids.tolist(), accepted.num_rejected.tolist()) == ([7, 99, 66], [0, 2, 0])


def substituted(s, lens):
    """Every token of a carried row stands in one flat list of `[last, drafts]` rows; its rejections are subtracted."""
    anchors, drafts, _ = s["state"]
    flat = np.concatenate([anchors[:, None], drafts], 1).ravel()
    ids, lens, positions = s["ids"].copy(), lens.copy(), s["positions"].copy()
    for row, (start, end) in enumerate(pairwise(s["cu"])):
        source = s["source"][row]
        if source >= 0:
            lens[row] -= s["rejected"][source]
            positions[:, start:end] -= s["rejected"][source]
            for place in range(start, end):
                ids[place] = flat[source * (K + 1) + place - start]
    ids[s["cu"][-1] :] = 0
    return ids, lens, positions


def metadata(s, capacity):
    """Row by row: places of the last drafts + 1 tokens, which of them judge a draft, and the last of each row."""
    logits, targets, bonus = [], [], []
    for (start, end), drafts in zip(pairwise(s["cu"]), s["drafts"], strict=True):
        wanted = drafts + 1 if end > start else 0
        targets += range(len(logits), len(logits) + wanted - 1)
        logits += range(end - wanted, end)
        bonus.append(len(logits) - 1 if wanted else 0)
    return [row + [0] * (capacity - len(row)) for row in (logits, targets)], bonus


def test_substitution_is_theirs():
    carried = 0
    for seed in range(CASES):
        s = step(seed)
        lens = np.arange(100, 100 + B, dtype=np.int32)
        arrays = (s["ids"], lens, s["positions"], s["cu"], *s["state"][:2], s["rejected"], s["source"])
        new = substitute_spec_tokens(*map(jnp.array, arrays))
        for got, expected in zip(new, substituted(s, lens), strict=True):
            assert np.array_equal(got, expected), seed
        flat = substitute_spec_tokens(*map(jnp.array, (*arrays[:2], s["positions"][1], *arrays[3:])))
        assert np.array_equal(flat.positions, new.positions[1])
        carried += (s["source"] >= 0).sum()
    assert carried > 2 * CASES


def test_metadata_is_theirs():
    capacity = B * (K + 1) + 5
    for seed in range(CASES):
        s = step(seed)
        s["drafts"] = np.minimum(s["drafts"], np.maximum(s["lens"] - 1, 0))  # some steps were cut to the buffer
        arrays = map(jnp.array, (s["cu"], s["drafts"]))
        found = spec_metadata(*arrays, num_speculative_tokens=K, capacity=capacity)
        (logits, targets), bonus = metadata(s, capacity)
        assert found.final_logits_indices.tolist() == logits, seed
        assert found.target_logits_indices.tolist() == targets, seed
        assert found.bonus_logits_indices.tolist() == bonus, seed
        assert found.draft_lengths.tolist() == s["drafts"].tolist()


def test_a_smaller_bucket_cuts_off():
    found = spec_metadata(int32([0, 1, 5, 7]), int32([0, 3, 1]), num_speculative_tokens=3, capacity=3)
    assert found.final_logits_indices.tolist() == [0, 1, 2]
    assert found.target_logits_indices.tolist() == [1, 2, 3]


def test_compaction_is_theirs():
    for seed in range(CASES):
        s = step(seed)
        kept = compact_accepted(*map(jnp.array, (s["cu"], s["lost"])), capacity=T)
        ends = zip(pairwise(s["cu"]), s["lost"], strict=True)
        places = [place for (start, end), lost in ends for place in range(start, end - lost)]
        assert kept.token_indices.tolist() == places + [0] * (T - len(places)), seed
        assert kept.query_start_loc.tolist() == np.cumsum([0, *(s["lens"] - s["lost"])]).tolist()


@pytest.mark.parametrize("lost", [np.full(B, -3), np.full(B, 2**31 - 1), np.full(B, -(2**31))])
def test_no_count_of_rejections_leaves_the_buffer(lost):
    cu = int32(np.arange(B + 1) * 4)
    kept = compact_accepted(cu, int32(lost), capacity=2 * T)
    assert 0 <= int(kept.token_indices.min()) <= int(kept.token_indices.max()) < 4 * B


@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit], ids=["auto", "explicit"])
@pytest.mark.parametrize("ranks", [1, 4])
def test_their_layout_under_data_parallelism(ranks, axis_type):
    """`query_start_loc` is local to each rank, and all arrays are those of the ranks one behind the other."""
    steps = [step(seed) for seed in range(ranks)]
    lens = np.arange(100, 100 + B, dtype=np.int32)
    of_rank = [(s["ids"], lens, s["positions"], s["cu"], *s["state"][:2], s["rejected"], s["source"]) for s in steps]
    joined = [np.concatenate(arrays, axis=-1 if n == 2 else 0) for n, arrays in enumerate(zip(*of_rank, strict=True))]
    rows, columns = PartitionSpec("data"), PartitionSpec(None, "data")
    places = (rows, rows, columns, *[rows] * 5)
    mesh = jax.make_mesh((ranks,), ("data",), axis_types=(axis_type,))
    with jax.set_mesh(mesh):
        placed = [jax.device_put(a, jax.NamedSharding(mesh, place)) for a, place in zip(joined, places, strict=True)]
        sharded = jax.shard_map(
            substitute_spec_tokens, mesh=mesh, in_specs=places, out_specs=SubstitutedTokens._make(places[:3])
        )
        new = jax.device_get(jax.jit(sharded)(*placed))
    expected = zip(*(substituted(s, lens) for s in steps), strict=True)
    for n, (got, parts) in enumerate(zip(new, expected, strict=True)):
        assert np.array_equal(got, np.concatenate(parts, axis=-1 if n == 2 else 0))
