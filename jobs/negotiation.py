"""Answers whose form is not the client's choice. Owns the rule that errors stay JSON whatever a client accepts."""

from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request


class OwnForm(BaseContentNegotiation):
    """Takes what a client accepts for no refusal: a stream or a file says itself what it is."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """Return the one parser."""
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> tuple[Any, str]:
        """Return the one renderer, which is JSON's."""
        return renderers[0], renderers[0].media_type
