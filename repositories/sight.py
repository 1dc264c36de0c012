"""Which repositories a caller sees: of an address, of the audit trail's entries, on pages. Owns these answers alone."""

from repositories.models import Backup, Repository
from repositories.selectors import repository_get
from syncova_project.access.visibility import GROUPS, GUARDS, entries_seen, model_seen

GUARDS["repository_id"] = repository_get
GROUPS.append(lambda: Repository.objects.order_by().values_list("worker_group", flat=True).distinct())
entries_seen("repository", Repository.objects.all, "worker_group")
entries_seen("backup", Backup.objects.all, "repository__worker_group")
model_seen("repositories.repository", "worker_group")
model_seen("repositories.backup", "repository__worker_group")
model_seen("repositories.repositoryfreeze", "repository__worker_group")
