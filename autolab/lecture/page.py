"""Export a notebook as one page that needs no network, with nbconvert: `jupyter nbconvert --to
autolab notebook.ipynb`.

This is nbconvert's `--to html` with three differences: formulas are MathML instead of MathJax from
a server, pictures are stored in the page, and a widget is shown as the picture that is stored
beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from .markdown import mathml, picture

TEMPLATE = """{% extends 'lab/index.html.j2' %}
{% block html_head_js %}{% endblock %}
{% block jupyter_widgets %}{% endblock %}
{% block html_head_js_mathjax %}<style>
math[display="block"] { margin: 0.8em 0 }
.jp-OutputArea-output img { max-width: 100%; height: auto }
</style>{% endblock %}
{% block html_head_js_mermaidjs %}{% endblock %}
{% block data_svg scoped %}<div class="jp-RenderedSVG jp-OutputArea-output">
<img alt="{{ output.data['text/plain'] | e }}"
 src="data:image/svg+xml;base64,{{ output.data['image/svg+xml'] | text_base64 }}">
</div>{% endblock %}
{% block data_latex scoped %}<p class="jp-OutputArea-output">{{ output.data['text/latex'] | formula }}</p>{% endblock %}
"""


class _Renderer(IPythonRenderer):
    """nbconvert's renderer with formulas as MathML."""

    def inline_math(self, body: str) -> str:
        return mathml(body)

    def block_math(self, body: str) -> str:
        return mathml(body, "block")

    def latex_environment(self, name: str, body: str) -> str:
        return mathml(rf"\begin{{{name}}}{body}\end{{{name}}}", "block")

    def _src_to_base64(self, src: str) -> str | None:
        """Return a picture in the notebook's folder. nbconvert's own function follows links out of
        the folder and reads any file."""
        return picture(Path(self.path or "."), src) or None


class Page(HTMLExporter):
    """The nbconvert exporter `autolab`."""

    export_from_notebook = "HTML without a network"

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"raw_template": TEMPLATE, "embed_images": True} | options)
        self.register_filter(
            "formula", lambda text: mathml("".join(text).strip().strip("$"), "block")
        )

    @property
    def default_config(self) -> Any:
        """Return nbconvert's settings without live widgets, whose scripts would come from a server."""
        config = super().default_config
        kinds = config.NbConvertBase.display_data_priority
        config.NbConvertBase.display_data_priority = [
            kind for kind in kinds if "widget" not in kind
        ]
        return config

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """Return a Markdown cell as HTML; a filter of nbconvert's templates."""
        renderer = _Renderer(
            escape=False,
            attachments=context.get("cell", {}).get("attachments", {}),
            embed_images=self.embed_images,
            path=context.get("resources", {}).get("metadata", {}).get("path", ""),
            anchor_link_text=self.anchor_link_text,
            exclude_anchor_links=self.exclude_anchor_links,
        )
        return MarkdownWithMath(renderer=renderer).render(source)
