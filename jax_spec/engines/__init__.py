"""The step in the names of serving engines that run on JAX, one module an engine."""
