"""Clean random tables in many ways, and compare with a plain reading of the rules.

    PYTHONPATH=tests python -m fuzz [--seconds 3600] [--seed 0] [--only NUMBER]

A difference is printed with the number of its case, which `--only` runs again. The exit status is
the number of cases that differ, at most 1.
"""

import argparse
import sys
import warnings
from collections import Counter
from time import monotonic

from fuzz.kinds import KINDS, draw
from fuzz.ways import check


def run(seconds, seed=0, numbers=None, show=print):
    """Return the differences, and how many fits there were of each kind of table.

    Every kind is drawn at least once, however long it takes.
    """
    warnings.simplefilter("ignore")
    start, told, fits, differences = monotonic(), monotonic(), Counter(), []
    number = 0
    least = len(numbers or KINDS)
    while number < least or (not numbers and monotonic() - start < seconds):
        case = numbers[number] if numbers else number
        name, *data = draw(seed, case)
        done, wrong = check(*data)
        fits[name] += done
        for way, sentence in wrong:
            differences.append(f"case {case} of seed {seed} ({name}), {way}: {sentence}")
            show(differences[-1])
        number += 1
        if monotonic() - told > 60:
            told = monotonic()
            show(f"{told - start:6.0f} s: {number} tables, {fits.total()} fits")
    return differences, fits


def main():
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="*")
    options = parser.parse_args()
    differences, fits = run(options.seconds, options.seed, options.only)
    print(f"{fits.total()} fits of tables of {len(fits)} of {len(KINDS)} kinds")
    print(f"{len(differences)} differences")
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
