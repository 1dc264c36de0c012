"""`.venv`: made once, extended in place, rebuilt beside when its stamp no longer fits, never taken from anybody."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.bootstrap import trial as trials
from tests.bootstrap.trial import Trial


def test_arguments_reach_the_program_untouched(installed: Trial) -> None:
    told = installed.told("manage", "migrate", "--help", "-x", "a b")
    assert told["argv"] == ["migrate", "--help", "-x", "a b"]
    assert told["executable"] == str(installed.clone / ".venv/bin/python")
    assert installed.stamp["layer"] == "dev"
    assert not list(installed.clone.glob(".venv.new*"))


def test_the_second_start_installs_nothing_and_says_nothing(installed: Trial) -> None:
    before = (installed.clone / ".venv/syncova-stamp.json").stat()
    done = installed.run("manage", PIP_FIND_LINKS="/nowhere")
    assert (done.returncode, done.stderr) == (0, "")
    assert (installed.clone / ".venv/syncova-stamp.json").stat() == before


def test_nothing_is_imported_from_where_the_caller_stands(installed: Trial, tmp_path: Path) -> None:
    """A directory that somebody else can write to must not be able to replace a module."""
    (tmp_path / "json.py").write_text("raise SystemExit('hostile')")
    told = installed.told("manage", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert told["cwd"] == str(tmp_path)
    assert str(tmp_path) not in told["path"]
    assert str(installed.clone) in told["path"]


def test_a_link_to_the_script_works(installed: Trial, tmp_path: Path) -> None:
    (tmp_path / "syncova").symlink_to(installed.clone / "syncova")
    linked = Trial(tmp_path, installed.wheels)
    assert linked.told("manage")["executable"] == str(installed.clone / ".venv/bin/python")


def test_scripts_name_the_directory_they_run_from(installed: Trial) -> None:
    """The environment is built beside and renamed; what it holds must not point to where it was built."""
    script = (installed.clone / ".venv/bin/trial-base").read_text()
    assert script.startswith(f"#!{installed.clone}/.venv/bin/python")
    assert ".venv.new" not in (installed.clone / ".venv/pyvenv.cfg").read_text()


def test_a_further_layer_is_added_in_place(trial: Trial) -> None:
    assert trial.told("manage")["packages"] == ["pip", "trial-base"]
    inode = (trial.clone / ".venv").stat().st_ino
    assert trial.told("up", "-d")["packages"] == ["pip", "trial-base", "trial-embedded"]
    assert trial.told("bench")["packages"] == ["pip", "trial-base", "trial-dev", "trial-embedded"]
    assert (trial.clone / ".venv").stat().st_ino == inode
    assert trial.told("manage")["packages"] == ["pip", "trial-base", "trial-dev", "trial-embedded"]


def test_two_starts_at_once_make_one_environment(trial: Trial) -> None:
    variables = trials.environment(trial.wheels, trial.clone)
    pair = [
        subprocess.Popen(trial.command("manage", str(number)), env=variables, stdout=-1, stderr=-1, text=True)
        for number in range(2)
    ]
    answers = [each.communicate(timeout=120) for each in pair]
    assert [json.loads(out)["argv"] for out, _ in answers] == [["0"], ["1"]]
    assert sum("preparing" in err for _, err in answers) == 1


def test_a_path_with_blanks_and_letters_of_any_alphabet(trial: Trial) -> None:
    there = Trial(trial.clone.rename(trial.clone.with_name("sp ä ce")), trial.wheels)
    for locale in ("C", "C.UTF-8", ""):
        assert str(there.clone) in there.told("manage", LC_ALL=locale)["path"]


def test_a_path_that_is_not_text_is_refused(trial: Trial) -> None:
    there = Trial(trial.clone.rename(trial.clone.with_name(os.fsdecode(b"x\xff"))), trial.wheels)
    done = there.run("manage")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "is not UTF-8" in done.stderr


def test_a_changed_lock_rebuilds_and_keeps_the_layer(trial: Trial) -> None:
    trial.told("up")
    for name in trials.LAYERS["embedded"]:
        trials.make_wheel(trial.wheels, name, "2.0")
    trials.write_lock(trial.clone, trial.wheels, "embedded", trials.LAYERS["embedded"], "2.0")
    trial.told("manage")
    assert list(trial.clone.glob(".venv/lib/*/site-packages/trial_embedded-2.0.dist-info"))
    assert not list(trial.clone.glob(".venv.old")) + list(trial.clone.glob(".venv.new"))


def test_a_rebuild_that_fails_leaves_the_old_environment(trial: Trial) -> None:
    trial.told("manage")
    lock = trial.clone / "requirements/base.txt"
    good = lock.read_text()
    lock.write_text("trial-base==9.0 --hash=sha256:" + "0" * 64 + "\n")
    done = trial.run("manage")
    assert done.returncode == 1
    assert "trial-base==9.0 is not in the index or wheels directory" in done.stderr
    assert not (trial.clone / ".venv.new").exists()
    lock.write_text(good)
    assert trial.run("manage", PIP_FIND_LINKS="/nowhere").stderr == ""


def test_a_moved_clone_is_built_anew(trial: Trial) -> None:
    trial.told("manage")
    moved = trial.clone.rename(trial.clone.with_name("moved"))
    told = Trial(moved, trial.wheels).told("manage")
    assert str(moved) in told["path"]
    assert not any(str(trial.clone) in each for each in told["path"])


def test_an_upgraded_python_is_noticed(trial: Trial) -> None:
    trial.told("manage")
    stamp = trial.clone / ".venv/syncova-stamp.json"
    fields = trial.stamp
    fields["interpreter"]["mtime_ns"] -= 1
    stamp.write_text(json.dumps(fields))
    assert "preparing" in trial.run("manage").stderr
    (trial.clone / ".venv/bin/python").unlink()
    (trial.clone / ".venv/bin/python").symlink_to("/nowhere/python3")
    assert "preparing" in trial.run("manage").stderr


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.write_text("mine")], ids=["dir", "file"])
def test_a_foreign_environment_is_refused_and_kept(trial: Trial, make) -> None:
    foreign = trial.clone / ".venv"
    make(foreign)
    done = trial.run("manage")
    assert done.returncode == 1
    assert done.stderr == f"syncova: {foreign} was not made by ./syncova; move it away and start again\n"
    assert foreign.is_file() or list(foreign.iterdir()) == []


def test_a_build_killed_half_way_changes_nothing(trial: Trial) -> None:
    (trial.clone / ".venv.old").mkdir()
    process = subprocess.Popen(
        trial.command("manage"),
        env=trials.environment(trial.wheels, trial.clone),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not (trial.clone / ".venv.new/bin").exists():
        time.sleep(0.01)
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (trial.clone / ".venv").exists()
    assert trial.told("manage")["packages"] == ["pip", "trial-base"]
    assert not list(trial.clone.glob(".venv.old")) + list(trial.clone.glob(".venv.new"))


def test_the_real_locks_and_the_kept_pip_belong_together() -> None:
    """What this suite runs in was made by ./syncova or pins the same versions: every import below is from the lock."""
    lock = (trials.SOURCE / "requirements/dev.txt").read_text()
    assert shutil.which("git") is not None
    for name in ("django==", "pytest==", "msgspec=="):
        assert f"\n{name}" in lock


def test_an_extra_is_installed_when_asked_for_and_stays_when_the_environment_is_made_anew(trial: Trial) -> None:
    """4.9: installed only when asked for."""
    trials.make_wheel(trial.wheels, "trial-s3", "1.0")
    trials.write_lock(trial.clone, trial.wheels, "s3", ("trial-base", "trial-s3"))
    assert trial.told("manage")["packages"] == ["pip", "trial-base"]
    done = trial.run("install", "webdav")
    assert (done.returncode, done.stdout) == (0, "webdav is installed\n"), done.stderr
    assert trial.told("manage")["packages"] == ["pip", "trial-base", "trial-s3"]
    assert trial.run("install", "s3", PIP_FIND_LINKS="/nowhere").returncode == 0, "it is there already"
    assert trial.told("up")["packages"] == ["pip", "trial-base", "trial-embedded", "trial-s3"]
    trials.write_lock(trial.clone, trial.wheels, "embedded", ("trial-base",))
    assert trial.told("manage")["packages"] == ["pip", "trial-base", "trial-s3"]
    assert (trial.stamp["layer"], trial.stamp["extras"]) == ("embedded", ["s3"])


def test_an_extra_whose_lock_has_changed_is_brought_up_to_date(trial: Trial) -> None:
    trials.make_wheel(trial.wheels, "trial-s3", "1.0")
    trials.write_lock(trial.clone, trial.wheels, "s3", ("trial-base", "trial-s3"))
    assert trial.run("install", "s3").returncode == 0
    trials.make_wheel(trial.wheels, "trial-more", "1.0")
    trials.write_lock(trial.clone, trial.wheels, "s3", ("trial-base", "trial-more", "trial-s3"))
    assert trial.told("manage")["packages"] == ["pip", "trial-base", "trial-more", "trial-s3"]


@pytest.mark.parametrize("arguments", [(), ("ftp",), ("s3", "sftp")])
def test_only_known_extras_are_installed(installed: Trial, arguments: tuple[str, ...]) -> None:
    done = installed.run("install", *arguments)
    assert done.returncode == 2
    assert "usage: ./syncova install s3|webdav|sftp" in done.stderr
