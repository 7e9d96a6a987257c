"""The tests that run on any implementation: `pytest --pyargs parity_tests.suite --impl NAME`."""
