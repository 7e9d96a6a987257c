"""A real language model in the loop: SmolLM2-135M-Instruct in float32, with a paged cache."""
