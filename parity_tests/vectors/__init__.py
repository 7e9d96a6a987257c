"""Golden vectors: one JSON file per operation, written by `python -m parity_tests vectors`."""
