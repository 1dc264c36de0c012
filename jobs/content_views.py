"""The API of a backup's contents: one file, to be kept (7.4). Decides nothing; who took what is in the audit trail."""

import uuid

from django.db import transaction
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.request import Request

from jobs.backup_content import Content
from jobs.database_time import database_now
from jobs.lookup_serializers import ContentFilter
from jobs.negotiation import OwnForm
from repositories.backup_listing import backup_of
from repositories.engine.display import show_path
from repositories.models import Backup
from syncova_project.access.scopes import Scope
from syncova_project.access.services import audit_record
from syncova_project.rest import ApiView, actor_of


class BackupContentView(ApiView):
    """GET downloads one regular file of a backup, where the server itself reaches the repository; else 409 says how.

    The answer is the file's bytes and no JSON. One that is shorter than its Content-Length is not whole.
    """

    content_negotiation_class = OwnForm
    scopes = {"GET": (Scope.BACKUPS_READ_CONTENT,)}
    queries, media = {"GET": ContentFilter}, {"GET": "application/octet-stream"}

    def get(self, request: Request, repository_id: uuid.UUID, backup: str) -> StreamingHttpResponse:
        """Return the file's bytes."""
        if request.method != "GET":
            raise MethodNotAllowed(str(request.method))
        path = self.query(request)["path"]
        found = backup_of(repository_id, backup)
        content = Content(found, path)
        try:
            _record(actor_of(request), found, path, content.size)
        except BaseException:
            content.close()
            raise
        return _file(content, path)


def _record(actor: str, backup: Backup, path: bytes, size: int) -> None:
    details = {"path": show_path(path), "bytes": size, "backup_id": backup.backup_id}
    with transaction.atomic():
        audit_record(
            actor=actor,
            action="backup.read_content",
            subject_type="backup",
            subject_id=backup.id,
            now=database_now(),
            details=details,
        )


def _file(content: Content, path: bytes) -> StreamingHttpResponse:
    # Never shown by a browser, whatever it holds: its type is not guessed, and it is an attachment.
    disposition = content_disposition_header(as_attachment=True, filename=_safe_name(path))
    headers = {
        "Content-Length": str(content.size),
        "Content-Disposition": disposition or "attachment",
        "X-Content-Type-Options": "nosniff",
    }
    return StreamingHttpResponse(content, content_type="application/octet-stream", headers=headers)


def _safe_name(path: bytes) -> str:
    """Return the file's name as text that no file system takes for a path, an option or a hidden file."""
    shown = show_path(path.rstrip(b"/").rpartition(b"/")[2])
    return shown.replace("\\", "_").replace(":", "_").lstrip(".-")[-200:] or "content"
