"""What may be asked about the inside of a backup, and how a worker's answer is shown (7.4).

Owns names, forms and bounds of the query parameters, and the signed place after which the next page begins.
"""

import base64
import json
from typing import Any, Final

from rest_framework import serializers

from jobs.operation_serializers import MAX_PATH, PathText
from repositories.lookup_rows import RepositoryLookup
from repositories.lookups import Question, lookup_answer
from repositories.models import Backup
from syncova_project.instants import instant
from syncova_project.paging import Ordering, PageRequest, open_place, sign_place
from syncova_project.rest import StrictSerializer

MAX_ENTRIES: Final = 1000
_LIST: Final = "repository_lookups"
_ORDERING: Final = Ordering("name")


class LookupFilter(StrictSerializer):
    """What every question takes."""

    cursor = serializers.CharField(max_length=16_000, default="")
    limit = serializers.IntegerField(min_value=1, max_value=MAX_ENTRIES, default=200)


class PathFilter(StrictSerializer):
    """A path as it was on the source, or relative to it; `path_base64` holds the exact bytes of one that is no text."""

    path = serializers.CharField(max_length=MAX_PATH, trim_whitespace=False, allow_blank=True, default="")
    path_base64 = PathText(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the path as its exact bytes alone."""
        text, exact = attrs.pop("path"), attrs.pop("path_base64", None)
        if text and exact is not None:
            raise serializers.ValidationError({"path": ["Give one of path and path_base64."]})
        return {**attrs, "path": text.encode() if exact is None else base64.b64decode(exact)}


class FilesFilter(PathFilter, LookupFilter):
    """The query parameters of GET …/files: a directory; the top of the source without one."""


class ContentFilter(PathFilter):
    """The query parameters of GET …/content; a source that is one file needs no path."""


class FindFilter(LookupFilter):
    """The query parameters of GET …/find: `pattern` (*, ?, […]) fits a name, or with a slash in it the whole path."""

    pattern = serializers.CharField(max_length=1000, trim_whitespace=False)
    ignore_case = serializers.BooleanField(default=False)


def question_of(backup: Backup, operation: str, filters: dict[str, Any]) -> Question:
    """Return the question that validated filters ask; raises CursorRefusedError for another question's cursor."""
    cursor, limit = filters.pop("cursor"), filters.pop("limit")
    path = {"path_base64": base64.b64encode(filters.pop("path")).decode("ascii")} if "path" in filters else {}
    order = {**filters, **path, "limit": limit}
    if not cursor:
        return Question(backup, operation, order)
    after, _ = open_place(_page(operation, str(backup.repository_id), _of(order, backup.manifest_id), cursor), _LIST)
    return Question(backup, operation, {**order, "after_base64": after})


def lookup_json(row: RepositoryLookup) -> dict[str, Any]:
    """Return a lookup that has no answer yet."""
    return {
        "id": str(row.id),
        "state": row.state,
        "repository": str(row.repository_id),
        "backup_id": row.backup_id,
        "asked_at": instant(row.asked_at),
        "expires_at": instant(row.expires_at),
    }


def answer_json(row: RepositoryLookup) -> dict[str, Any]:
    """Return the worker's answer; `missing` says why the path is not in the backup, and then there is nothing else."""
    answer = lookup_answer(row)
    if "missing" in answer:
        return answer
    after, order = answer.pop("next_base64"), json.loads(row.question)
    page = _page(row.operation, str(row.repository_id), order, "")
    following = None if after is None else sign_place(page, _LIST, after, 0)
    return {"lookup": str(row.id), "backup_id": row.backup_id, **answer, "next_cursor": following}


def _of(order: dict[str, Any], manifest_id: str) -> dict[str, Any]:
    return {**order, "manifest_id": manifest_id}


def _page(operation: str, repository: str, order: dict[str, Any], cursor: str) -> PageRequest:
    """Return what a cursor belongs to: everything of a question but where it begins and how much it wants."""
    fixed = {name: value for name, value in order.items() if name not in {"after_base64", "limit"}}
    return PageRequest(_ORDERING, {"operation": operation, "repository": repository, **fixed}, cursor)
