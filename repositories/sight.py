"""Which repositories a caller sees: of an address, and of the audit trail's entries. Owns these two answers alone."""

from repositories.models import Backup, Repository
from repositories.selectors import repository_get
from syncova_project.access.visibility import GUARDS, entries_seen

GUARDS["repository_id"] = repository_get
entries_seen("repository", Repository.objects.all, "worker_group")
entries_seen("backup", Backup.objects.all, "repository__worker_group")
