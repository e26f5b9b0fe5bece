"""All experiments on the theory: `python -m experiments.theory`.

With the argument ``again``, pages and pictures are made from the stored results.
"""

import runpy

from experiments.theory.page import NAMES

for name in NAMES:
    runpy.run_module(f"experiments.theory.{name}", run_name="__main__")
