"""What the commands of experiments on the harness share."""

import sys
from collections.abc import Callable, Iterable
from typing import Any

from rectifold.bench import Grid, Store, run
from rectifold.cli.bench_output import Display, show_end
from rectifold.cli.errors import sentence_of


def run_grids(grids: Iterable[Grid], store: Store, **settings: Any) -> None:
    """Run grids one after another, and show their progress; `settings` are those of `run`."""
    for grid in grids:
        with Display(True) as display:
            progress = run(grid, store, callback=display.update, **settings)
        show_end(progress, store)


def exit_status(program: str, command: Callable[[], None]) -> int:
    """Call a command; return 2 if its arguments can't be used, and 130 after Ctrl-C."""
    try:
        command()
    except ValueError as error:
        print(f"{program}: {sentence_of(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; the same command resumes", file=sys.stderr)
        return 130
    return 0
