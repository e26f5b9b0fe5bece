"""List the results that were measured with another behaviour or code than the present one.

    python benchmarks/results_status.py
    python benchmarks/results_status.py record NAME ... [--at COMMIT]

`record` notes in results/measured.json that results were measured with the present code, or with
that of a commit. Results on decisions and scores hold as long as the library returns the same, by
digests of what it returns on small tables (`behaviour.py`); of an earlier commit, its own source
makes them. Results on time and memory hold as long as the source files do that they depend on,
without comments, docstrings and blank lines. `make bench-...` records results that one run makes;
of a store that was filled by several, name the commit of the oldest. The exit status is 0, also if
results are stale.
"""

import argparse
import ast
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tokenize
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from rectifold._io import write_whole

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "results" / "measured.json"

#: Source files below src/rectifold on which time and memory depend.
SEARCH = (
    *("_core/*.py", "sampler.py"),
    *("_engines/*.py", "_engines/exact/*.py", "_engines/compiled/*.[ch]"),
)
VOTE = ("neighbors/*.py", "preprocessing/*.py")
CHOICE = (*VOTE, "model_selection/*.py")


@dataclass(frozen=True)
class Study:
    """What makes a result, and what it depends on."""

    command: str
    files: tuple[str, ...] = ()
    #: Names of digests of `behaviour.py`.
    behaviour: tuple[str, ...] = ()


STUDIES = {
    "speed/exact_engine.json": Study("bench-speed", SEARCH),
    "speed/hard_tables.json": Study("bench-hard-tables", SEARCH),
    "speed/threads.json": Study("bench-threads", SEARCH),
    "speed/growth.json": Study("bench-speed", SEARCH),
    "speed/cores.json": Study("bench-cores", SEARCH),
    "speed/costs.json": Study("bench-costs", SEARCH),
    "speed/prediction.json": Study("bench-prediction", (*VOTE, *SEARCH)),
    "speed/report.json": Study("bench-report", (*SEARCH, "report/*.py", "report/assets/*.js")),
    "memory.json": Study("bench-memory", SEARCH),
    "gpu/engine.json": Study("bench-gpu", (*SEARCH, "_engines/gpu/*.py")),
    "approximate/runs": Study("bench-approximate", (*SEARCH, "_engines/approximate/*.py")),
    "approximate/effect.json": Study("bench-approximate", behaviour=("cleaning", "approximate")),
    "dask": Study("bench-dask", (*SEARCH, "dask/*.py")),
    "paper/results.parquet": Study("bench-paper", behaviour=("cleaning", "splitting")),
    "factorial/results.parquet": Study("bench-factorial", behaviour=("cleaning", "splitting")),
    "adaptive/results.parquet": Study("bench-adaptive", behaviour=("choosing", "splitting")),
    "adaptive/candidates.jsonl": Study("bench-candidates", behaviour=("cleaning",)),
    "adaptive/choosing.json": Study("bench-choosing", (*CHOICE, *SEARCH)),
    "adaptive/views.csv": Study("bench-views", behaviour=("cleaning",)),
    "adaptive/leaves.csv": Study("bench-leaves", behaviour=("voting",)),
    "posterior/scores.csv": Study("bench-posterior", behaviour=("cleaning", "correcting")),
    "unseen/results.parquet": Study(
        "bench-unseen", ("bench/controls/*.py",), ("choosing", "splitting")
    ),
    "deep/results.parquet": Study("bench-deep", behaviour=("cleaning",)),
    "deep/ceiling.csv": Study("bench-ceiling", ("bench/_protocols.py",)),
    "theory": Study("bench-theory", behaviour=("cleaning",)),
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
    patterns = [f"src/rectifold/{pattern}" for pattern in STUDIES[name].files]
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


@cache
def behaviour(source: Path) -> dict[str, str]:
    """Return the digests of `behaviour.py` for a folder with the source of the library."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, str(ROOT / "benchmarks" / "behaviour.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def state(name: str, paths: Iterable[str], root: Path) -> dict[str, object]:
    """Return what decides whether a result is stale, for the source below a folder."""

    def read(path: str) -> str:
        return (root / path).read_text(encoding="utf-8")

    study, found = STUDIES[name], {}
    if study.files:
        found["code"] = fingerprint(name, paths, read)
    if study.behaviour:
        digests = behaviour(root / "src")
        found["behaviour"] = {kind: digests[kind] for kind in study.behaviour}
    return found


def sources(root: Path) -> list[str]:
    """Return the paths of the source files of the library below a folder."""
    files = (path for path in (root / "src" / "rectifold").rglob("*") if path.is_file())
    return [
        path.relative_to(root).as_posix()
        for path in files
        if "__pycache__" not in path.parts and path.suffix in (".py", ".c", ".h", ".js")
    ]


def recorded(names: Iterable[str], commit: str | None) -> dict[str, dict[str, object]]:
    """Return what results/measured.json holds for results of the present code or of a commit."""
    if commit is None:
        # The results themselves have just changed.
        changed = git("diff", "--name-only", "HEAD", "--", ".", ":!results")
        at = git("rev-parse", "--short", "HEAD").strip() + "-dirty" * bool(changed)
        paths = sources(ROOT)
        return {name: {"commit": at, **state(name, paths, ROOT)} for name in names}
    at = git("rev-parse", "--short", commit).strip()
    with tempfile.TemporaryDirectory() as folder:
        archive = ["git", "-C", str(ROOT), "archive", "--format=tar", commit, "src"]
        packed = subprocess.run(archive, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as files:
            files.extractall(folder, filter="data")
        paths = sources(Path(folder))
        return {name: {"commit": at, **state(name, paths, Path(folder))} for name in names}


def stale() -> list[str]:
    """Return a sentence for every result that is not of the present code, or has no record."""
    known, paths, found = json.loads(RECORD.read_text()), sources(ROOT), []
    for name, study in STUDIES.items():
        if name not in known:
            found.append(f"{name}: not known which code was measured (make {study.command})")
            continue
        now = state(name, paths, ROOT)
        if any(known[name].get(kind) != value for kind, value in now.items()):
            since = known[name]["commit"]
            found.append(f"{name}: its code has changed since {since} (make {study.command})")
    return found


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
