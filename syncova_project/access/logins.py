"""What the audit trail says of logins: who came and went, and who was turned away.

Owns the receivers of Django's own signals. A name that no user has is not kept: people type passwords into that field.
"""

from collections.abc import Mapping
from typing import Any, Final

from django.contrib.auth import get_user_model, user_logged_in, user_logged_out, user_login_failed
from django.dispatch import receiver

from syncova_project import clock
from syncova_project.access.people import actor_of_person
from syncova_project.access.services import audit_record

NOBODY: Final = "nobody"
UNKNOWN: Final = "unknown"


@receiver(user_logged_in)
def record_login(sender: Any, user: Any, **kwargs: Any) -> None:
    """Write that a person logged in."""
    _record(actor_of_person(user), "session.login", user.get_username())


@receiver(user_logged_out)
def record_logout(sender: Any, user: Any, **kwargs: Any) -> None:
    """Write that a person logged out; a session that had ended by itself is nobody's."""
    if user is not None:
        _record(actor_of_person(user), "session.logout", user.get_username())


@receiver(user_login_failed)
def record_refusal(sender: Any, credentials: Mapping[str, Any], **kwargs: Any) -> None:
    """Write that somebody was turned away, and under whose name."""
    _record(NOBODY, "session.refuse", known_name(credentials))


def known_name(credentials: Mapping[str, Any]) -> str:
    """Return the name that was tried if a user has it, else a word that says nothing."""
    users = get_user_model()
    name = credentials.get(users.USERNAME_FIELD)
    known = isinstance(name, str) and "\0" not in name and users.objects.filter(**{users.USERNAME_FIELD: name}).exists()
    return str(name) if known else UNKNOWN


def _record(actor: str, action: str, name: str) -> None:
    audit_record(actor=actor, action=action, subject_type="user", subject_id=name, now=clock.now())
