"""Addresses of the repositories API, below /api/v1/."""

from django.urls import path

from repositories.backup_views import BackupsView, BackupView
from repositories.views import (
    RepositoriesView,
    RepositoryFreezeView,
    RepositoryJournalView,
    RepositoryLimitsView,
    RepositoryLookView,
    RepositoryUnfreezeView,
)

urlpatterns = [
    path("backups", BackupsView.as_view(), name="backups"),
    path("backups/<uuid:backup_id>", BackupView.as_view(), name="backup"),
    path("repositories", RepositoriesView.as_view(), name="repositories"),
    path("repositories/<uuid:repository_id>/freeze", RepositoryFreezeView.as_view(), name="repository-freeze"),
    path("repositories/<uuid:repository_id>/freezes", RepositoryJournalView.as_view(), name="repository-freezes"),
    path("repositories/<uuid:repository_id>/limits", RepositoryLimitsView.as_view(), name="repository-limits"),
    path("repositories/<uuid:repository_id>/look", RepositoryLookView.as_view(), name="repository-look"),
    path("repositories/<uuid:repository_id>/unfreeze", RepositoryUnfreezeView.as_view(), name="repository-unfreeze"),
]
