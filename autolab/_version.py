"""The version, in one place: `pyproject.toml` and `autolab --version` read it here."""

__version__ = "0.1.0"
