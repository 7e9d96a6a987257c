"""The search at full size: whole batches of random cases through each framework's `vmap`, against the reference."""

from parity_tests.kit.bulk._search import Found as Found
from parity_tests.kit.bulk._search import search as search
from parity_tests.kit.bulk._vmapped import VMAPPED as VMAPPED
