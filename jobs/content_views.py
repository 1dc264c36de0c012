"""The API of a backup's contents: one file, to be kept (7.4). Decides nothing; who took what is in the audit trail."""

import uuid
from functools import partial

from django.db import transaction
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.request import Request

from jobs.backup_content import Content
from jobs.byte_ranges import asked_range, tag_of
from jobs.database_time import database_now
from jobs.lookup_serializers import ContentFilter
from jobs.negotiation import OwnForm
from repositories.backup_listing import backup_of
from repositories.engine.display import show_path
from repositories.models import Backup
from repositories.selectors import repository_get
from syncova_project.access.scopes import Scope
from syncova_project.access.services import audit_record
from syncova_project.access.standing import Standing, Watch
from syncova_project.preconditions import has_already
from syncova_project.rest import ApiView, actor_of, not_modified


class BackupContentView(ApiView):
    """GET downloads one regular file of a backup, where the server itself reaches the repository; else 409 says how.

    The answer is the file's bytes and no JSON. One that is shorter than its Content-Length is not whole; Range asks
    for one stretch (206), with the ETag in If-Range for one of the same file. A 304 reads nothing and is no entry.
    """

    content_negotiation_class = OwnForm
    scopes = {"GET": (Scope.BACKUPS_READ_CONTENT,)}
    queries, media = {"GET": ContentFilter}, {"GET": "application/octet-stream"}
    ranges = tagged = frozenset({"GET"})

    def get(self, request: Request, repository_id: uuid.UUID, backup: str) -> HttpResponseBase:
        """Return the file's bytes, or 304 for who has them already."""
        if request.method != "GET":
            raise MethodNotAllowed(str(request.method))
        path = self.query(request)["path"]
        found = backup_of(repository_id, backup)
        tag = tag_of(found.manifest_id, path)
        had = request.headers.get("If-None-Match", "").strip()
        if has_already(had, tag) and had != "*":
            return not_modified(tag)
        part = asked_range(request.headers.get("Range"), request.headers.get("If-Range"), tag)
        watch = Watch(Standing(request, self.scopes["GET"]), partial(repository_get, repository_id))
        content = Content(found, path, watch.refusal, part)
        if has_already(had, tag):
            # Any state will do: only now it is known that there is one.
            content.close()
            return not_modified(tag)
        try:
            _record(actor_of(request), found, path, content)
        except BaseException:
            content.close()
            raise
        return _file(content, path, tag)


def _record(actor: str, backup: Backup, path: bytes, content: Content) -> None:
    details: dict[str, object] = {"path": show_path(path), "bytes": content.count, "backup_id": backup.backup_id}
    if content.is_part:
        details["first_byte"] = content.first
    with transaction.atomic():
        audit_record(
            actor=actor,
            action="backup.read_content",
            subject_type="backup",
            subject_id=backup.id,
            now=database_now(),
            details=details,
        )


def _file(content: Content, path: bytes, tag: str) -> StreamingHttpResponse:
    # Never shown by a browser, whatever it holds: its type is not guessed, and it is an attachment.
    disposition = content_disposition_header(as_attachment=True, filename=_safe_name(path))
    headers = {
        "Content-Length": str(content.count),
        "Content-Disposition": disposition or "attachment",
        "X-Content-Type-Options": "nosniff",
        "Accept-Ranges": "bytes",
        "ETag": tag,
    }
    if content.is_part:
        headers["Content-Range"] = f"bytes {content.first}-{content.first + content.count - 1}/{content.size}"
    status = 206 if content.is_part else 200
    return StreamingHttpResponse(content, status=status, content_type="application/octet-stream", headers=headers)


def _safe_name(path: bytes) -> str:
    """Return the file's name as text that no file system takes for a path, an option or a hidden file."""
    shown = show_path(path.rstrip(b"/").rpartition(b"/")[2])
    return shown.replace("\\", "_").replace(":", "_").lstrip(".-")[-200:] or "content"
