"""Every setting by name: its kind, default and meaning; docs/settings.md and `manage show_settings` are made from it.

Owns the list alone. Must not read the environment (syncova_project.env does) and must not import Django.
"""

import enum
from dataclasses import dataclass


class Kind(enum.StrEnum):
    """How the text of a setting is read."""

    TEXT = "text"
    INTEGER = "integer"
    SECONDS = "seconds"
    FLAG = "true or false"
    PATH = "absolute path"
    PATHS = "absolute paths, separated by colons or line breaks"
    LIST = "words, separated by commas or line breaks"
    CHOICE = "one of"


@dataclass(frozen=True, slots=True)
class Setting:
    """One declared name; `default` is the text that is read when nothing is set (None: no default)."""

    name: str
    kind: Kind
    section: str
    meaning: str
    default: str | None = None
    secret: bool = False
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()


PREFIX = "SYNCOVA_"
# What the engine tells a hook about its run: handed on to programs, never read by us.
FOREIGN_PREFIXES = ("SYNCOVA_RUN_",)

SERVER, BASICS, WEB, SCHEDULER, WORKER, MEDIA, CLIENT = (
    "Servers",
    "Basics",
    "Web",
    "Scheduler",
    "Worker",
    "Remote repositories: workers and command-line programs",
    "Command-line programs",
)

