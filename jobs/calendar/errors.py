"""What is wrong with a schedule, named by the field of the API's JSON that holds it."""

from syncova_project.errors import ValidationFailedError


class ScheduleInvalidError(ValidationFailedError):
    """A schedule that cannot be planned; `field` is relative to the schedule, for example `time_zone`."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(f"{field}: {sentence}", details={field: sentence})
        self.field = field
