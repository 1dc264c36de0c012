"""The Celery application: routes, broker options and the one static beat entry.

Owns how messages travel. Must not hold calendar logic, results or state: the row is the truth, a message only a
hint, so nothing here retries, keeps results or redelivers (execution.md, section 3).
"""

from typing import Any

from celery import Celery, signals
from django.conf import settings

from syncova_project import env

CONTROL_QUEUE = "control"
WORK_PREFIX = "work."
LOOKUP_PREFIX = "lookup."
TICK_TASK = "syncova.tick"

# A publish to a broker that holds still must end: API requests and passes ring the doorbell themselves.
SOCKET_TIMEOUT_SECONDS = 5.0
BROKER_OPTIONS: dict[str, Any] = {
    "socket_timeout": SOCKET_TIMEOUT_SECONDS,
    "socket_connect_timeout": SOCKET_TIMEOUT_SECONDS,
    "health_check_interval": 10,
}


def _configuration() -> dict[str, Any]:
    return {
        "broker_url": settings.SYNCOVA_BROKER_URL,
        "broker_transport_options": BROKER_OPTIONS,
        "broker_connection_retry_on_startup": True,
        # None: a worker waits for its broker for ever; giving up would need a person to start it again.
        "broker_connection_max_retries": None,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_enable_prefetch_count_reduction": False,
        "worker_prefetch_multiplier": 1,
        "worker_disable_prefetch": True,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        # One child more than slots: a lookup then never waits behind a backup (the database admits ≤ slots).
        "worker_concurrency": settings.SYNCOVA_WORKER_SLOTS + 1,
        "task_acks_late": False,
        "task_ignore_result": True,
        "task_store_errors_even_if_ignored": False,
        "task_default_queue": CONTROL_QUEUE,
        "task_create_missing_queues": True,
        "task_publish_retry": False,
        "task_serializer": "json",
        "result_serializer": "json",
        "event_serializer": "json",
        "accept_content": ["json"],
        "result_backend": None,
        "enable_utc": True,
        "timezone": "UTC",
        "imports": ["workers.tasks", "workers.lifecycle"],
        # In memory: the one entry has no state worth a file, and beat then needs no directory to write to.
        "beat_scheduler": "celery.beat:Scheduler",
        "beat_max_loop_interval": settings.SYNCOVA_TICK_SECONDS,
        "beat_schedule": {
            "tick": {
                "task": TICK_TASK,
                "schedule": float(settings.SYNCOVA_TICK_SECONDS),
                "options": {"queue": CONTROL_QUEUE, "retry": False},
            }
        },
    }


def _leave_logging_to_django(**_: Any) -> None:
    """Keep Celery from setting up handlers of its own: a receiver is all that it takes."""


env.use_settings_module()
signals.setup_logging.connect(_leave_logging_to_django)
app = Celery("syncova")
app.config_from_object(_configuration())
