"""A model in the loop: whatever is verified, in whatever order, the tokens are those of plain decoding."""
