"""The target, which reads five words through the cache, and the drafter, which reads two."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from parity_tests.lossless import pages
from parity_tests.lossless.exact.tables import Chain, Order, Tables, tables_of
from parity_tests.lossless.exact.text import Text, text_of
from parity_tests.lossless.frameworks import Framework
from parity_tests.lossless.model import Batch, Model, Sizes


class _Setting(NamedTuple):
    framework: Framework
    vocab_size: int
    sizes: Sizes


def exact_model(framework: Framework, text: Text, sizes: Sizes) -> Model:
    """The model of a text in a framework.

    The target's choice behind the last three words is a word that followed them somewhere in the text; which one is
    picked by its position, by those words, and by two far back, as in attention: one position further, or a page of
    another request, is another text. The drafter takes the most frequent follower of the last two words, and its share
    as confidence.
    """
    setting = _Setting(framework, len(text.words), sizes)
    orders, chains = tables_of(text.ids, len(text.words))
    one, two, three = (Order(*map(framework.put, order)) for order in orders)
    first, second = (Chain(*map(framework.put, chain)) for chain in chains)
    return Model(
        "exact",
        Tables((one, two, three), (first, second)),
        partial(pages.empty, framework),
        partial(_forward, setting),
        partial(_draft, setting),
        partial(text_of, text.words),
    )


def _forward(setting: _Setting, parameters: Tables, cache: Any, batch: Batch) -> tuple[Any, Any]:
    """The target's choice at every packed logit that verification asked for, -1 at all others."""
    (framework, _, sizes), xp, inputs = setting, setting.framework.xp, batch.inputs
    cache = pages.store(framework, cache, batch)
    place = xp.clip(inputs.verify.logits_indices, 0, sizes.capacity - 1)
    row = xp.clip(batch.rows.row[place], 0, sizes.rows - 1)
    # As in attention, what a token may see is told from the end of its sequence; its own position is said apart.
    end = inputs.seq_lens[row] - (batch.cu_seqlens_q[row + 1] - place)
    context = end * 0, end // 2, end - 2, end - 1, end
    words = [pages.read(framework, cache, batch, row, position, sizes.block_size) for position in context]
    picked = inputs.positions[place] * 7919
    for factor, word in zip((13, 7, 31, 17, 1), words, strict=True):
        picked = picked + factor * word
    chosen = _choice(setting, parameters.orders, words[2:], picked)
    sampled = xp.zeros_like(chosen) - 1
    for wanted in (inputs.verify.target_logits_indices, inputs.verify.bonus_logits_indices):
        sampled = framework.write(sampled, wanted, chosen[xp.clip(wanted, 0, chosen.shape[0] - 1)])
    return cache, sampled


def _choice(setting: _Setting, orders: Sequence[Order], words: list[Any], picked: Any) -> Any:
    """The follower that was picked of the longest context that the text knows."""
    xp = setting.framework.xp
    chosen = xp.zeros_like(picked)
    for length, order in enumerate(orders, start=1):
        number, known = _number(setting, orders, words[-length:])
        first, last = order.starts[number], order.starts[number + 1]
        chosen = xp.where(known, order.followers[first + picked % (last - first)], chosen)
    return chosen


def _draft(setting: _Setting, parameters: Tables, cache: Any, batch: Batch, result: Any) -> tuple[Any, Any]:
    """K words behind the new anchor, and how sure each is if those in front of it are right."""
    (framework, vocab_size, sizes), xp = setting, setting.framework.xp
    place = xp.clip(result.last_token_indices, 0, sizes.capacity - 1)
    row, position = batch.rows.row[place], batch.inputs.positions[place]
    older = pages.read(framework, cache, batch, row, position, sizes.block_size)
    newest, drafts, shares = xp.clip(result.acceptance.next_token_ids, 0, vocab_size - 1), [], []
    pair, known = _number(setting, parameters.orders, [older, newest])
    one, two = parameters.chains
    # One more than are wanted, so that there is something to stack where none are.
    for _ in range(sizes.drafts + 1):
        drafts.append(xp.where(known, two.best[pair], one.best[newest]))
        shares.append(xp.where(known, two.share[pair], one.share[newest]))
        pair = xp.where(known, two.pair[pair], one.pair[newest])
        known = pair >= 0
    return xp.stack(drafts, 1)[:, : sizes.drafts], xp.stack(shares, 1)[:, : sizes.drafts]


def _number(setting: _Setting, orders: Sequence[Order], words: list[Any]) -> tuple[Any, Any]:
    """The number of the context of these words, and whether the text has it."""
    (framework, vocab_size, _), xp = setting, setting.framework.xp
    number, *rest = (xp.clip(word, 0, vocab_size - 1) for word in words)
    known = number >= 0
    for order, word in zip(orders[1:], rest, strict=False):
        wanted = number * vocab_size + word
        number = xp.clip(framework.search(order.keys, wanted), 0, order.keys.shape[0] - 1)
        known = known & (order.keys[number] == wanted)
    return number, known
