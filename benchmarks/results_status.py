"""List the results whose code has changed since they were measured.

    python benchmarks/results_status.py
    python benchmarks/results_status.py record NAME ... [--at COMMIT]

`record` notes in results/measured.json that results were measured with the present code, or with
that of a commit: the commit, and a fingerprint of the source files that the result depends on,
without comments, docstrings and blank lines. `make bench-...` does so for results that one run
makes; of a store that was filled by several, name the commit of the oldest. The exit status is 0,
also if results are stale.
"""

import argparse
import ast
import hashlib
import io
import json
import subprocess
import tokenize
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from rectifold._io import write_whole

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "results" / "measured.json"

#: Source files below src/rectifold by what they decide.
RULES = ("_core/votes.py", "_core/rules.py", "_core/summation.py", "sampler.py")
SEARCH = (
    *(*RULES, "_core/pipeline.py", "_core/space.py", "_core/threads.py"),
    *("_engines/*.py", "_engines/exact/*.py", "_engines/compiled/*.[ch]"),
)
VOTE = (*RULES, "neighbors/*.py", "preprocessing/*.py")
CHOICE = (
    *VOTE,
    *(f"model_selection/_{name}.py" for name in ("candidates", "classifier", "folds", "fusion")),
    *(f"model_selection/_{name}.py" for name in ("gains", "refit", "search", "selection")),
    *(f"model_selection/_{name}.py" for name in ("trials", "predictions", "scorers")),
)
HARNESS = ("bench/_protocols.py", "bench/_worker.py", "model_selection/_scores.py")

#: The command that measures a result, and the source files that it depends on.
STUDIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "speed/exact_engine.json": ("bench-speed", SEARCH),
    "speed/hard_tables.json": ("bench-hard-tables", SEARCH),
    "speed/threads.json": ("bench-threads", SEARCH),
    "speed/growth.json": ("bench-speed", SEARCH),
    "speed/cores.json": ("bench-cores", SEARCH),
    "speed/costs.json": ("bench-costs", SEARCH),
    "speed/prediction.json": ("bench-prediction", (*VOTE, *SEARCH)),
    "speed/report.json": ("bench-report", (*SEARCH, "report/*.py", "report/assets/*.js")),
    "memory.json": ("bench-memory", SEARCH),
    "gpu/engine.json": ("bench-gpu", (*SEARCH, "_engines/gpu/*.py")),
    "approximate/runs": ("bench-approximate", (*SEARCH, "_engines/approximate/*.py")),
    "approximate/effect.json": ("bench-approximate", (*RULES, "_engines/approximate/*.py")),
    "dask": ("bench-dask", (*SEARCH, "dask/*.py")),
    "paper/results.parquet": ("bench-paper", (*RULES, *HARNESS)),
    "factorial/results.parquet": ("bench-factorial", (*RULES, *HARNESS)),
    "adaptive/results.parquet": ("bench-adaptive", (*CHOICE, *HARNESS)),
    "adaptive/candidates.jsonl": ("bench-candidates", RULES),
    "adaptive/choosing.json": ("bench-choosing", (*CHOICE, *SEARCH)),
    "adaptive/views.csv": ("bench-views", ("neighbors/_views.py", "model_selection/_fusion.py")),
    "adaptive/leaves.csv": ("bench-leaves", ("neighbors/*.py", "model_selection/_fusion.py")),
    "posterior/scores.csv": (
        "bench-posterior",
        (
            *RULES,
            "posterior.py",
            *(f"model_selection/_{name}.py" for name in ("corrected", "folds")),
        ),
    ),
    "unseen/results.parquet": ("bench-unseen", (*CHOICE, *HARNESS, "bench/controls/*.py")),
    "deep/results.parquet": ("bench-deep", RULES),
    "deep/ceiling.csv": ("bench-ceiling", ("bench/_protocols.py",)),
    "theory": ("bench-theory", (*RULES, "posterior.py")),
}


def code_of(source: str) -> str:
    """Return Python source without comments, docstrings and blank lines.

    Examples
    --------
    >>> code_of('"Text."\\nx = 1  # one\\n\\n')
    'x = 1'
    """
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(source)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text and isinstance(node.value.value, str):
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def fingerprint(name: str, paths: Iterable[str], read: Callable[[str], str]) -> str:
    """Return a hash of the source files that a result depends on."""
    patterns = [f"src/rectifold/{pattern}" for pattern in STUDIES[name][1]]
    digest = hashlib.sha256()
    for path in sorted(paths):
        if any(PurePosixPath(path).match(pattern) for pattern in patterns):
            text = read(path)
            digest.update(f"{path}\0{code_of(text) if path.endswith('.py') else text}\0".encode())
    return digest.hexdigest()[:16]


def git(*arguments: str) -> str:
    """Return the output of git in this repository; empty without git."""
    try:
        command = ["git", "-C", str(ROOT), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    except FileNotFoundError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def present(name: str) -> str:
    """Return the fingerprint for the files of this checkout."""
    folder = ROOT / "src" / "rectifold"
    files = (
        path for path in folder.rglob("*") if path.suffix not in (".pyc", "") or path.is_file()
    )
    paths = [path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts]
    return fingerprint(name, paths, lambda path: (ROOT / path).read_text(encoding="utf-8"))


def recorded(names: Iterable[str], commit: str | None) -> dict[str, dict[str, str]]:
    """Return what results/measured.json holds for results of the present code or of a commit."""
    if commit is None:
        # The results themselves have just changed.
        changed = git("diff", "--name-only", "HEAD", "--", ".", ":!results")
        at = git("rev-parse", "--short", "HEAD").strip() + "-dirty" * bool(changed)
        return {name: {"commit": at, "code": present(name)} for name in names}
    at = git("rev-parse", "--short", commit).strip()
    paths = git("ls-tree", "-r", "--name-only", commit, "src/rectifold").splitlines()
    return {
        name: {
            "commit": at,
            "code": fingerprint(name, paths, lambda path: git("show", f"{commit}:{path}")),
        }
        for name in names
    }


def stale() -> list[str]:
    """Return a sentence for every result whose code has changed, or that has no record."""
    known = json.loads(RECORD.read_text())
    return [
        f"{name}: its code has changed since {known[name]['commit']} (make {command})"
        if name in known
        else f"{name}: not known which code was measured (make {command})"
        for name, (command, _) in STUDIES.items()
        if known.get(name, {}).get("code") != present(name)
    ]


def main() -> None:
    """List stale results, or record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", nargs="?", choices=["record"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--at", metavar="COMMIT")
    options = parser.parse_args()
    if unknown := set(options.names) - set(STUDIES):
        parser.error(f"no such result: {', '.join(sorted(unknown))}")
    if options.command:
        known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
        known |= recorded(options.names, options.at)
        content = json.dumps({name: known[name] for name in STUDIES if name in known}, indent=2)
        write_whole(RECORD, f"{content}\n".encode())
    for sentence in stale():
        print(f"stale: {sentence}")


if __name__ == "__main__":
    main()
