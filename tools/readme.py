"""README.md as the package index shows it: relative links and pictures become absolute ones. Hatchling calls this while
it builds."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


def absolute(text: str, repository: str) -> str:
    """Links `](docs/x.md)` point to the repository's main branch, pictures `![…](docs/images/x.png)` to the file
    itself."""
    raw = f"{repository.replace('https://github.com', 'https://raw.githubusercontent.com')}/main"
    text = re.sub(r"(!\[[^\]]*\]\()(?!https?:|#|data:)", rf"\g<1>{raw}/", text)
    return re.sub(
        r"((?<!!)\[(?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*\]\()(?!https?:|#|mailto:)",
        rf"\g<1>{repository}/blob/main/",
        text,
    )


class Readme(MetadataHookInterface):
    """`[tool.hatch.metadata.hooks.custom]` in pyproject.toml."""

    def update(self, metadata: dict) -> None:
        """Sets the project's readme."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(text, metadata["urls"]["Repository"]),
        }
