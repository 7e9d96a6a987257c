"""Compilation of the public operations for AMD GPUs that are not there, held to a budget of launches."""
