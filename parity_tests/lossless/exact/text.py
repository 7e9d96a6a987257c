"""Real text that comes with Python, its documentation, as words and back."""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

_WORD = re.compile(r" ?\w+| ?[^\w\s]+|\s+")
# Enough for a vocabulary of a few thousand words; the topics are the chapters on statements and on classes.
_CHARACTERS = 400_000


class Text(NamedTuple):
    """A text in token ids."""

    words: tuple[str, ...]
    """The word of every id; that of 0 is empty."""
    ids: np.ndarray
    """int32, the text, every word at least once, 0 at its end."""


@cache
def documentation() -> Text:
    """The help texts of Python's `help()`, cut at a fixed length.

    >>> documentation().words[0], len(documentation().ids) > 50_000
    ('', True)
    """
    from pydoc_data.topics import topics

    whole = "\n".join(topics[name] for name in sorted(topics))[:_CHARACTERS]
    return tokenize(whole)


def tokenize(text: str) -> Text:
    """The words of a text with the space in front of each, their ids in order of appearance, 0 for its end.

    >>> tokenize("to be, or not to be").words
    ('', 'to', ' be', ',', ' or', ' not', ' to')
    >>> tokenize("to be, or not to be").ids.tolist()
    [1, 2, 3, 4, 5, 6, 2, 0]
    """
    found = _WORD.findall(text)
    ids = {word: number for number, word in enumerate(dict.fromkeys(found), start=1)}
    return Text(("", *ids), np.array([*(ids[word] for word in found), 0], np.int32))


def text_of(words: Sequence[str], ids: Sequence[int]) -> str:
    """The text that ids stand for.

    >>> text_of(("", "to", " be"), [1, 2])
    'to be'
    """
    return "".join(words[i] if 0 <= i < len(words) else f"<{i}>" for i in ids)


def prompts(text: Text, count: int, seed: int) -> list[list[int]]:
    """Pieces of the text of 3 to 40 words, each from the beginning of a sentence.

    >>> len(prompts(documentation(), 4, seed=0))
    4
    """
    rng = np.random.default_rng(seed)
    starts = [place for place, word in enumerate(text.ids[:-40]) if text.words[word][:1].isupper()]
    chosen = rng.choice(starts, count)
    lengths = rng.integers(3, 40, count, endpoint=True)
    return [text.ids[start : start + length].tolist() for start, length in zip(chosen, lengths, strict=True)]
