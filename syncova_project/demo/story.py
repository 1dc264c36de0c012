"""The demo's steps with servers: set-up, the first two runs, the crash and its retry (A16, A17).

Owns what each step must show; a step that does not show it raises DemoError.
"""

import datetime as dt
import os
import secrets
from typing import Any

from syncova_project import clock
from syncova_project.demo.scene import Scene, show_size
from syncova_project.demo.stage import DemoError, wait_for

_SLOW_BYTES, _SLOW_RATE = 24 << 20, "1MB"
"""A run of 24 seconds: it never ends by itself before it is killed, however slow the machine is."""


def servers(scene: Scene) -> None:
    """Start PostgreSQL, Valkey, web, beat and workers."""
    scene.step("Servers of its own")
    begun = clock.monotonic()
    url = scene.stage.start()
    scene.result(f"PostgreSQL, Valkey, web, scheduler and workers run on {url} ({clock.monotonic() - begun:.1f} s)")


def repository(scene: Scene) -> None:
    """Make an encrypted repository and register it."""
    scene.step("An encrypted repository, made on its medium and registered")
    _write_private(scene.password_file, secrets.token_urlsafe(24))
    made = scene.stage.command("repo", "create", scene.repository, "--password-file", scene.password_file)
    scene.result(f"repository {made['repository_id']}; a recovery code was printed once")
    words = ("repository", "register", "demo", scene.repository, "--password-file", scene.password_file)
    registered = scene.stage.command("ctl", *words)
    _expect(registered["repository_id"] == made["repository_id"], "another repository was opened than was made")
    scene.result(f"a worker opened it: {registered['state']}")


def job(scene: Scene) -> None:
    """Make a daily job over the API."""
    scene.step("A job, made over the API")
    words = ("--source", os.fsdecode(scene.tree), "--repository", "demo", "--daily", "02:00")
    made = scene.stage.command("ctl", "job", "create", "demo", *words, "--time-zone", "Europe/Berlin")
    scene.result(f"{made['schedule_description']}; next run {made['next_run_at']}")


def first_run(scene: Scene) -> None:
    """Back the tree up for the first time."""
    scene.step("The first run")
    run = _run(scene, "first")
    _expect(run["bytes_stored"] > 0, "nothing was stored")
    scene.result(
        f"{run['files']:,} files, {show_size(run['logical_bytes'])} described, {show_size(run['bytes_read'])} read, "
        f"{show_size(run['bytes_stored'])} stored in {scene.seconds['first']:.1f} s"
    )


def second_run(scene: Scene) -> None:
    """Back it up again: nothing changed, so no content is read."""
    scene.step("The second run: nothing changed")
    run = _run(scene, "second")
    scene.result(f"{run['bytes_read']} bytes of content read, complete backup in {scene.seconds['second']:.1f} s")
    unchanged = run["bytes_read"] == 0 or not scene.stage.tree_is_copy
    _expect(unchanged, f"the second run read {run['bytes_read']} bytes although nothing changed")


def crash(scene: Scene) -> None:
    """Kill the worker in the middle of a run; the run is retried by itself."""
    scene.step("The worker is killed in the middle of a run")
    slow = scene.stage.private / "slow"
    slow.mkdir()
    (slow / "large.bin").write_bytes(secrets.token_bytes(_SLOW_BYTES))
    words = ("--source", str(slow), "--repository", "demo", "--bandwidth", _SLOW_RATE)
    made = scene.stage.command("ctl", "job", "create", "slow", *words)
    queued = scene.stage.command("ctl", "job", "run", "slow")
    wait_for(lambda: _reading(scene, queued["id"]), "the run to read something")
    scene.stage.command("ctl", "job", "edit", "slow", "--bandwidth", "none")
    scene.result(f"$ kill -9 {scene.stage.kill_worker()}     (the backup worker and its children)")
    failed = wait_for(lambda: _in_state(scene, queued["id"], "failed"), "the killed run to be noticed")
    failure = failed["failure"] or {}
    _expect(failure.get("class") == "transient", f"the killed run ended as {failed['state']} {failure}")
    scene.result(f"run failed ({failure['class']}): {failure['message']}")
    retry = wait_for(lambda: _successor(scene, made["id"], queued["id"]), "the retry to succeed")
    scene.result(f"attempt {retry['attempt']} ({retry['trigger']}): {retry['state']}, {retry['files']} file")


def _run(scene: Scene, name: str) -> dict[str, Any]:
    run = scene.stage.command("ctl", "job", "run", "demo", "--wait")
    _expect(run["state"] == "succeeded", f"the run ended as {run['state']}: {run['reason']}")
    begun, ended = (dt.datetime.fromisoformat(run[field]) for field in ("started_at", "finished_at"))
    scene.seconds[name] = (ended - begun).total_seconds()
    scene.runs[name] = run
    return run


def _reading(scene: Scene, run_id: str) -> dict[str, Any] | None:
    run = scene.stage.quietly("ctl", "run", "show", run_id)
    _expect(run["state"] in {"queued", "running"}, f"the run ended as {run['state']} before it could be killed")
    return run if (run["progress"] or {}).get("bytes_read") else None


def _in_state(scene: Scene, run_id: str, state: str) -> dict[str, Any] | None:
    run = scene.stage.quietly("ctl", "run", "show", run_id)
    return run if run["state"] == state else None


def _successor(scene: Scene, job_id: str, run_id: str) -> dict[str, Any] | None:
    runs = scene.stage.quietly("ctl", "run", "list", "--job", job_id)["runs"]
    later = [run for run in runs if run["id"] != run_id and run["state"] == "succeeded"]
    return later[0] if later else None


def _expect(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not holds:
        raise DemoError(otherwise, hint="run the demo with --keep and look into its data directory")


def _write_private(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text + "\n")
