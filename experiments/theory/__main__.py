"""All experiments on the theory, one after another: `python -m experiments.theory`."""

import runpy

from experiments.theory.page import NAMES

for name in NAMES:
    runpy.run_module(f"experiments.theory.{name}", run_name="__main__")
