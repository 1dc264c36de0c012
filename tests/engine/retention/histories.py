"""Histories of backups as facts, and what rules keep of them."""

import datetime as dt

from repositories.engine.retention.policy import Facts, KeepRules, Reason, judge

SECOND = 10**9
HOUR = 3600 * SECOND
DAY = 24 * HOUR
NOW = int(dt.datetime(2026, 11, 30, tzinfo=dt.UTC).timestamp()) * SECOND


def at(text: str) -> int:
    """Return the ns of a time with its offset."""
    moment = dt.datetime.fromisoformat(text)
    return int(moment.timestamp()) * SECOND


def facts(number: int, received_ns: int, source: str = "home", **more: object) -> Facts:
    values: dict[str, object] = {"sequence": number, "good": True, **more}
    return Facts(f"{number:032x}", source, received_ns, **values)  # type: ignore[arg-type]


def series(*times: str) -> list[Facts]:
    return [facts(number, at(text)) for number, text in enumerate(times, start=1)]


def stays(backups: list[Facts], now_ns: int = NOW, **rules: object) -> dict[int, list[Reason]]:
    verdicts = judge(backups, KeepRules(**rules), now_ns)  # type: ignore[arg-type]
    return {each.facts.sequence: list(each.reasons) for each in verdicts if each.keep}
