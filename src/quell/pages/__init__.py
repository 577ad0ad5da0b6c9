"""Reports: one HTML file about a run, several runs, a study, or a comparison of models.

``door`` has the function for users. Each kind of page has a file (``run_page``, ``runs_page``,
``study_page``, ``comparison_page``) that collects plain data, each chart one that draws it as SVG,
and ``render`` puts them into the templates.
"""

from quell.pages.door import report

__all__ = ["report"]
