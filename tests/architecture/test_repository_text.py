"""What no file of the repository may name: other hosts, this machine's places, work left open."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_files import CLONE, repository_files

# Names of the documentation and test kind, this machine itself, and the licence's own address.
HOSTS = re.compile(
    r"^(localhost|127\.\d+\.\d+\.\d+|\[::1?\]|0\.0\.0\.0|([a-z0-9-]+\.)*(example|invalid|test)(\.(org|com|net))?"
    r"|www\.apache\.org|[a-z0-9-]+)$"
)
ADDRESS = re.compile(r"https?://(?:[^\s/@\"']*@)?(\[[0-9a-f:]+\]|[A-Za-z0-9.-]+)")
LEFT_OPEN = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
THIS_FILE = Path(__file__).resolve()


def lines() -> Iterator[tuple[str, str]]:
    """Yield (place, line) of every text file but this one."""
    for name in repository_files():
        content = (CLONE / name).read_bytes()
        if b"\0" in content or CLONE / name == THIS_FILE:
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            yield f"{name}:{number}", line


def foreign_hosts(line: str) -> list[str]:
    """Return the hosts in a line that are neither examples nor this machine."""
    return [host for host in ADDRESS.findall(line) if not HOSTS.match(host.lower().rstrip("."))]


def test_no_file_names_another_host() -> None:
    """Packages come from where pip is told to look, and no page loads anything from elsewhere."""
    assert [(place, hosts) for place, line in lines() if (hosts := foreign_hosts(line))] == []


def test_a_foreign_host_is_seen() -> None:
    assert foreign_hosts("see https://packages.somewhere.dev/simple") == ["packages.somewhere.dev"]
    assert foreign_hosts("see https://backup.example.org:8443/x and http://[::1]:1") == []


def test_no_file_names_this_clone() -> None:
    assert [place for place, line in lines() if str(CLONE) in line] == []


def test_nothing_is_left_open() -> None:
    assert [place for place, line in lines() if LEFT_OPEN.search(line)] == []
