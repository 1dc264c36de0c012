"""The web process's entry point: gunicorn imports `application`."""

from django.core.wsgi import get_wsgi_application

from syncova_project import env
from syncova_project.errors import SyncovaError
from syncova_project.schema.guard import require_fitting_schema_if_reachable

env.use_settings_module()
application = get_wsgi_application()
try:
    require_fitting_schema_if_reachable()
except SyncovaError as error:
    # Before the first request: a program older than its database serves nobody (H9).
    raise SystemExit(f"{error.code}: {error.message} {error.hint}".rstrip()) from error
