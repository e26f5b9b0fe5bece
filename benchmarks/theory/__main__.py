"""All experiments on the theory, one after another: `python -m theory`."""

import runpy

from theory.page import NAMES

for name in NAMES:
    runpy.run_module(f"theory.{name}", run_name="__main__")
