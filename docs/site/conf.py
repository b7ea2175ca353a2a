"""Sphinx for the site, run by scripts/docs over the pages that stage.py lays out."""

import os

project = "Espalier"
author = "the Espalier authors"
copyright = "2026, the Espalier authors"  # noqa: A001 - Sphinx calls it so
version = release = os.environ["ESPALIER_VERSION"]

extensions = ["breathe", "myst_nb"]
root_doc = "index"
language = "en"
nitpicky = False
# Overloads that only a requires clause tells apart are one declaration to Sphinx.
suppress_warnings = ["duplicate_declaration.cpp"]

breathe_projects = {"espalier": os.environ["ESPALIER_DOXYGEN_XML"]}
breathe_default_project = "espalier"
breathe_default_members = ("members",)

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "attrs_inline"]
# Tutorials run where the Python package is installed; scripts/docs says so where it is not.
notebook_packages = os.environ["ESPALIER_NOTEBOOKS"]
nb_execution_mode = "force" if notebook_packages else "off"
os.environ["PYTHONPATH"] = notebook_packages  # of the kernels that Sphinx starts
if not os.path.isdir(os.path.join(notebook_packages, "ray")):  # scripts/docs says so, too
    nb_execution_excludepatterns = ["docs/tutorials/cluster.md"]
nb_execution_raise_on_error = True
nb_execution_timeout = 600  # a cell may start Ray, beside a compiler
nb_merge_streams = True
highlight_language = "none"
pygments_style = "default"

html_theme = "pydata_sphinx_theme"
html_title = "Espalier"
html_favicon = "_static/icon.svg"
html_static_path = ["_static"]
html_css_files = ["espalier.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "Espalier", "image_light": "_static/icon.svg", "image_dark": "_static/icon-dark.svg"},
    "navbar_align": "left",
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "search_bar_text": "Search the pages",
    "search_as_you_type": False,
}
html_context = {"default_mode": "auto"}
