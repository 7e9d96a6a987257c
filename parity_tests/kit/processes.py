"""How a process ended that was started to be judged, crashes included."""

import signal


def ended(status: int) -> str:
    """What a return code of `subprocess` means."""
    return f"died of {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"


def last_words(log: str) -> str:
    """The last line of what a process wrote that is no frame of a traceback; empty if it wrote nothing."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and not line.startswith(" ")]
    return lines[-1] if lines else ""
