"""Outputs of one command are a set: interrupted at any step, it is complete or reported."""

import builtins
import errno
import os
import shutil
import signal
import subprocess
import sys
import warnings
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rectifold._io import FileError, output_set, whole_files

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")

#: The main output comes first. There was no page before.
NAMES = ("out.csv", "removed/removed.csv", "page.html")
OLD = {"out.csv": "old", "removed/removed.csv": "old", "page.html": None}
NEW = dict.fromkeys(NAMES, "new")
#: Exit codes of a child process.
DONE, STOPPED, STOPPED_AFTER_WRITING = 0, 3, 4


@pytest.fixture
def folders(tmp_path):
    """Return new folders with an old set of outputs."""

    def make():
        for number in count():
            folder = tmp_path / f"{number}"
            (folder / "removed").mkdir(parents=True)
            for name, text in OLD.items():
                if text is not None:
                    (folder / name).write_text(text)
            yield folder

    return make()


def fill(folder, text):
    with whole_files([folder / name for name in NAMES]) as files:
        for file in files:
            file.write(text.encode())


def write(folder, text="new"):
    """Write a set, and return the sentences that were said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        fill(folder, text)
    return [str(one.message) for one in caught if one.category is UserWarning]


def contents(folder):
    return {
        name: (folder / name).read_text() if (folder / name).exists() else None for name in NAMES
    }


def temporary(folder):
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return found - set(NAMES)


def child(work):
    """Run a function in another process, and return the process."""
    before, process = output_set.sets_written, os.fork()
    if not process:
        code = 1
        try:
            work()
            code = DONE
        except KeyboardInterrupt:
            written = output_set.sets_written > before
            code = STOPPED_AFTER_WRITING if written else STOPPED
        finally:
            os._exit(code)
    return process


def ended(process):
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def signalled(step, number, work):
    """Run a function in another process, which gets a signal at a line of `rectifold._io`."""

    def run():
        seen = 0

        def trace(frame, event, _):
            nonlocal seen
            if f"rectifold{os.sep}_io" not in frame.f_code.co_filename:
                return None
            seen += event == "line"
            if seen == step and event == "line":
                os.kill(os.getpid(), number)
            return trace

        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        sys.settrace(trace)
        work()

    return ended(child(run))


def test_after_a_kill_at_any_step_files_are_whole_and_the_next_run_reports_a_mixed_set(folders):
    n_mixed = 0
    for step in count(1):
        folder = next(folders)
        code = signalled(step, signal.SIGKILL, lambda folder=folder: write(folder))
        found = contents(folder)
        assert all(found[name] in (OLD[name], NEW[name]) for name in NAMES)
        assert found["out.csv"] == "old" or found == NEW
        mixed = found not in (OLD, NEW)
        n_mixed += mixed
        said = write(folder, "newer")
        assert len(said) == mixed
        if mixed:
            assert "an earlier run was interrupted after it had written" in said[0]
            assert f"but not {str(folder / 'out.csv')!r}" in said[0]
        assert contents(folder) == dict.fromkeys(NAMES, "newer")
        assert not temporary(folder)
        if code == DONE:
            break
        assert code == -signal.SIGKILL
    assert step > 50
    assert n_mixed > 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_at_any_step_leaves_one_of_the_two_sets_and_says_which(folders, number):
    codes = []
    while DONE not in codes:
        folder = next(folders)
        codes.append(signalled(len(codes) + 1, number, lambda folder=folder: write(folder)))
        assert contents(folder) == (OLD if codes[-1] == STOPPED else NEW)
        assert not temporary(folder)
    assert {*codes} == {STOPPED, STOPPED_AFTER_WRITING, DONE}


def fail_at(step, monkeypatch, work, *, links=True):
    """Run a function on a disk that is full at an operation, once.

    Return whether there was such an operation, and whether the function failed.
    """
    names = ("fsync", "link", "chmod", "replace", "mkdir")
    real = {**{name: getattr(os, name) for name in names}, "open": open}
    seen = 0

    def patched(name):
        def operation(*arguments, **options):
            nonlocal seen
            seen += 1
            if seen == step:
                raise OSError(errno.ENOSPC, "No space left on device")
            if name == "link" and not links:
                raise OSError(errno.EPERM, "Operation not permitted")
            return real[name](*arguments, **options)

        return operation

    with monkeypatch.context() as patch:
        for name in names:
            patch.setattr(os, name, patched(name))
        patch.setattr(builtins, "open", patched("open"))
        try:
            work()
        except OSError:
            return True, True
    return seen >= step, False


@pytest.mark.parametrize("links", [True, False])
def test_a_full_disk_at_any_step_leaves_the_old_set(folders, monkeypatch, links):
    n_failed = 0
    for step in count(1):
        folder = next(folders)
        work = lambda folder=folder: write(folder)  # noqa: E731
        reached, failed = fail_at(step, monkeypatch, work, links=links)
        n_failed += failed
        assert contents(folder) == (OLD if failed else NEW)
        assert not temporary(folder)
        if not reached:
            break
    assert n_failed > 10


def test_a_set_that_cannot_be_restored_is_reported_by_this_run_and_the_next(folders, monkeypatch):
    folder = next(folders)
    replace, failed = os.replace, []

    def busy(name, target):
        if failed or os.path.basename(target) == "out.csv":
            failed.append(target)
            raise OSError(errno.EBUSY, "Device or resource busy", name, target)
        replace(name, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", busy)
        with (
            pytest.warns(UserWarning, match="this run was interrupted after it had written"),
            pytest.raises(OSError, match="busy") as caught,
        ):
            fill(folder, "new")
    assert caught.value.filename == str(folder / "out.csv")
    assert contents(folder) == {**NEW, "out.csv": "old"}
    (said,) = write(folder, "newer")
    assert said.startswith("an earlier run was interrupted")
    assert not temporary(folder)


def test_a_mixed_set_is_reported_until_a_run_has_replaced_it(folders):
    folder = next(folders)
    kill_before_last_rename(lambda: write(folder))
    with pytest.warns(UserWarning, match="an earlier run"), pytest.raises(ZeroDivisionError):
        fail(folder)
    assert len(write(folder, "newer")) == 1
    assert write(folder, "newest") == []


def fail(folder):
    with whole_files([folder / name for name in NAMES]):
        raise ZeroDivisionError


def kill_before_last_rename(work, n_outputs=3):
    """Run a function in another process, which is killed when it renames its last output."""
    replace, done = os.replace, []

    def run():
        def counted(name, target):
            done.append(target)
            if len(done) == n_outputs:
                os.kill(os.getpid(), signal.SIGKILL)
            replace(name, target)

        os.replace = counted
        work()

    assert ended(child(run)) == -signal.SIGKILL


def test_files_of_a_run_that_still_writes_are_left_alone_and_those_of_a_killed_one_removed(folders):
    folder = next(folders)

    def work():
        with whole_files([folder / name for name in NAMES]):
            os.kill(os.getpid(), signal.SIGKILL)

    assert ended(child(work)) == -signal.SIGKILL
    killed = temporary(folder)
    with whole_files([folder / name for name in NAMES]) as files:
        alive = temporary(folder)
        assert killed
        assert not alive & killed
        # Locks are of processes and of threads alike.
        assert ended(child(lambda: write(folder, "other"))) == DONE
        assert write(folder, "another") == []
        assert temporary(folder) == alive
        for file in files:
            file.write(b"new")
    assert contents(folder) == NEW
    assert not temporary(folder)


class TestFolders:
    """The same of folders, which `rectifold clean --engine dask` writes."""

    #: The main output comes first.
    NAMES = ("kept", "removed")

    @pytest.fixture
    def write(self, tmp_path):
        pytest.importorskip("pyarrow")
        from rectifold._io.multi_file import whole_folders

        def write():
            with whole_folders([tmp_path / name for name in self.NAMES]) as drafts:
                for draft in drafts:
                    (draft / "part").write_text("new")

        return write

    def take(self, folder):
        """Return which folders of output there are, and remove them."""
        found = [name for name in self.NAMES if (folder / name).exists()]
        for name in found:
            assert (folder / name / "part").read_text() == "new"
            shutil.rmtree(folder / name)
        return found

    def test_after_a_kill_at_any_step_they_are_whole_and_a_mixed_set_is_reported(
        self, write, tmp_path
    ):
        from rectifold._io.multi_file import check_folders

        outputs, n_mixed = {name: tmp_path / name for name in self.NAMES}, 0
        for step in count(1):
            code = signalled(step, signal.SIGKILL, write)
            mixed = not (tmp_path / "kept").exists() and (tmp_path / "removed").exists()
            if mixed:
                n_mixed += 1
                with (
                    pytest.warns(UserWarning, match=r"written '.*removed' but not '.*kept'"),
                    pytest.raises(FileError, match="not empty"),
                ):
                    check_folders(outputs, SimpleNamespace(pieces=[]))
            assert self.take(tmp_path) in ([], ["kept", "removed"], ["removed"])
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UserWarning)
                write()
            assert len([one for one in caught if one.category is UserWarning]) == mixed
            assert self.take(tmp_path) == ["kept", "removed"]
            assert not [*tmp_path.iterdir()]
            if code == DONE:
                break
            assert code == -signal.SIGKILL
        assert step > 50
        assert n_mixed

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_at_any_step_leaves_all_or_none(self, write, tmp_path, number):
        codes = []
        while DONE not in codes:
            codes.append(signalled(len(codes) + 1, number, write))
            assert self.take(tmp_path) == ([] if codes[-1] == STOPPED else ["kept", "removed"])
            assert not [*tmp_path.iterdir()]
        assert {*codes} == {STOPPED, STOPPED_AFTER_WRITING, DONE}

    def test_a_full_disk_at_any_step_leaves_none(self, write, tmp_path, monkeypatch):
        n_failed = 0
        for step in count(1):
            reached, failed = fail_at(step, monkeypatch, write)
            n_failed += failed
            assert self.take(tmp_path) == ([] if failed else ["kept", "removed"])
            assert not [*tmp_path.iterdir()]
            if not reached:
                break
        assert n_failed > 5


class TestCommand:
    """The same of `rectifold clean` and `predict`."""

    SCRIPT = """
