"""Mistakes in section 5: indices and ids that leave what they index."""

from parity_tests.meta.mutants._mutant import Mutant

_INDICES = (
    Mutant(
        "bound-of-nothing",
        "token_index_bound",
        "_bounds.py",
        "cu_seqlens_q[-1].clamp(min=1) - 1",
        "cu_seqlens_q[-1] - 1",
        "-1 in an empty step, which is the last token to whoever indexes with it",
    ),
    Mutant(
        "total-as-bound",
        "token_index_bound",
        "_bounds.py",
        "cu_seqlens_q[-1].clamp(min=1) - 1",
        "cu_seqlens_q[-1] * 1",
        "off by one: the total is the first illegal position",
    ),
    Mutant(
        "bound-of-rank-one",
        "token_index_bound",
        "_bounds.py",
        "cu_seqlens_q[-1].clamp(min=1) - 1",
        "cu_seqlens_q[-1:].clamp(min=1) - 1",
        "it broadcasts, so nobody notices until something is stacked",
    ),
    Mutant(
        "clip-to-minus-one",
        "clamp_token_indices",
        "_bounds.py",
        "torch.minimum(token_indices.clamp(min=0), token_index_bound(cu_seqlens_q))",
        "token_indices.clamp(torch.zeros_like(cu_seqlens_q[-1]), cu_seqlens_q[-1] - 1)",
        "clip(x, 0, -1) is -1: the upper bound wins",
    ),
    Mutant(
        "no-lower-bound",
        "clamp_token_indices",
        "_bounds.py",
        "torch.minimum(token_indices.clamp(min=0), ",
        "torch.minimum(token_indices, ",
        "all drafts of the first row rejected, and more, points in front of the buffer",
    ),
    Mutant(
        "no-upper-bound",
        "clamp_token_indices",
        "_bounds.py",
        "torch.minimum(token_indices.clamp(min=0), token_index_bound(cu_seqlens_q))",
        "token_indices.clamp(min=0)",
        "a padded row points behind the real tokens",
    ),
    Mutant(
        "indices-from-one",
        "clamp_token_indices",
        "_bounds.py",
        "torch.minimum(token_indices.clamp(min=0), ",
        "torch.minimum(token_indices.clamp(min=1) - 1, ",
        "counts taken for positions: every clamp moves the index once more",
    ),
    Mutant(
        "clamped-in-place",
        "clamp_token_indices",
        "_bounds.py",
        "token_indices.clamp(min=0)",
        "token_indices.clamp_(min=0)",
        "one letter, and the caller's array is another one",
    ),
)

_LAST = (
    Mutant(
        "per-row-clamp",
        "last_token_indices",
        "_bounds.py",
        "cu_seqlens_q[1:] - offsets, cu_seqlens_q)",
        "torch.maximum(cu_seqlens_q[1:] - offsets, cu_seqlens_q[:-1]), cu_seqlens_q)",
        "the bound is global; a stricter one is another result than upstream's",
    ),
    Mutant(
        "offset-counts-from-zero",
        "last_token_indices",
        "_bounds.py",
        "cu_seqlens_q[1:] - offsets, cu_seqlens_q)",
        "cu_seqlens_q[1:] - offsets - 1, cu_seqlens_q)",
        "off by one: 1 is the last token of a row",
    ),
    Mutant(
        "offset-from-the-head",
        "last_token_indices",
        "_bounds.py",
        "cu_seqlens_q[1:] - offsets, cu_seqlens_q)",
        "cu_seqlens_q[:-1] + offsets - 1, cu_seqlens_q)",
        "start + accepted is the same place, start + rejected is not",
    ),
    Mutant(
        "last-token-not-clamped",
        "last_token_indices",
        "_bounds.py",
        "clamp_token_indices(cu_seqlens_q[1:] - offsets, cu_seqlens_q)",
        "cu_seqlens_q[1:] - offsets",
        "vLLM's padded form has no clamp: a padded row in an empty step gives -1",
    ),
    Mutant(
        "no-scalar-offset",
        "last_token_indices",
        "_bounds.py",
        'shape = "" if is_scalar else "B"',
        'shape = "B"',
        "a block drafter has one offset for all rows",
    ),
)

_IDS = (
    Mutant(
        "vocabulary-one-too-large",
        "clamp_token_ids",
        "_bounds.py",
        "token_ids.clamp(0, vocab_size - 1)",
        "token_ids.clamp(0, min(vocab_size, 2**31 - 1))",
        "one row behind the embedding table",
    ),
    Mutant(
        "minus-one-kept",
        "clamp_token_ids",
        "_bounds.py",
        "token_ids.clamp(0, vocab_size - 1)",
        "token_ids.clamp(max=vocab_size - 1)",
        "the one id that does turn up outside the vocabulary",
    ),
    Mutant(
        "ids-modulo",
        "clamp_token_ids",
        "_bounds.py",
        "token_ids.clamp(0, vocab_size - 1)",
        "token_ids % vocab_size",
        "inside the table too, but -1 is then its last row",
    ),
    Mutant(
        "large-ids-to-zero",
        "clamp_token_ids",
        "_bounds.py",
        "token_ids.clamp(0, vocab_size - 1)",
        "torch.where(token_ids < vocab_size, token_ids, 0).clamp(min=0)",
        "another seat belt than the one that was agreed upon",
    ),
    Mutant(
        "empty-vocabulary",
        "clamp_token_ids",
        "_bounds.py",
        'check_static("vocab_size", vocab_size, 1)',
        'check_static("vocab_size", vocab_size, 0)',
        "the clamp to -1 by another door",
        tolerated=True,
    ),
)

MUTANTS = (*_INDICES, *_LAST, *_IDS)
