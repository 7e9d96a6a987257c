"""The proof that implementations of the ragged speculative step agree: `python -m parity_tests`."""
