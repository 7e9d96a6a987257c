"""The step in the names of serving engines that run on torch, one module an engine."""
