"""What people may write upon backups. Owns the limits of tags, reasons and notes alone."""

from repositories.engine.errors import ConfigurationError

LONGEST_TAG = 100
LONGEST_TEXT = 1000


def require_tag(tag: str) -> None:
    """Raise ConfigurationError unless `tag` is plain text of at most 100 characters."""
    if not tag or tag != tag.strip() or not tag.isprintable() or len(tag) > LONGEST_TAG:
        raise ConfigurationError(
            "a tag must be plain text", hint=f"at most {LONGEST_TAG} characters, no blanks around it, no controls"
        )


def require_text(text: str, what: str) -> None:
    """Raise ConfigurationError unless `text` is plain text of at most 1000 characters; it may be empty."""
    if not text.isprintable() or len(text) > LONGEST_TEXT:
        raise ConfigurationError(
            f"{what} must be plain text", hint=f"at most {LONGEST_TEXT} characters in one line, no controls"
        )
