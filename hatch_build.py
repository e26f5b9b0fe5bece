"""Compile the searches in C while a wheel is built; without a compiler the wheel has none."""

import os
import runpy
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: Set to 0 for a wheel that works on any machine.
SWITCH = "RECTIFOLD_COMPILED"
COMPILED = Path("rectifold", "_engines", "compiled")


class CompiledSearches(BuildHookInterface):
    """Add the library to the wheel, or to the source tree of an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the library before the files are collected."""
        source = Path(self.root, "src") / COMPILED
        build = runpy.run_path(str(source / "build.py"))["build"]
        if version == "editable":
            build(source)
            return
        self._temporary = tempfile.TemporaryDirectory()
        built = None
        if os.environ.get(SWITCH) != "0":
            built = build(Path(self._temporary.name))
        if built is None:
            return
        build_data["force_include"][str(built)] = str(COMPILED / built.name)
        build_data["pure_python"] = False
        # The library uses nothing of Python, so it is for all versions.
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled, which is in the wheel now."""
        if version != "editable":
            self._temporary.cleanup()
