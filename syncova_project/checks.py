"""System checks with ids: settings that contradict each other, and those that a server cannot do without.

Owns the rules alone; nothing is connected to. What a server needs is checked with `check --deploy`, so that commands
which need no server (a schedule's preview, the lint) run without any setting.
"""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured

from syncova_project.derived import is_loopback_url, rhythm_problem

_SHORTEST_KEY = 32


@register("syncova")
def contradictions(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return what no start may go past."""
    problem = rhythm_problem(
        tick=settings.SYNCOVA_TICK_SECONDS,
        heartbeat=settings.SYNCOVA_HEARTBEAT_SECONDS,
        orphan=settings.SYNCOVA_ORPHAN_SECONDS,
    )
    return [] if problem is None else [Error(problem.message, hint=problem.hint, id="syncova.E001")]


@register("syncova", Tags.security, deploy=True)
def missing(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return the settings that a server needs and does not have."""
    database = settings.DATABASES["default"]
    needed = [
        ("syncova.E002", "SYNCOVA_DJANGO_KEY", _has_django_key()),
        ("syncova.E003", "SYNCOVA_SECRET_KEYS", bool(settings.SYNCOVA_SECRET_KEYS)),
        ("syncova.E004", "SYNCOVA_DATABASE_URL", bool(database["NAME"])),
        ("syncova.E005", "SYNCOVA_BROKER_URL", bool(settings.SYNCOVA_BROKER_URL)),
    ]
    return [
        Error(
            f"{name} is not set, or too short.", hint="`./syncova up` makes one; see docs/settings.md.", id=identifier
        )
        for identifier, name, present in needed
        if not present
    ]


@register("syncova", Tags.security, deploy=True)
def risky(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Return the settings that weaken a server."""
    far = not is_loopback_url(settings.SYNCOVA_PUBLIC_URL)
    rules = [
        (
            "syncova.W002",
            settings.SYNCOVA_ALLOW_UNENCRYPTED,
            "SYNCOVA_ALLOW_UNENCRYPTED: repositories without a password are accepted; whoever reads them reads all.",
        ),
        (
            "syncova.W004",
            not settings.SYNCOVA_FREEZES,
            "SYNCOVA_FREEZES is off: backups start on repositories that are known to be damaged or swapped.",
        ),
        (
            "syncova.W003",
            far and settings.SYNCOVA_PUBLIC_URL.startswith("http://"),
            "SYNCOVA_PUBLIC_URL is http:// on another name than this machine's: passwords and tokens travel in clear.",
        ),
    ]
    return [Warning(text, id=identifier) for identifier, broken, text in rules if broken]


def _has_django_key() -> bool:
    try:
        return len(settings.SECRET_KEY) >= _SHORTEST_KEY
    except ImproperlyConfigured:
        return False
