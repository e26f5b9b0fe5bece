"""The package and the command line start quickly, and an interrupt leaves no traceback."""

import importlib
import os
import signal
import subprocess
import sys
import time

import pytest

import rectifold
from rectifold.datasets import load_wine_quality

HEAVY = {
    "numpy",
    "pandas",
    "pyarrow",
    "scipy",
    "sklearn",
    "imblearn",
    "torch",
    "dask",
    "matplotlib",
}


def modules_after(code):
    """Return the top-level modules that a new process has imported after some code."""
    code += "\nimport sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


class TestLazyImports:
    def test_importing_the_package_imports_no_library(self):
        assert not modules_after("import rectifold") & HEAVY

    def test_all_names_are_found_with_their_first_use(self):
        code = "import rectifold\nfor name in rectifold.__all__: getattr(rectifold, name)"
        assert {"numpy", "sklearn"} <= modules_after(code)
        assert set(rectifold.__all__) <= set(dir(rectifold))
        assert rectifold.GMR is importlib.import_module("rectifold.sampler").GMR

    def test_modules_are_attributes(self):
        modules_after("import rectifold\nrectifold.datasets.load_wine_quality")

    def test_an_unknown_name_is_an_attribute_error(self):
        with pytest.raises(AttributeError, match="module 'rectifold' has no attribute 'GRM'"):
            _ = rectifold.GRM
        with pytest.raises(ImportError, match="cannot import name 'GRM'"):
            exec("from rectifold import GRM")


class TestCommandLine:
    @pytest.mark.parametrize(
        "arguments", [[], ["--help"], ["--version"], ["clean", "--help"], ["bench", "run", "-h"]]
    )
    def test_help_waits_for_no_library(self, arguments):
        pytest.importorskip("typer")
        code = f"from rectifold.cli import run\nrun({arguments!r})"
        assert not modules_after(code) & HEAVY

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
    @pytest.mark.parametrize("delay", [0.05, 0.2, 0.4, 0.6, 0.8, 1.0])
    def test_an_interrupt_in_the_first_second_leaves_one_sentence(self, delay, tmp_path):
        pytest.importorskip("typer")
        source, output = tmp_path / "wines.csv", tmp_path / "cleaned.csv"
        frame = load_wine_quality(as_frame=True).frame
        frame.to_csv(source, index=False)
        code = (
            "from rectifold.cli import main; print('ready', flush=True); "
            f"main(['clean', {str(source)!r}, '-t', {frame.columns[-1]!r}, '-o', {str(output)!r}])"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell may have started the tests with SIGINT ignored, and that is inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert "Traceback" not in errors
        if process.returncode:
            assert process.returncode == 130
            assert errors.splitlines()[-1].startswith("rectifold: stopped")
            assert not output.exists()

    def test_an_interrupt_that_an_import_turns_into_an_error_is_one(self, monkeypatch, capsys):
        pytest.importorskip("typer")
        from rectifold import cli

        def dispatch(arguments):
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt as interrupt:
                raise ImportError("initialization failed") from interrupt

        monkeypatch.setattr("rectifold.cli.entry.dispatch", dispatch)
        assert cli.run([]) == 130
        assert capsys.readouterr().err == "rectifold: stopped\n"

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
    def test_an_interrupt_that_python_ignores_is_delivered_again(self):
        pytest.importorskip("typer")
        code = """
import signal, time, weakref
from rectifold import cli
from rectifold.cli import entry
signal.signal(signal.SIGINT, signal.default_int_handler)
def call(arguments):
    # Imports have such callbacks.
    lock = type("Lock", (), {})()
    reference = weakref.ref(lock, lambda _: signal.raise_signal(signal.SIGINT))
    del lock
    for _ in range(600):
        time.sleep(0.1)
entry._call_command = call
cli.main([])
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (130, "rectifold: stopped\n")

    def test_no_library_is_imported_before_interrupts_are_caught(self):
        code = "import sys; before = {*sys.modules}\nfrom rectifold.cli import main\n"
        code += "print(*sorted({*sys.modules} - before))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.split() == ["rectifold", "rectifold._lazy", "rectifold.cli"]

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
    @pytest.mark.parametrize(
        "again",
        [
            "import atexit; atexit.register(signal.raise_signal, signal.SIGINT)",
            "cli.print = lambda *_, **__: signal.raise_signal(signal.SIGINT); stop = True",
        ],
        ids=["at exit", "while the first is reported"],
    )
    def test_an_interrupt_at_the_end_leaves_no_traceback(self, again):
        pytest.importorskip("typer")
        code = f"""
import signal
from rectifold import cli
from rectifold.cli import entry
signal.signal(signal.SIGINT, signal.default_int_handler)
stop = False
{again}
call = entry._call_command
entry._call_command = lambda given: signal.raise_signal(signal.SIGINT) if stop else call(given)
cli.main(["--version"])
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == (130 if "stop" in again else -signal.SIGINT)
        assert done.stderr == ""


def test_auto_imports_pytorch_only_if_there_is_a_driver():
    pytest.importorskip("torch")
    code = (
        "import numpy as np\n"
        "from rectifold._core.space import Points\n"
        "from rectifold._engines import registry\n"
        "registry._has_driver = lambda: False\n"
        "registry._GPU_PAYS_TO_IMPORT = 10\n"
        "assert not registry.gpu_pays(Points(np.zeros((10, 10)), 'euclidean'))\n"
    )
    assert "torch" not in modules_after(code)
    assert "torch" in modules_after(code.replace("lambda: False", "lambda: True"))
