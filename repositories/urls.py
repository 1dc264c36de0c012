"""Addresses of the repositories API, below /api/v1/."""

from django.urls import path

from repositories.views import RepositoriesView, RepositoryView

urlpatterns = [
    path("repositories", RepositoriesView.as_view(), name="repositories"),
    path("repositories/<uuid:repository_id>", RepositoryView.as_view(), name="repository"),
]
