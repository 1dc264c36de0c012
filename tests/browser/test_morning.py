"""An operator's morning in the admin, with Debian's Chromium before the whole running product (7.11).

A run has failed in the night: the page says so and why, the job is mended, run, watched until it succeeds, and a file
is restored from its backup. Nothing is loaded again by hand, and the browser has nothing to complain about.
"""

import json
import urllib.request
from pathlib import Path
from typing import Any

from tests.browser.driver import Browser
from tests.browser.reading import flaws
from tests.embedded.stack import Bench, eventually
from tests.workers.scenario import PASSWORD, new_repository


def test_an_operators_morning(browser: Browser, stack: tuple[Bench, dict[str, Any]], tmp_path: Path) -> None:
    bench, status = stack
    home = tmp_path / "home"
    (home / "docs").mkdir(parents=True)
    (home / "docs" / "letter.txt").write_text("dear all\n")
    (home / "docs" / "list.txt").write_text("milk\n")
    night(bench, status["url"], tmp_path)
    log_in(browser, bench, status["url"])
    see_why(browser)
    mend(browser, home)
    run_and_watch(browser)
    target = restore(browser)
    assert (target / "docs" / "letter.txt").read_text() == "dear all\n"
    assert not (target / "docs" / "list.txt").exists()
    assert [line for line in browser.complaints() if "400 (Bad Request)" not in line] == []


def night(bench: Bench, url: str, place: Path) -> None:
    """Let a job fail whose source is not there."""
    token = (bench.layout.secrets / "ctl_token").read_text().strip()

    def ask(path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/api/v1/{path}", data, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    new_repository(place / "vault")
    told = {"name": "vault", "location": str(place / "vault"), "password": PASSWORD.decode()}
    made = ask("repositories", told)
    assert eventually(lambda: ask(f"repositories/{made['id']}")["state"] == "active")
    sources = [{"type": "filesystem", "path": str(place / "hmoe")}]
    body = {"name": "home", "repository_id": made["id"], "sources": sources, "max_attempts": 1}
    job = ask("jobs", body | {"schedule": {"type": "daily", "time": "02:00", "time_zone": "UTC"}})
    run = ask(f"jobs/{job['id']}/run", {})
    assert eventually(lambda: ask(f"runs/{run['id']}")["state"] == "failed")


def log_in(browser: Browser, bench: Bench, url: str) -> None:
    """Log in as the admin that the first start made."""
    browser.go(f"{url}/admin/")
    browser.write("#id_username", "admin")
    browser.write("#id_password", (bench.layout.secrets / "admin_password").read_text().strip())
    browser.run("document.querySelector('#login-form').requestSubmit()")
    browser.wait_for("Jobs whose last run did not succeed")
    assert flaws(browser) == []


def see_why(browser: Browser) -> None:
    """From the first page to the failed run: state as symbol and word, the reason, the events, the log."""
    assert "✗ failed" in browser.text("main")
    browser.follow("✗ failed")
    told = browser.wait_for("What happened")
    assert told.index("✗ failed") < told.index("SOURCE_MISSING") < told.index("What happened")
    assert "hmoe" in told
    assert flaws(browser) == []
    browser.run("document.querySelector('main').append(document.createElement('input'), document.createElement('h6'))")
    assert "no label: " in flaws(browser), "flaws are seen"


def mend(browser: Browser, home: Path) -> None:
    """Change the path of the source; a wrong one is refused beside its field first."""
    browser.follow("home")
    browser.wait_for("Latest runs")
    browser.press("Change")
    assert flaws(browser) == []
    browser.write("#id_path_0", "not absolute")
    browser.press("Change")
    browser.wait_for("absolute", "#id_path_0_error")
    browser.write("#id_path_0", str(home))
    browser.press("Change")
    assert str(home) in browser.wait_for("The job is changed: this is revision 2.")


def run_and_watch(browser: Browser) -> None:
    """Run the job from the list of jobs; the page becomes that of the success by itself."""
    browser.go(f"{browser.address().partition('/admin/')[0]}/admin/jobs/job/")
    browser.wait_for("Run now")
    assert flaws(browser) == []
    browser.press("Run now")
    browser.wait_for("The run is queued.")
    browser.run("window.stayed = true")
    browser.wait_for("✓ succeeded", ".syncova-headline")
    assert browser.run("return window.stayed") is True
    assert browser.run("return document.getElementById('syncova-now').dataset.live") == "no"


def restore(browser: Browser) -> Path:
    """Restore one file of the new backup into a directory of its own; return that."""
    browser.run("document.querySelector('#panel-sources').closest('section').querySelector('a').click()")
    browser.wait_for("✓ complete")
    browser.press("Restore")
    target = Path(browser.run("return document.getElementById('id_target').value"))
    assert not target.exists()
    browser.write("#id_paths", "docs/letter.txt")
    browser.press("Restore")
    browser.wait_for("✓ succeeded", ".syncova-headline")
    return target
