"""Django's settings, each read by syncova_project.env; owns names and derived values, no rule of its own.

Importing it needs no server and no secret: what is missing is named when it is used, and by the system checks.
"""

from typing import Any

from syncova_project import env
from syncova_project.connection_urls import database_settings
from syncova_project.derived import checked_rhythm, hosts_and_origins, is_loopback_url, seal_keys, trusted_networks
from syncova_project.log import logging_settings

ENVIRONMENT = env.load()
DATA_DIR = env.data_directory(ENVIRONMENT)

# Basics
SECRET_KEY = ENVIRONMENT.text("SYNCOVA_DJANGO_KEY") or ""
# Never on: its pages would show settings and tracebacks to every visitor.
DEBUG = False
SYNCOVA_SECRET_KEYS: list[bytes] = seal_keys(ENVIRONMENT.words("SYNCOVA_SECRET_KEYS"))
LOGGING = logging_settings(ENVIRONMENT.word("SYNCOVA_LOG_LEVEL"), ENVIRONMENT.word("SYNCOVA_LOG_FORMAT"))

# Servers
DATABASES: dict[str, dict[str, Any]] = {"default": database_settings(ENVIRONMENT.text("SYNCOVA_DATABASE_URL"))}
SYNCOVA_MIGRATION_DATABASE_URL = ENVIRONMENT.text("SYNCOVA_MIGRATION_DATABASE_URL")
SYNCOVA_BROKER_URL = ENVIRONMENT.text("SYNCOVA_BROKER_URL") or ""
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Scheduler
SYNCOVA_TICK_SECONDS, SYNCOVA_HEARTBEAT_SECONDS, SYNCOVA_ORPHAN_SECONDS = checked_rhythm(
    tick=ENVIRONMENT.integer("SYNCOVA_TICK_SECONDS"),
    heartbeat=ENVIRONMENT.integer("SYNCOVA_HEARTBEAT_SECONDS"),
    orphan=ENVIRONMENT.integer("SYNCOVA_ORPHAN_SECONDS"),
)
SYNCOVA_RETRY_SECONDS = ENVIRONMENT.integer("SYNCOVA_RETRY_SECONDS")
SYNCOVA_GLOBAL_LIMIT = ENVIRONMENT.integer("SYNCOVA_GLOBAL_LIMIT")
SYNCOVA_FREEZES = ENVIRONMENT.flag("SYNCOVA_FREEZES")
SYNCOVA_DOORBELL = "workers.doorbell.ring"
SYNCOVA_WAKE = "workers.doorbell.wake"
SYNCOVA_INSPECT = "workers.doorbell.inspect"
SYNCOVA_LOOKUP = "workers.doorbell.look"
SYNCOVA_LOOK_AGAIN = "jobs.doorbell.request_pass"

# Worker
SYNCOVA_EXECUTOR = ENVIRONMENT.text("SYNCOVA_EXECUTOR") or ""
# Groups go by name in any case, queues by exact name: one spelling for both.
SYNCOVA_WORKER_GROUP = ENVIRONMENT.word("SYNCOVA_WORKER_GROUP").lower()
SYNCOVA_WORKER_SLOTS = ENVIRONMENT.integer("SYNCOVA_WORKER_SLOTS")
SYNCOVA_SOURCE_ROOTS = [str(path) for path in ENVIRONMENT.paths("SYNCOVA_SOURCE_ROOTS")]
SYNCOVA_RESTORE_ROOTS = [str(path) for path in ENVIRONMENT.paths("SYNCOVA_RESTORE_ROOTS") or [DATA_DIR / "restores"]]
SYNCOVA_HOOKS_FILE = str(ENVIRONMENT.path("SYNCOVA_HOOKS_FILE") or "")
SYNCOVA_ALLOW_UNENCRYPTED = ENVIRONMENT.flag("SYNCOVA_ALLOW_UNENCRYPTED")

# Web
# Of the threads of one process; the others answer at once.
SYNCOVA_LONG_ANSWERS = ENVIRONMENT.integer("SYNCOVA_WEB_THREADS") // 2
SYNCOVA_PUBLIC_URL = ENVIRONMENT.word("SYNCOVA_PUBLIC_URL").rstrip("/")
ALLOWED_HOSTS, CSRF_TRUSTED_ORIGINS = hosts_and_origins(SYNCOVA_PUBLIC_URL)
_SECURE = SYNCOVA_PUBLIC_URL.startswith("https://")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _SECURE
CSRF_FAILURE_VIEW = "syncova_project.error_pages.csrf_failure"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _SECURE else None
SECURE_HSTS_SECONDS = 31_536_000 if _SECURE and not is_loopback_url(SYNCOVA_PUBLIC_URL) else 0
# Web's one port speaks TLS or plain HTTP, never both: the proxy that brings TLS sends plain requests away (W008), and
# cookies never travel in clear. Whether other hosts of the domain have TLS is not ours to promise (W005, W021).
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W008", "security.W021"]
SESSION_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
AUTHENTICATION_BACKENDS = ["syncova_project.access.lockout.GuardedBackend"]
SYNCOVA_TRUSTED_PROXIES = trusted_networks(ENVIRONMENT.words("SYNCOVA_TRUSTED_PROXIES"))
SYNCOVA_TOKEN_RATE = ENVIRONMENT.integer("SYNCOVA_TOKEN_RATE")
SYNCOVA_ADDRESS_RATE = ENVIRONMENT.integer("SYNCOVA_ADDRESS_RATE")
ROOT_URLCONF = "syncova_project.urls"
WSGI_APPLICATION = "syncova_project.wsgi.application"
STATIC_URL = "static/"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_621_440
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = True
LANGUAGE_CODE = "en"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "drf_spectacular",
    "syncova_project",
    "syncova_project.access",
    "repositories",
    "jobs",
    "agents",
    "workers",
]
MIDDLEWARE = [
    "syncova_project.access.middleware.RequestOriginMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "syncova_project.access.middleware.ContentSecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "syncova_project.access.middleware.PageSightMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "syncova_project.access.authentication.BearerAuthentication",
        "syncova_project.access.authentication.PersonAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["syncova_project.access.permissions.HasScope"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "syncova_project.rest.exception_handler",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "Syncova",
    "VERSION": "1",
    "DESCRIPTION": "Backup jobs, their runs and repositories.",
    "SERVE_INCLUDE_SCHEMA": False,
    "OAS_VERSION": "3.1.0",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "syncova_project.api_schema.complete",
    ],
}
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# Found in the admin's and the framework's own static files directly: no collectstatic step, no file to go stale.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
