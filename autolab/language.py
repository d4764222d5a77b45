"""The kit's words in the learner's language: `translate("Predict")`. A translation is one file of autolab/strings/.

A file maps English texts to translated ones. AUTOLAB_LANGUAGE names it: "de" for autolab/strings/de.json, or the path
of a file that ends in `.json`. A text that the file lacks stays English. `en.json` lists all texts, ready to be copied.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

STRINGS = Path(__file__).with_name("strings")


def translate(text: str, **values: Any) -> str:
    """Return a text in the learner's language, with the values at the places that it names in braces.

    Example:

        >>> from autolab.language import translate
        >>> translate("You predicted {answer}", answer=6)
        'You predicted 6'
    """
    known = _catalogue(os.environ.get("AUTOLAB_LANGUAGE", "en"))
    return (known.get(text) or text).format(**values)


@cache
def _catalogue(name: str) -> dict[str, str]:
    """Return a translation, {} if there is none of that name."""
    path = Path(name) if name.endswith(".json") else STRINGS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
