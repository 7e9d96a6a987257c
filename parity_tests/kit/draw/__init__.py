"""Random cases from a seed: values are drawn freely, shapes come from a short list, as each costs a compilation."""

from parity_tests.kit.draw._case import draw as draw
from parity_tests.kit.draw._case import draw_wild as draw_wild
from parity_tests.kit.draw._shapes import SHAPES as SHAPES
