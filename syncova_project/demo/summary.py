"""The demo's last lines: one table of figures, what was removed, what to type next."""

from syncova_project.demo.scene import Scene, show_size

_ROWS = (("first backup", "first"), ("second backup", "second"), ("restore", "restore"))


def tell_figures(scene: Scene, restic: dict[str, float] | None) -> None:
    """Print the table; restic's column only where restic ran. Times of runs are from start to verdict."""
    header = f"{'':<16}{'Syncova':>10}" + (f"{'restic':>10}" if restic else "")
    scene.result(header)
    for title, key in _ROWS:
        other = f"{restic[key]:>8.1f} s" if restic else ""
        scene.result(f"{title:<16}{scene.seconds[key]:>8.1f} s{other}")
    first = scene.runs["first"]
    scene.result(f"{'described':<16}{show_size(first['logical_bytes']):>14}")
    scene.result(f"{'stored':<16}{show_size(first['bytes_stored']):>14}")


def tell_next_steps(scene: Scene) -> None:
    """Say what is removed now, and the next commands."""
    scene.result(f"removed: {scene.stage.directory} with servers, repository and restored tree")
    scene.result("next:")
    for command in (
        "./syncova up -d",
        "./syncova repo create ~/syncova-backups --password-file FILE",
        "./syncova ctl repository register home ~/syncova-backups --password-file FILE",
        "./syncova ctl job create home --source ~/Documents --repository home --daily 02:00",
    ):
        scene.result(f"  {command}")
