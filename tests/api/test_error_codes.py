"""Every code that has an HTTP status is provoked by a test, and told in the API's description and the docs (E8, 7.12).

Owns the list of those that are not, each with its reason.
"""

import re

from syncova_project.api_page import description
from syncova_project.error_codes import known_codes
from tests.architecture.error_codes import DOCUMENT
from tests.architecture.source_files import CLONE

# Codes that no test asserts by their word, each with the reason.
UNPROVOKED: dict[str, str] = {
    "WORKERS_NOT_FOUND": "no endpoint drains workers: tests/jobs/test_draining names the class",
}
_WITH_STATUS = re.compile(r"^\| `([A-Z][A-Z0-9_]+)` \|.*\| [45][0-9]{2} \|[^|]*\|$", re.MULTILINE)
_NAMED = re.compile(r"""["']([A-Z][A-Z0-9_]{2,})["']""")


def named_in_tests() -> set[str]:
    """Return every code that stands as a word of its own in a test's source, but for this one's."""
    own = CLONE / "tests" / "api" / "test_error_codes.py"
    sources = (path.read_text(encoding="utf-8") for path in (CLONE / "tests").rglob("*.py") if path != own)
    return {code for text in sources for code in _NAMED.findall(text)}


def test_each_code_is_asserted_by_a_test() -> None:
    # The table is held against the source by tests/architecture.
    codes = set(_WITH_STATUS.findall(DOCUMENT.read_text(encoding="utf-8")))
    assert len(codes) > 50
    assert sorted(codes - named_in_tests()) == sorted(UNPROVOKED)


def test_each_code_is_described_and_documented() -> None:
    described, written = str(description()), DOCUMENT.read_text(encoding="utf-8")
    assert [code for code in known_codes() if code not in described] == []
    assert [code for code in known_codes() if f"`{code}`" not in written] == []
