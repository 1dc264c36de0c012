"""`migrate status`: which migrations are applied, and nothing changed (design)."""

from io import StringIO

import pytest
from django.core.management import call_command


@pytest.mark.django_db
def test_migrate_status_lists_what_is_applied_and_what_is_not():
    out = StringIO()
    call_command("migrate", "status", stdout=out)
    assert "jobs\n [X] 0001_initial" in out.getvalue()
    assert "[ ]" not in out.getvalue()
