"""Mistakes in section 6: what verification makes of the target's answer."""

from parity_tests.meta.mutants._mutant import Mutant

_OUTPUT = "torch.where(column == run, next_token_ids[:, None], -1)"

_GREEDY = (
    Mutant(
        "compared-at-the-packed-place",
        "accept_greedy",
        "_verify.py",
        "take(sampled_token_ids, (indices.target_logits_indices,), -1)",
        "sampled_token_ids[: draft_token_ids.shape[0]]",
        "drafts have no bonus places in between, sampled tokens do: right in the first row",
    ),
    Mutant(
        "compared-one-late",
        "accept_greedy",
        "_verify.py",
        "take(sampled_token_ids, (indices.target_logits_indices,), -1)",
        "take(sampled_token_ids, (indices.target_logits_indices + 1,), -1)",
        "a draft is judged by the logit before it, not by its own",
    ),
    Mutant(
        "accepted-behind-a-rejection",
        "accept_greedy",
        "_verify.py",
        "kept.cumprod(1, dtype=torch.int32).sum(1, dtype=torch.int32)",
        "kept.sum(1, dtype=torch.int32)",
        "all matches counted instead of the leading run",
    ),
    Mutant(
        "bonus-counted",
        "accept_greedy",
        "_verify.py",
        "Acceptance(num_accepted, ",
        "Acceptance(num_accepted + (first_logits < indices.cu_num_logits[1:]), ",
        "vLLM, TensorRT-LLM and SGLang count the token that follows, ATOM does not",
    ),
    Mutant(
        "rejected-of-all-columns",
        "accept_greedy",
        "_verify.py",
        "counts - num_accepted, next_token_ids",
        'sizes["K"] - num_accepted, next_token_ids',
        "ATOM counts rejections against the full K, and corrects a shortened row elsewhere",
    ),
    Mutant(
        "padding-accepted",
        "accept_greedy",
        "_verify.py",
        " & (drafts >= 0)",
        "",
        "-1 drafted and -1 sampled are equal (rejected tokens are -1 in vLLM V1)",
    ),
    Mutant(
        "kept-after-rejection",
        "accept_greedy",
        "_verify.py",
        f"torch.where(column < run, drafts, {_OUTPUT})",
        "torch.where(column == run, next_token_ids[:, None], drafts)",
        "SGLang keeps the rejected drafts behind the token that corrects them",
    ),
    Mutant(
        "output-padded-with-zero",
        "accept_greedy",
        "_verify.py",
        _OUTPUT,
        "torch.where(column == run, next_token_ids[:, None], 0)",
        "token 0 is a token",
    ),
    Mutant(
        "count-of-64-bits",
        "accept_greedy",
        "_verify.py",
        ".sum(1, dtype=torch.int32)",
        ".sum(1)",
        "torch sums int32 in int64",
    ),
)

_SAMPLED = (
    Mutant(
        "neighbours-drafts",
        "accept_sampled",
        "_verify.py",
        "(indices.cu_num_draft_tokens - counts)[:, None] + column",
        "indices.cu_num_draft_tokens[:, None] + column",
        "the inclusive sum read as an exclusive one",
    ),
    Mutant(
        "drafts-as-a-block",
        "accept_sampled",
        "_verify.py",
        "(indices.cu_num_draft_tokens - counts)[:, None] + column",
        'torch.arange(sizes["B"]).int()[:, None] * sizes["K"] + column',
        "packed drafts read as [B, K]",
    ),
    Mutant(
        "run-into-the-neighbour",
        "accept_sampled",
        "_verify.py",
        " & (column < counts[:, None])",
        "",
        "a row with fewer drafts goes on with those of the next one",
    ),
    Mutant(
        "dropped-bonus",
        "accept_sampled",
        "_verify.py",
        _OUTPUT,
        "torch.where((column == run) & (run < counts[:, None]), next_token_ids[:, None], -1)",
        "when all drafts are accepted there is nothing to correct, but there is a token",
    ),
    Mutant(
        "always-the-bonus",
        "accept_sampled",
        "_verify.py",
        "take(sampled_token_ids, (first_logits + num_accepted,), -1)",
        "take(sampled_token_ids, (indices.bonus_logits_indices,), -1)",
        "the token after the last draft, whether or not that was accepted",
    ),
    Mutant(
        "always-the-first",
        "accept_sampled",
        "_verify.py",
        "take(sampled_token_ids, (first_logits + num_accepted,), -1)",
        "take(sampled_token_ids, (first_logits,), -1)",
        "right without speculation",
    ),
    Mutant(
        "sampled-as-a-block",
        "accept_sampled",
        "_verify.py",
        "(first_logits + num_accepted,)",
        '(torch.arange(sizes["B"]).int() * (sizes["K"] + 1) + num_accepted,)',
        "packed logits read as [B, K + 1]",
    ),
    Mutant(
        "empty-row-has-a-token",
        "accept_sampled",
        "_verify.py",
        "torch.where(indices.cu_num_logits[1:] > first_logits, following, -1)",
        "following",
        "a row without tokens emits the first token of the next one",
    ),
    Mutant(
        "sampler-not-asked",
        "accept_sampled",
        "_verify.py",
        "take(accepted, (place,), False) & ",
        "",
        "every draft that there is counts as accepted",
    ),
)

MUTANTS = (*_GREEDY, *_SAMPLED)
