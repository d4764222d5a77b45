"""Adapt README.md for the package index: relative links and pictures become absolute. Hatchling calls this during a
build."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


def absolute(text: str, repository: str) -> str:
    """Return the text with absolute links: `](docs/x.md)` points to the repository's main branch, and pictures
    `![…](docs/images/x.png)` to the files themselves."""
    raw = f"{repository.replace('https://github.com', 'https://raw.githubusercontent.com')}/main"
    text = re.sub(r"(!\[[^\]]*\]\()(?!https?:|#|data:)", rf"\g<1>{raw}/", text)
    return re.sub(
        r"((?<!!)\[(?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*\]\()(?!https?:|#|mailto:)",
        rf"\g<1>{repository}/blob/main/",
        text,
    )


class Readme(MetadataHookInterface):
    """The build hook named `[tool.hatch.metadata.hooks.custom]` in pyproject.toml."""

    def update(self, metadata: dict) -> None:
        """Set the project's readme."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(text, metadata["urls"]["Repository"]),
        }
