"""Why the stack or a server could not be started, stopped or found: typed errors with a next step."""

from syncova_project.errors import SyncovaError

# The next step of whoever needs files back while the installation itself is damaged.
RESTORING = "Restoring needs no database: ./syncova agent restore --help."


class StackError(SyncovaError):
    """Base of everything that ends a stack command with exit code 1."""

    code = "STACK"


class DataDirectoryError(StackError):
    """The data directory cannot be used as it is."""

    code = "DATA_DIRECTORY"


class SocketPathTooLongError(StackError):
    """The kernel would cut the path of a Unix socket."""

    code = "SOCKET_PATH_TOO_LONG"


class ServiceUserError(StackError):
    """No user that servers may run as."""

    code = "SERVICE_USER"


class ServerStartError(StackError):
    """An embedded server did not answer in time, or ended; the message quotes its last line."""

    code = "SERVER_START"


class AlreadyRunningError(StackError):
    """A live process owns the data directory."""

    code = "ALREADY_RUNNING"


class BindRefusedError(StackError):
    """The address that web should listen on is taken, not ours, or not safe."""

    code = "BIND_REFUSED"
