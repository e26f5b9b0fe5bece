"""The report of an experiment: a page, the same as Markdown, its figures, tables for LaTeX."""

from rectifold.bench.report._build import Published, build_document, write_document, write_report

__all__ = ["Published", "build_document", "write_document", "write_report"]
