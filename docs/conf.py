"""The documentation: Markdown pages and the docstrings of the public names; nothing from outside."""

from importlib.metadata import version as installed

project = "falai"
author = "The falai contributors"
copyright = "2026, The falai contributors"
version = release = installed("falai")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
root_doc = "index"

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
default_role = "code"

html_theme = "furo"
html_title = f"falai {version}"
html_show_sphinx = False
suppress_warnings = ["misc.highlighting_failure"]  # the rules show JSON with placeholders in it
