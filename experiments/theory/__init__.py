"""Experiments on the paper's theory: `python -m experiments.theory` runs all of them."""
