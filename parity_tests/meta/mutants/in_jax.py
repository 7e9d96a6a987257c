"""Mistakes that JAX invites, in a copy of the other package."""

from parity_tests.meta.mutants._mutant import Mutant


def _in_jax(name: str, operation: str, file: str, old: str, new: str, story: str) -> Mutant:
    return Mutant(name, operation, file, old, new, story, package="jax_spec")


MUTANTS = (
    _in_jax(
        "jax-repeat-fills-with-the-last-row",
        "token_rows",
        "_layout.py",
        "    valid = row < cu_seqlens_q.size - 1\n",
        "    rows = jnp.arange(cu_seqlens_q.size - 1)\n"
        "    row = jnp.repeat(rows, row_lens(cu_seqlens_q), total_repeat_length=capacity)\n"
        "    valid = row < rows.size\n",
        "the tail of `total_repeat_length` belongs to the last row",
    ),
    _in_jax(
        "jax-left-side-search",
        "token_rows",
        "_spans.py",
        ".at[ends].add(1",
        ".at[ends + 1].add(1",
        "a row keeps the position behind its end",
    ),
    _in_jax(
        "jax-rectangular-scatter",
        "assemble_input_ids",
        "_spans.py",
        "jnp.where(place < ends[:, None], place, capacity)",
        "place",
        "every row writes all its columns, over its neighbours",
    ),
    _in_jax(
        "jax-stride-of-the-wrong-k",
        "overlay_input_ids",
        "_assemble.py",
        "source_rows * width",
        "source_rows * (width - 1)",
        "anchor and drafts are K + 1 columns",
    ),
    _in_jax(
        "jax-stale-tail",
        "overlay_input_ids",
        "_assemble.py",
        "jnp.where(first >= 0, carried, jnp.where(rows.valid, input_ids, 0))",
        "jnp.where(first >= 0, carried, input_ids)",
        "what the longer step before left in the buffer",
    ),
    _in_jax(
        "jax-gather-wraps",
        "overlay_rows",
        "_assemble.py",
        "    return jnp.where(is_row_of(table, source_rows), value, staged)",
        '    return table.at[source_rows].get(mode="clip")',
        "the mode clips what is too large; -1 is the last row",
    ),
    _in_jax(
        "jax-clip-to-minus-one",
        "clamp_token_indices",
        "_bounds.py",
        "jnp.maximum(cu_seqlens_q[-1], 1) - 1",
        "cu_seqlens_q[-1] - 1",
        "clip(x, 0, -1) is -1",
    ),
    _in_jax(
        "jax-accepted-behind-a-rejection",
        "accept_greedy",
        "_verify.py",
        " & (run == column)",
        "",
        "all matches counted instead of the leading run",
    ),
    _in_jax(
        "jax-last-place-of-the-buffer",
        "gather_draft_token_ids",
        "_verify.py",
        " & (position < input_ids.size)",
        "",
        "the gather clamps, and its result is used",
    ),
    _in_jax(
        "jax-remainder-of-c",
        "slot_mapping",
        "_positions.py",
        "rows.valid & (positions >= 0)",
        "rows.valid",
        "`lax.div` and `lax.rem` round to zero: a negative position finds a page",
    ),
    _in_jax(
        "jax-scatter-wraps",
        "commit_step",
        "_spans.py",
        'set(values, mode="drop", wrap_negative_indices=False)',
        'set(values, mode="drop")',
        "drop drops what is too large; -1 is the last slot",
    ),
    _in_jax(
        "jax-chunk-of-one-token",
        "commit_step",
        "_step.py",
        "computed = inputs.num_computed_tokens + lens - acceptance.num_rejected",
        "computed = inputs.num_computed_tokens + acceptance.num_accepted + 1",
        "right for every decode row",
    ),
    _in_jax(
        "jax-plain-form-donates",
        "store_drafts",
        "_step.py",
        "@operation()\ndef store_drafts(",
        '@operation(donates="state")\ndef store_drafts(',
        "the caller's state is gone",
    ),
    _in_jax(
        "jax-survival-by-scan",
        "schedule_verify_lens",
        "_schedule.py",
        "_products(confidence) * unit",
        "jnp.exp2(jnp.cumsum(jnp.log2(jnp.pad(jnp.clip(jnp.nan_to_num(confidence), 0, 1), ((0, 0), (1, 0)), "
        "constant_values=1)), axis=1)) * unit",
        "a product is a sum of logarithms",
    ),
    _in_jax(
        "jax-ties-column-by-column",
        "schedule_verify_lens",
        "_schedule.py",
        "row * (columns + 1) + column",
        "column * rows + row",
        "drafts lie in memory as the drafter made them, one after the other",
    ),
    _in_jax(
        "jax-gain-by-difference",
        "schedule_verify_lens",
        "_schedule.py",
        "useless = after <= before",
        "useless = after - before <= 0",
        "a multiply and a subtraction become one instruction, which does not round in between",
    ),
    _in_jax(
        "jax-unbounded-in-bounds",
        "bound_query_lens",
        "_schedule.py",
        "jnp.where(scheduled_lens < 0, lens, jnp.minimum(lens, scheduled_lens))",
        "jnp.clip(lens, 0, scheduled_lens)",
        "-1 is the upper bound, which wins",
    ),
)
