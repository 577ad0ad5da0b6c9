"""How the documentation is built: ``make docs``."""

import os
from pathlib import Path

from quell.version import __version__ as release

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in the Makefile; pages that are run inherit it

project = "Quell"
author = "The Quell developers"
copyright = "the Quell developers"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "tutorials/runs"]
templates_path = ["_templates"]

# Formulas are plain text: the site is read without a network, where MathJax is not to be had.
# Pages are Markdown that can also be read where the code is kept. Those in tutorials/ are run.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300  # seconds for a cell, on a busy machine
nb_merge_streams = True
nb_render_markdown_format = "myst"

# Reference pages are made from docstrings.
autosummary_generate = True
autodoc_typehints = "none"  # they are in the signature of the docstring's words
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": False}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
add_module_names = False
python_use_unqualified_type_names = True
default_role = "code"  # `names` in docstrings

html_theme = "furo"
html_title = f"Quell {release}"
html_static_path = ["_static"]
html_css_files = ["quell.css"]
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1f5f8b",
        "color-brand-content": "#1f5f8b",
        "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7fb8de",
        "color-brand-content": "#7fb8de",
    },
    "top_of_page_buttons": [],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

#: Pages that a checkout may not have: they are in the contents where they exist.
OPTIONAL = ("watch", "report", "command-line")


def leave_out_missing(_app, page, source):
    """Take optional pages that are not there out of the contents."""
    if page == "index":
        missing = {name for name in OPTIONAL if not (Path(__file__).parent / f"{name}.md").exists()}
        source[0] = "\n".join(line for line in source[0].split("\n") if line not in missing)


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", leave_out_missing)
