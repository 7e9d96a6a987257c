"""Tokens as text."""

from collections.abc import Sequence


def decode(tokens: Sequence[str], ids: Sequence[int]) -> str:
    """The text of some tokens; what is cut off within a character shows as a replacement mark."""
    byte = {letter: number for number, letter in enumerate(_letters())}
    return bytes(byte[letter] for token_id in ids for letter in tokens[token_id]).decode("utf-8", errors="replace")


def _letters() -> list[str]:
    """The letter that stands for each byte in a byte-level vocabulary: itself if it can be seen, else one above 255."""
    shown = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    letters, hidden = [], 256
    for number in range(256):
        letters.append(chr(number if number in shown else hidden))
        hidden += number not in shown
    return letters
