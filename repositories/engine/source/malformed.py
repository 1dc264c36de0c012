"""The error of one exclude rule that can match nothing. Owns no wording but its reason's place."""


class MalformedRuleError(ValueError):
    """A rule that can match nothing; its text says why, for the sentence that names the rule."""