import os, signal, sys
from rectifold import cli
replace = os.replace
def signalled(name, target):
    if target.endswith("out.csv"):
        os.kill(os.getpid(), int(sys.argv[1]))
    replace(name, target)
os.replace = signalled
cli.main(sys.argv[2:])
"""
    OUTPUTS = ("-t", "label", "-q", "-o", "out.csv", "--report", "page.html")
    CLEAN = ("clean", "data.csv", *OUTPUTS, "--removed", "removed/removed.csv")
    PREDICT = ("predict", "data.csv", "data.csv", *OUTPUTS, "-c", "DT", "--n-jobs", "1")

    @pytest.fixture
    def folder(self, folders, monkeypatch):
        pd = pytest.importorskip("pandas")
        for name in ("pyarrow", "typer", "rich", "jinja2"):
            pytest.importorskip(name)
        folder = next(folders)
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
        frame.assign(label=np.where(rng.random(200) < 0.2, "rare", "common")).to_csv(
            folder / "data.csv", index=False
        )
        monkeypatch.chdir(folder)
        return folder

    def interrupt(self, number, command):
        return subprocess.run(
            [sys.executable, "-c", self.SCRIPT, str(int(number)), *command],
            capture_output=True,
            text=True,
        )

    @pytest.mark.parametrize("command", [CLEAN, PREDICT])
    def test_a_kill_between_the_renames_is_reported_by_the_next_run(self, folder, capsys, command):
        from rectifold import cli

        assert self.interrupt(signal.SIGKILL, command).returncode == -signal.SIGKILL
        assert Path("out.csv").read_text() == "old"
        assert (Path("removed/removed.csv").read_text() == "old") == (command is self.PREDICT)
        assert Path("page.html").exists()
        assert cli.run([*command]) == 0
        (said,) = capsys.readouterr().err.splitlines()
        assert said.startswith("note: an earlier run was interrupted after it had written")
        assert Path("out.csv").read_text().startswith("a,b,label")
        assert temporary(folder) == {"data.csv"}
        assert cli.run([*command]) == 0
        assert capsys.readouterr().err == ""

    def test_sigterm_between_the_renames_finishes_them_and_says_so(self, folder):
        done = self.interrupt(signal.SIGTERM, self.CLEAN)
        assert done.returncode == 130
        assert done.stderr == "rectifold: stopped; the outputs are written\n"
        assert Path("out.csv").read_text().startswith("a,b,label")
        assert Path("removed/removed.csv").read_text() != "old"
        assert temporary(folder) == {"data.csv"}
