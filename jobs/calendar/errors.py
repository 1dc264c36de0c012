"""What is wrong with a schedule or a window, named by the fields of the API's JSON that hold it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Self

from syncova_project.errors import ValidationFailedError

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class FieldsInvalidError(ValidationFailedError):
    """All that is wrong with one object: `problems` maps its refused fields to sentences, `field` is the first."""

    def __init__(self, field: str, sentence: str, others: Mapping[str, str] = _NONE) -> None:
        self.field = field
        self.problems = {field: sentence, **others}
        message = " ".join(f"{name}: {told}" for name, told in self.problems.items())
        super().__init__(message, details=self.problems)

    @classmethod
    def of(cls, problems: Mapping[str, str]) -> Self:
        """Return the error of several fields, at least one."""
        field, sentence = next(iter(problems.items()))
        return cls(field, sentence, problems)


class ScheduleInvalidError(FieldsInvalidError):
    """A schedule that cannot be planned; fields are relative to the schedule, for example `time_zone`."""
