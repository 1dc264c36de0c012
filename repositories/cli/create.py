"""`syncova-repo create`: make a repository and show its recovery code once."""

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from repositories.cli.arguments import LOCATION_RULE, LocationOptions, expect
from repositories.console import exits
from repositories.console.failures import CommandError, OutputLostError
from repositories.console.options import Option
from repositories.console.passwords import PasswordPlace, read_new_password, read_secret, warn_if_public
from repositories.console.repository_access import access_to, resolve, split_location
from repositories.console.storage_credentials import credentials_for
from repositories.console.terminal import Terminal, terminal_of
from repositories.engine.display import show_text

if TYPE_CHECKING:
    from repositories.engine.repository import CreatedRepository, Repository

NAME = "create"
HELP = (
    f"Make a repository at LOCATION. Prints its recovery code, once: keep it apart from the password. {LOCATION_RULE}"
)
EXAMPLES = (
    "create /mnt/backups/home --password-file ~/.backup-password",
    "create -r /mnt/backups/home --label laptop --json",
    "create /mnt/second/home --related-to /mnt/backups/home --related-password-file ~/.backup-password",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(LocationOptions):
    """What `create` takes."""

    label: Annotated[str | None, Option("--label", metavar="NAME", help="Name of the first password, in clear.")] = None
    related_to: Annotated[
        str | None,
        Option(
            "--related-to",
            metavar="LOCATION",
            help="Take over the secrets by which this repository names its chunks: copies between the two are cheap.",
        ),
    ] = None
    related_password_file: Annotated[
        str | None, Option("--related-password-file", metavar="FILE", help="File that holds its password.")
    ] = None
    related_password_command: Annotated[
        str | None, Option("--related-password-command", metavar="COMMAND", help="Program that prints its password.")
    ] = None
    related_insecure_no_password: Annotated[
        bool, Option("--related-insecure-no-password", help="It has the published empty password.")
    ] = False
    padding: Annotated[bool, Option("--padding", help="Round sizes up, so that they tell less (up to 12 % more).")] = (
        False
    )


def run(options: Options) -> int:
    """Make the repository; an existing one is never touched."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.repository import CreateOptions, create_repository
    from repositories.engine.storage.credentials import Credentials
    from repositories.engine.storage.locations import open_storage

    terminal = terminal_of(options)
    location, rest = split_location(options.words, options)
    expect(rest, ())
    storage = open_storage(location, Credentials(credentials_for(location)), tell=terminal.note)
    password = read_new_password(options, terminal)
    related = _related(options, terminal)
    created = create_repository(
        storage,
        CreateOptions(
            password=password.encode(),
            label=options.label or "",
            insecure_no_password=options.insecure_no_password,
            padding=options.padding,
            related_to=related.keyring if related is not None else None,
        ),
    )
    try:
        _print(terminal, created, location)
    except (BrokenPipeError, OutputLostError) as error:
        raise OutputLostError(
            f"the repository {created.repository.id} is made at {show_text(location)}, but its recovery code could not "
            f"be written ({os.strerror(errno.EPIPE) if isinstance(error, BrokenPipeError) else error.message})",
            hint="the password opens it: syncova-repo key recovery-code LOCATION --replace makes a new code",
        ) from error
    warn_if_public(password, terminal)
    return exits.DONE


def _related(options: Options, terminal: Terminal) -> "Repository | None":
    """Open the repository that the new one is to be related to."""
    # Heavy; a wrong option should not wait for it.
    from repositories.engine.process.opening import open_for, tell_waits

    place = PasswordPlace(
        options.related_password_file,
        options.related_password_command,
        options.related_insecure_no_password,
        prefix="related-",
    )
    if options.related_to is None:
        if place.file or place.command or place.insecure:
            raise CommandError("no repository is named that this password opens", hint="name it with --related-to")
        return None
    password = read_secret(place, terminal, "Password of the related repository: ")
    tell_waits(terminal.note)
    return open_for(access_to(resolve(options.related_to), password))


def _print(terminal: Terminal, created: "CreatedRepository", location: str) -> None:
    terminal.line(f"made repository {created.repository.id} at {show_text(location)}")
    terminal.line(f"recovery code: {created.recovery_code}")
    terminal.document(
        {"repository_id": created.repository.id, "location": location, "recovery_code": created.recovery_code}
    )
    terminal.flush()
    terminal.note("It opens the repository when the password is lost. It is shown only now: write it down.")
