"""Every address of the server; each app owns those below its own names."""

from django.contrib import admin
from django.urls import include, path

from syncova_project import api_page, health
from syncova_project.access.people_admin import own_password

handler400 = "syncova_project.error_pages.handler400"
handler403 = "syncova_project.error_pages.handler403"
handler404 = "syncova_project.error_pages.handler404"
handler500 = "syncova_project.error_pages.handler500"

urlpatterns = [
    path("health/live", health.live, name="health-live"),
    path("health/ready", health.ready, name="health-ready"),
    path("admin/password_change/", admin.site.admin_view(own_password)),
    path("admin/", admin.site.urls),
    path("api/v1/schema", api_page.schema, name="schema"),
    path("api/v1/docs", api_page.page, name="docs"),
    path("api/v1/", include("syncova_project.access.urls")),
    path("api/v1/", include("repositories.urls")),
    path("api/v1/", include("jobs.urls")),
]