TABLE: tuple[Setting, ...] = (
    Setting(
        "SYNCOVA_DATA_DIR",
        Kind.PATH,
        BASICS,
        "Directory of everything that Syncova keeps on this machine. Unset: /var/lib/syncova as root, "
        "else ${XDG_DATA_HOME:-~/.local/share}/syncova.",
    ),
    Setting(
        "SYNCOVA_SETTINGS_FILE",
        Kind.PATH,
        BASICS,
        "File of NAME=value lines to read instead of /etc/syncova/syncova.env and DATA/syncova.env.",
    ),
    Setting(
        "SYNCOVA_DJANGO_KEY",
        Kind.TEXT,
        BASICS,
        "Key that signs sessions, cursors and forms; at least 32 characters. `up` makes and keeps a random one.",
        secret=True,
    ),
    Setting(
        "SYNCOVA_SECRET_KEYS",
        Kind.LIST,
        BASICS,
        "Keys that seal repository passwords in the database: 64 hexadecimal digits each. The first seals, all open, "
        "so that they can be rotated. `up` makes and keeps a random one.",
        secret=True,
    ),
    Setting(
        "SYNCOVA_LOG_LEVEL",
        Kind.CHOICE,
        BASICS,
        "Least severe message that is logged.",
        "info",
        choices=("debug", "info", "warning", "error"),
    ),
    Setting(
        "SYNCOVA_LOG_FORMAT",
        Kind.CHOICE,
        BASICS,
        "Form of a log line: for people, or one JSON object a line.",
        "text",
        choices=("text", "json"),
    ),
    Setting(
        "SYNCOVA_DATABASE_URL",
        Kind.TEXT,
        SERVER,
        "PostgreSQL as the application's role, which owns nothing: postgresql://user:password@host:port/name, or "
        "postgresql://user:password@/name?host=/directory/of/the/socket. Unset: `up` runs its own server.",
        secret=True,
    ),
    Setting(
        "SYNCOVA_MIGRATION_DATABASE_URL",
        Kind.TEXT,
        SERVER,
        "The same database as the role that owns the tables; only migrations use it. Unset: SYNCOVA_DATABASE_URL.",
        secret=True,
    ),
    Setting(
        "SYNCOVA_BROKER_URL",
        Kind.TEXT,
        SERVER,
        "Redis or Valkey: redis://:password@host:port/0, rediss://… or redis+socket://:password@/path/of/the/socket. "
        "Unset: `up` runs its own server.",
        secret=True,
    ),
    Setting(
        "SYNCOVA_SERVICE_USER",
        Kind.TEXT,
        SERVER,
        "User that the embedded servers, web, beat and the control worker run as when `up` is started by root. "
        "Unset: syncova if it exists, else nobody (with a warning).",
    ),
    Setting(
        "SYNCOVA_PUBLIC_URL",
        Kind.TEXT,
        WEB,
        "Address that people and agents use, for example https://backup.example.org. Host names, CSRF origins and "
        "secure cookies follow from it.",
        "http://127.0.0.1:8760",
    ),
    Setting("SYNCOVA_WEB_WORKERS", Kind.INTEGER, WEB, "Processes that answer requests.", "2", minimum=1, maximum=64),
    Setting("SYNCOVA_WEB_THREADS", Kind.INTEGER, WEB, "Threads in each of them.", "4", minimum=1, maximum=64),
    Setting(
        "SYNCOVA_TRUSTED_PROXIES",
        Kind.LIST,
        WEB,
        "Addresses or networks of proxies in front of web, for example 127.0.0.1: X-Forwarded-For is believed of these "
        "alone. Unset: the address of a connection is its client's.",
    ),
    Setting(
        "SYNCOVA_TOKEN_RATE",
        Kind.INTEGER,
        WEB,
        "API requests a second of one token or person, in each web process; ten seconds' worth may come at once. 0: no "
        "limit.",
        "100",
        minimum=0,
        maximum=1_000_000,
    ),
    Setting(
        "SYNCOVA_ADDRESS_RATE",
        Kind.INTEGER,
        WEB,
        "The same of one address; a request without a valid token counts twenty times more. 0: no limit.",
        "200",
        minimum=0,
        maximum=1_000_000,
    ),
    Setting(
        "SYNCOVA_TICK_SECONDS",
        Kind.SECONDS,
        SCHEDULER,
        "Distance between two passes of the scheduler; at most SYNCOVA_HEARTBEAT_SECONDS.",
        "10",
        minimum=1,
        maximum=300,
    ),
    Setting(
        "SYNCOVA_HEARTBEAT_SECONDS",
        Kind.SECONDS,
        SCHEDULER,
        "Distance between two signs of life of a running run.",
        "30",
        minimum=1,
        maximum=600,
    ),
    Setting(
        "SYNCOVA_ORPHAN_SECONDS",
        Kind.SECONDS,
        SCHEDULER,
        "Silence after which a running run counts as orphaned; at least three times SYNCOVA_HEARTBEAT_SECONDS.",
        "300",
        minimum=3,
        maximum=86400,
    ),
    Setting(
        "SYNCOVA_RETRY_SECONDS",
        Kind.SECONDS,
        SCHEDULER,
        "Delay before the first retry of a failed run; it doubles with each further one, up to 15 minutes.",
        "30",
        minimum=1,
        maximum=900,
    ),
    Setting(
        "SYNCOVA_GLOBAL_LIMIT",
        Kind.INTEGER,
        SCHEDULER,
        "Runs that may be active at once in the whole installation.",
        "16",
        minimum=1,
        maximum=10000,
    ),
    Setting(
        "SYNCOVA_FREEZES",
        Kind.FLAG,
        SCHEDULER,
        "Whether a freeze holds what waits for its repository. Off, the journal is kept and shown, and holds nothing.",
        "true",
    ),
    Setting(
        "SYNCOVA_EXECUTOR",
        Kind.TEXT,
        WORKER,
        "Dotted path of the class that executes runs. Empty: every run fails with EXECUTOR_NOT_CONFIGURED.",
        "workers.executor.EngineExecutor",
    ),
    Setting(
        "SYNCOVA_WORKER_GROUP",
        Kind.TEXT,
        WORKER,
        "Group that this machine's work worker belongs to: the machines that reach a repository's medium.",
        "default",
    ),
    Setting(
        "SYNCOVA_WORKER_SLOTS",
        Kind.INTEGER,
        WORKER,
        "Runs that this machine's work worker executes at once; from 2 on, one is kept for restores.",
        "3",
        minimum=1,
        maximum=256,
    ),
    Setting(
        "SYNCOVA_SOURCE_ROOTS",
        Kind.PATHS,
        WORKER,
        "Directories below which sources may lie.",
        "/",
    ),
    Setting(
        "SYNCOVA_RESTORE_ROOTS",
        Kind.PATHS,
        WORKER,
        "Directories below which restores may write. Unset: DATA/restores.",
    ),
    Setting(
        "SYNCOVA_HOOKS_FILE",
        Kind.PATH,
        WORKER,
        "File that says what the names of hooks run (docs/hooks.md); writable by root and this user alone. Unset: "
        "/etc/syncova/hooks.toml if it is there, else DATA/hooks.toml.",
    ),
    Setting(
        "SYNCOVA_ALLOW_UNENCRYPTED",
        Kind.FLAG,
        WORKER,
        "Accept repositories made with the published empty password. Every start logs a warning.",
        "false",
    ),
    Setting(
        "SYNCOVA_WEBDAV_PASSWORD",
        Kind.TEXT,
        MEDIA,
        "Password of the user in a webdavs:// location.",
        secret=True,
    ),
    Setting(
        "SYNCOVA_WEBDAV_TOKEN",
        Kind.TEXT,
        MEDIA,
        "Bearer token for a webdavs:// location, in place of user and password.",
        secret=True,
    ),
    Setting(
        "SYNCOVA_SFTP_KEY",
        Kind.PATH,
        MEDIA,
        "Private key for sftp:// locations. Unset: the ssh agent, else ~/.ssh/id_ed25519, id_ecdsa or id_rsa.",
    ),
    Setting("SYNCOVA_SFTP_KEY_PASSPHRASE", Kind.TEXT, MEDIA, "Passphrase of that key.", secret=True),
    Setting("SYNCOVA_SFTP_PASSWORD", Kind.TEXT, MEDIA, "Password of the user in an sftp:// location.", secret=True),
    Setting(
        "SYNCOVA_SFTP_KNOWN_HOSTS",
        Kind.PATH,
        MEDIA,
        "Keys of servers in sftp:// locations. Unset: ~/.ssh/known_hosts, else /etc/ssh/ssh_known_hosts.",
    ),
    Setting("SYNCOVA_REPOSITORY", Kind.TEXT, CLIENT, "Location of the repository, in place of -r.", None),
    Setting(
        "SYNCOVA_REPOSITORY_PASSWORD",
        Kind.TEXT,
        CLIENT,
        "Password of the repository, in place of --password-file.",
        secret=True,
    ),
    Setting(
        "SYNCOVA_MIGRATE_CONFIRM_FORCE",
        Kind.TEXT,
        CLIENT,
        "`yes` lets one `migrate force N` claim a schema version. Read from the command's own environment alone.",
    ),
    Setting("SYNCOVA_URL", Kind.TEXT, CLIENT, "Address of the API that `ctl` speaks to. Unset: what `up` wrote."),
    Setting("SYNCOVA_TOKEN", Kind.TEXT, CLIENT, "API token that `ctl` uses. Unset: what `up` wrote.", secret=True),
)

BY_NAME: dict[str, Setting] = {setting.name: setting for setting in TABLE}
