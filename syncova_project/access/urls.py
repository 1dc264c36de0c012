"""Addresses of the API of access control, below /api/v1/."""

from django.urls import path

from syncova_project.access import views

urlpatterns = [
    path("audit", views.AuditView.as_view(), name="audit"),
    path("tokens", views.TokensView.as_view(), name="tokens"),
    path("tokens/<str:token_id>", views.TokenView.as_view(), name="token"),
]
