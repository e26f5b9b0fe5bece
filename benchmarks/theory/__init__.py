"""Experiments on the paper's theory: `python -m theory.NAME` here, `python -m theory` for all."""
