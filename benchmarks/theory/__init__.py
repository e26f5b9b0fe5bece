"""Experiments on the paper's theory, one file a statement: `python -m theory.NAME` here, or all."""
