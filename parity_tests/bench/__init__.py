"""How long it takes: every operation and the whole step, beside torch, NumPy and a call that does nothing."""
