"""Prints how much of PyTorch's transcript is equal."""

from collections import Counter


def pytest_terminal_summary(terminalreporter):
    from conformance import differing, golden

    listed = Counter(kind for kind, _ in differing.read().values())
    counts = ", ".join(f"{listed[kind]} {kind}" for kind in differing.KINDS)
    terminalreporter.write_line(
        f"PyTorch's transcript: {len(golden.CELLS) - listed.total()} of {len(golden.CELLS)} cells required equal; "
        f"listed in tests/conformance/differing.toml: {listed.total()} ({counts})"
    )
