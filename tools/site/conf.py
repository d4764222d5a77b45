"""The settings with which Sphinx builds the site (tools/site/build.py)."""

import re
import sys
import tomllib
from pathlib import Path

from latex2mathml.converter import convert

import autolab

project, author, release = "autolab", "The autolab authors", autolab.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.intersphinx"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
maximum_signature_line_length = 80
# other projects can link here with objects.inv; the build itself fetches nothing
intersphinx_mapping = {}
exclude_patterns = ["_static"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["ref.python", "myst.header", "misc.highlighting_failure", "toc.not_included"]
highlight_language = "default"  # distinguishes examples with >>> from programs
html_theme = "pydata_sphinx_theme"
html_title = f"autolab {autolab.__version__}"
html_favicon = "_static/favicon.svg"
html_baseurl = ""
DESCRIPTION = "Watch loss.backward() happen: a teaching kit for automatic differentiation with a visual graph explorer."
myst_html_meta = {"description": DESCRIPTION}
html_static_path = ["_static"]
html_css_files, html_js_files = ["site.css"], [("site.js", {"defer": "defer"})]
html_copy_source = html_show_sourcelink = False
html_show_search_summary = (
    # the summary would be fetched, which browsers refuse for pages from a disk, and then no result is shown
    False
)
html_math_renderer = "mathml"
html_sidebars = {"course/[0-9]*": [], "course/more/*": [], "index": []}  # explorers need the width
html_context = {"default_mode": "auto"}
REPOSITORY = tomllib.loads(
    Path(autolab.__file__).resolve().parents[1].joinpath("pyproject.toml").read_text()
)["project"]["urls"]["Repository"]
html_theme_options = {
    "navbar_align": "left", "header_links_before_dropdown": 6, "show_prev_next": True, "navigation_with_keys": False,
    "icon_links": [{"name": "Repository", "url": REPOSITORY, "icon": "fa-brands fa-github"}],
    "secondary_sidebar_items": {page: ["page-toc"] for page in ("docs/*", "course/**", "CONTRIBUTING", "ARCHITECTURE")},
    "footer_start": ["copyright"], "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light", "pygments_dark_style": "a11y-high-contrast-dark",
}  # fmt: skip
copyright = "The autolab authors, BSD-3-Clause"


def _inline(self, node):
    self.body.append(_mathml(node.astext(), "inline"))
    raise _skip()


def _block(self, node):
    self.body.append(
        f'<div class="formula" tabindex="0" role="group" aria-label="Formula">{_mathml(node.astext(), "block")}</div>'
    )
    raise _skip()


def _skip():
    from docutils.nodes import SkipNode

    return SkipNode()


def _mathml(tex, display):
    """Return a formula as MathML, or as it was written if the converter does not know it."""
    from html import escape

    try:
        return convert(tex, display=display)
    except Exception:  # the converter raises many kinds of errors
        return f"<code>{escape(tex)}</code>"


def _mark_signatures(app, page, template, context, doctree):
    """Tell screen readers that Sphinx uses a definition list without terms only to indent parameters."""
    if "body" in context:
        context["body"] = re.sub(r"<dl>(?=\s*<dd>)", '<dl role="presentation">', context["body"])


def setup(app):
    sys.path.insert(0, str(Path(autolab.__file__).resolve().parents[1] / "tools" / "site"))
    import api

    api.connect(app)
    app.connect("html-page-context", _mark_signatures)
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    assert Path(app.srcdir, "index.md").exists(), "tools/site/build.py writes the sources"
