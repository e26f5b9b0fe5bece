"""Compile the searches with the C compiler of this machine.

    python src/rectifold/_engines/compiled/build.py [FOLDER]

Installation calls this too. Without a compiler rectifold works all the same, with NumPy.
"""

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
#: The file name of the library.
NAME = "library.dll" if sys.platform == "win32" else "library.so"
#: Of searches, and of distances, whose operations must not be fused.
_SEARCH = ["-O3", "-fno-math-errno", "-fno-trapping-math"]
_EXACT = ["-O3", "-fno-math-errno", "-ffp-contract=off"]
#: Instruction sets of x86-64.
_X86 = {
    "plain": [],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": [
        *("-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"),
        "-mprefer-vector-width=512",
    ],
}


def compiler() -> list[str] | None:
    """Return the command of the C compiler; None if there is none that builds the library."""
    command = shlex.split(os.environ.get("CC", ""))
    if not command:
        # Visual C++ has no vectors.
        names = ("clang",) if sys.platform == "win32" else ("cc", "gcc", "clang")
        command = [found for found in map(shutil.which, names) if found][:1]
    return command or None


def build(folder: Path = FOLDER) -> Path | None:
    """Compile the library into a folder; return None, with nothing written, if that fails."""
    command = compiler()
    if command is None:
        return None
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    sets = _X86 if x86 else {"plain": []}
    shared = ["-fPIC", "-std=gnu11", *(["-DX86"] if x86 else [])]
    with tempfile.TemporaryDirectory() as temporary:
        objects = []
        try:
            for name, flags in sets.items():
                objects.append(f"{temporary}/{name}.o")
                options = [*shared, *_SEARCH, *flags, f"-DSUFFIX={name}", "-c", "-o", objects[-1]]
                _run([*command, *options, str(FOLDER / "search.c")])
            objects.append(f"{temporary}/library.o")
            options = [*shared, *_EXACT, "-c", "-o", objects[-1]]
            _run([*command, *options, str(FOLDER / "library.c")])
            built = Path(temporary) / NAME
            _run([*command, "-shared", "-o", str(built), *objects, "-lm"])
        except (OSError, subprocess.CalledProcessError):
            return None
        folder.mkdir(parents=True, exist_ok=True)
        # Complete or not at all, also if another process builds at the same time.
        unfinished = folder / f"{NAME}.{os.getpid()}"
        shutil.copyfile(built, unfinished)
        return unfinished.replace(folder / NAME)


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    print(build(folder) or "no C compiler builds the library: rectifold uses NumPy")
