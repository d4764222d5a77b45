"""Stands for the module `time` in course code: a clock that goes on by one second per look."""

now = 0.0


def time():
    """Seconds."""
    global now
    now += 1.0
    return now
