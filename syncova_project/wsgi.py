"""The web process's entry point: gunicorn imports `application`."""

from django.core.wsgi import get_wsgi_application

from syncova_project import env

env.use_settings_module()
application = get_wsgi_application()
