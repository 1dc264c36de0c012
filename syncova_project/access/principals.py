"""Who acts: a token or a person, with the rights that they hold at this moment.

Owns what the audit trail calls them and how rights come together. Decides nothing.
"""

from dataclasses import dataclass
from typing import Any

from syncova_project.access.models import ApiToken
from syncova_project.access.people import actor_of_person, groups_of, rights_of
from syncova_project.access.scopes import Scope
from syncova_project.access.visibility import Groups, overlap


@dataclass(frozen=True, slots=True)
class Principal:
    """Who acts: `actor` is what the audit trail says, `scopes` are the rights held, over repositories of `groups`."""

    actor: str
    scopes: frozenset[Scope]
    token: ApiToken | None = None
    user_id: int | None = None
    groups: Groups = None
    is_authenticated: bool = True

    @classmethod
    def of_token(cls, token: ApiToken) -> "Principal":
        """Return the principal of a live token; the prefix tells two tokens of one name apart.

        A person's token never may nor sees more than the person now.
        """
        scopes = frozenset(Scope(name) for name in token.scopes)
        groups = None if token.worker_groups is None else frozenset(token.worker_groups)
        if token.user is not None:
            scopes &= rights_of(token.user)
            groups = overlap(groups, groups_of(token.user))
        return cls(f"token:{token.name} ({token.prefix})", scopes, token, token.user_id, groups)

    @classmethod
    def of_person(cls, user: Any) -> "Principal":
        """Return the principal of somebody who is logged in."""
        return cls(actor_of_person(user), rights_of(user), user_id=user.pk, groups=groups_of(user))
