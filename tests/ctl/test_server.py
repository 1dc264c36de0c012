"""Which server ./syncova ctl speaks to: no token goes to a server that it is not for; no server is needed here."""

import http.server
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.ctl.api import Api
from jobs.ctl.program import main
from jobs.ctl.schedule_options import seconds_of
from jobs.ctl.server import Server, ServerUnknownError, TokenMissingError, find_server
from repositories.console.failures import CommandError, ReportedFailureError


@pytest.fixture
def data(tmp_path: Path, monkeypatch: Any) -> Path:
    """A data directory as `up` leaves it."""
    (tmp_path / "token").write_text("syncova_local\n")
    content = {"url": "http://127.0.0.1:8760", "token_file": str(tmp_path / "token")}
    (tmp_path / "ctl.json").write_text(json.dumps(content))
    monkeypatch.setenv("SYNCOVA_DATA_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("data")
def test_what_up_wrote_is_used() -> None:
    assert find_server() == Server("http://127.0.0.1:8760", "syncova_local")


@pytest.mark.usefixtures("data")
def test_the_environment_comes_first(monkeypatch: Any) -> None:
    monkeypatch.setenv("SYNCOVA_URL", "https://backup.example.org/")
    monkeypatch.setenv("SYNCOVA_TOKEN", "syncova_other")
    assert find_server() == Server("https://backup.example.org", "syncova_other")


@pytest.mark.usefixtures("data")
def test_the_local_token_is_not_sent_elsewhere(monkeypatch: Any) -> None:
    monkeypatch.setenv("SYNCOVA_URL", "https://backup.example.org")
    with pytest.raises(TokenMissingError):
        find_server()
    monkeypatch.setenv("SYNCOVA_URL", "http://127.0.0.1:8760/")
    assert find_server().token == "syncova_local"


def test_the_token_is_in_no_repr() -> None:
    assert "secret" not in repr(Server("http://x", "secret"))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"url": "file:///etc", "token_file": "/x"}'])
def test_a_damaged_file_is_named(data: Path, content: str) -> None:
    (data / "ctl.json").write_text(content)
    with pytest.raises(CommandError):
        find_server()


def test_without_any_server_the_next_step_is_told(data: Path, capsys: Any) -> None:
    (data / "ctl.json").unlink()
    with pytest.raises(ServerUnknownError):
        find_server()
    assert main(["status", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], "./syncova up -d" in error["hint"]) == ("SERVER_UNKNOWN", True)


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://user:secret@host", "x"])
def test_what_is_no_address_is_refused(data: Path, monkeypatch: Any, url: str) -> None:
    monkeypatch.setenv("SYNCOVA_URL", url)
    monkeypatch.setenv("SYNCOVA_TOKEN", "t")
    with pytest.raises(ServerUnknownError):
        find_server()


class Strange(http.server.BaseHTTPRequestHandler):
    """Answers as told by the path; remembers every request's headers."""

    seen: list[tuple[str, str | None]] = []
    drop_next = False

    def do_GET(self) -> None:
        Strange.seen.append((self.path, self.headers["Idempotency-Key"]))
        if Strange.drop_next:
            Strange.drop_next = False
            self.close_connection = True
            return
        if self.path.endswith("/elsewhere"):
            self.send_response(302)
            self.send_header("Location", "/api/v1/caught")
            self.end_headers()
            return
        self.send_response(200 if self.path.endswith("ok") else 500)
        self.end_headers()
        self.wfile.write(b'{"done": true}' if self.path.endswith("ok") else b"<html>")

    do_POST = do_GET  # noqa: N815 - the name that the library calls

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.fixture
def strange() -> Iterator[Api]:
    Strange.seen.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Strange)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield Api(Server(f"http://127.0.0.1:{server.server_port}", "token"))
    server.shutdown()
    thread.join()
    server.server_close()


def test_no_redirect_is_followed(strange: Api) -> None:
    with pytest.raises(ReportedFailureError) as caught:
        strange.get("elsewhere")
    assert caught.value.failure.code == "NOT_SYNCOVA"
    assert [path for path, _ in Strange.seen] == ["/api/v1/elsewhere"]


def test_an_answer_that_is_not_ours_is_told_as_such(strange: Api) -> None:
    with pytest.raises(ReportedFailureError) as caught:
        strange.get("broken")
    assert caught.value.failure.code == "NOT_SYNCOVA"


def test_a_lost_answer_is_asked_for_again_under_the_same_key(strange: Api) -> None:
    """E5: nothing is made twice."""
    Strange.drop_next = True
    assert strange.create("ok") == {"done": True}
    keys = {key for _, key in Strange.seen}
    assert (len(Strange.seen), len(keys), None in keys) == (2, 1, False)


def test_a_server_that_is_away_is_named(unused_port: int) -> None:
    with pytest.raises(ReportedFailureError) as caught:
        Api(Server(f"http://127.0.0.1:{unused_port}", "token")).get("jobs")
    assert caught.value.failure.code == "SERVER_AWAY"


@pytest.fixture
def unused_port() -> int:
    with http.server.HTTPServer(("127.0.0.1", 0), Strange) as server:
        return server.server_port


@pytest.mark.parametrize("token", ["secret\nb", "secret b", "secret\r", "s\u00e9cret", "secret\x00", " ", "secret\x7f"])
@pytest.mark.parametrize("way", ["variable", "file"])
@pytest.mark.usefixtures("data")
def test_a_token_with_odd_characters_is_refused_and_never_shown(
    capsys: Any, monkeypatch: Any, data: Path, token: str, way: str
) -> None:
    if way == "variable":
        monkeypatch.setattr("syncova_project.env.os.environ", {**os.environ, "SYNCOVA_TOKEN": f"a{token}b"})
    else:
        (data / "token").write_text(f"a{token}b")
    assert main(["status"]) == 2
    streams = capsys.readouterr()
    assert "holds characters that no token has" in streams.err or "it holds no token" in streams.err
    assert "secret" not in streams.out + streams.err


@pytest.mark.usefixtures("data")
def test_an_empty_token_and_a_password_in_an_address_are_named(capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("SYNCOVA_TOKEN", "")
    assert main(["status"]) == 2
    assert "SYNCOVA_TOKEN is empty" in capsys.readouterr().err
    monkeypatch.setenv("SYNCOVA_TOKEN", "t")
    monkeypatch.setenv("SYNCOVA_URL", "https://alice:hunter2@backup.example.org")
    assert main(["status"]) == 2
    assert "hunter2" not in capsys.readouterr().err


@pytest.mark.parametrize("text", ["9" * 21 + "h", "1" * 6000 + "s", "99999999999d", "2000000000s"])
def test_a_time_beyond_all_measure_is_called_so(text: str) -> None:
    with pytest.raises(CommandError, match=r"^--for: [0-9]+…?[a-z]? is too long a time$"):
        seconds_of(text, "--for")


@pytest.mark.parametrize(("text", "seconds"), [("6h", 21600), ("90min", 5400), ("1d12h", 129600), (" 5 m ", 300)])
def test_lengths_of_time(text: str, seconds: int) -> None:
    assert seconds_of(text, "--for") == seconds


@pytest.mark.parametrize("text", ["", "6", "h", "6x", "6h!", "-6h", "6.5h"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(CommandError):
        seconds_of(text, "--for")
