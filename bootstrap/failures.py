"""The one error of the bootstrap. Owns its exit codes; printing it is main's."""

FAILED = 1
USAGE = 2


class BootstrapError(Exception):
    """One line for a person: what could not be done, why, and the next step."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
