"""Engine errors as data. Owns the translation alone."""

from repositories.engine.errors import EngineError
from repositories.engine.process.protocol import ErrorInfo


def error_info(error: EngineError) -> ErrorInfo:
    """Return an engine error as the protocol carries it."""
    return ErrorInfo(
        code=error.code,
        message=error.message,
        hint=error.hint,
        failure_class=error.failure_class,
        exit_code=error.exit_code,
    )
