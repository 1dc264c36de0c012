"""Whether the database is away or has answered: the one judgement over errors of its driver, for whoever waits.

Owns the difference between "no answer, or none for now" (wait, ask again) and "the statement was refused" (tell it).
The class that the driver chooses says little: a connection that dies in the middle of an answer comes as a plain
DatabaseError. What the server has said has a SQLSTATE. Classes are known by their names, so that commands which need
no database load neither Django nor the driver.
"""

from typing import Any, Final

# Connection lost; resources short; an operator ended it, or it starts up; its disk or system fails.
_CLASSES: Final = frozenset({"08", "53", "57", "58"})
_CODES: Final = frozenset(
    {
        # Of several writers at once this one was put back: the same transaction may be run again.
        "40001",
        "40003",
        "40P01",
        "55P03",
        # A server that takes no writes for now, since another has taken its place.
        "25006",
        # The server closed the connection of a transaction that took too long.
        "25P03",
        "25P04",
    }
)
_NO_ANSWER: Final = frozenset({"OperationalError", "InterfaceError"})
_MOST_SHOWN: Final = 500


def sqlstate_of(error: BaseException) -> str:
    """Return the code of what the server answered, "" where it did not answer."""
    driver = _driver_error(error)
    return "" if driver is None else str(driver.pgcode or "")


def is_away(error: BaseException) -> bool:
    """Tell whether waiting can help: there was no answer, or one that a later attempt need not get.

    Any other error, one of no database too, is no such case.
    """
    driver = _driver_error(error)
    if driver is None:
        return _of(type(error), _NO_ANSWER) and _is_of_a_database(error)
    if code := sqlstate_of(error):
        return code[:2] in _CLASSES or code in _CODES
    # Without a code it is the driver that speaks. Where it knows no better class than the base of all, it got
    # something else than an answer; a wrong use of the driver has a class of its own.
    return type(driver).__name__ == "DatabaseError" or _of(type(driver), _NO_ANSWER) or _is_closed(driver)


def reason_of(error: BaseException) -> str:
    """Return what the server or the driver says, in one line without values of rows, and its SQLSTATE."""
    driver = _driver_error(error)
    told = None if driver is None else getattr(driver.diag, "message_primary", None)
    lines = str(told or error).strip().splitlines()
    line = " ".join(lines[0].split())[:_MOST_SHOWN] if lines else "it does not answer"
    code = sqlstate_of(error)
    return f"{line} (SQLSTATE {code})" if code else line


def _driver_error(error: BaseException) -> Any:
    """Return the driver's own error: Django's has it as its cause."""
    return next((each for each in (error, error.__cause__) if hasattr(each, "pgcode")), None)


def _is_closed(driver: Any) -> bool:
    return bool(getattr(getattr(driver.cursor, "connection", None), "closed", 0))


def _is_of_a_database(error: BaseException) -> bool:
    return type(error).__module__.startswith("django.db")


def _of(kind: type, names: frozenset[str]) -> bool:
    return any(each.__name__ in names for each in kind.__mro__)
