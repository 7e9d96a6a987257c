"""Random cases from a seed: values are drawn freely, shapes come from a short list, as each costs a compilation."""

from parity_tests.kit.draw._case import draw as draw
from parity_tests.kit.draw._case import draw_many as draw_many
from parity_tests.kit.draw._case import draw_wild as draw_wild
from parity_tests.kit.draw._rows import Rows as Rows
from parity_tests.kit.draw._rows import draw_rows as draw_rows
from parity_tests.kit.draw._shapes import SHAPES as SHAPES
from parity_tests.kit.draw._values import Source as Source
from parity_tests.kit.draw._values import draft_token_ids as draft_token_ids
from parity_tests.kit.draw._values import draw_source as draw_source
