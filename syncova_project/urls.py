"""Every address of the server; each app owns those below its own names."""

from django.contrib import admin
from django.urls import include, path

handler400 = "syncova_project.rest.handler400"
handler403 = "syncova_project.rest.handler403"
handler404 = "syncova_project.rest.handler404"
handler500 = "syncova_project.rest.handler500"

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/v1/", include("repositories.urls")),
]
