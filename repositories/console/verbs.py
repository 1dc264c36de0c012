"""Turns a verb (its options as a dataclass, its function) into a command of a typer program.

Owns the joining alone: options are plain typed values everywhere else, and a function never takes twenty arguments.
"""

import dataclasses
import importlib
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from repositories.console.failures import CommandError
from repositories.console.options import Argument, Option, OutputOptions, RepositoryOptions
from repositories.console.plain_words import SUBSET, frozen, refuse_empty_names

Options = TypeVar("Options", bound=OutputOptions)


class PlainCommand(TyperCommand):
    """A command whose usage line shows its arguments as their metavar writes them.

    A flag may be given a value with = where the command has an option for it: `--read-data=10%` is
    `--read-data-subset=10%`. The library would else take the next argument for the value.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of a command line."""
        known = {name for param in self.params for name in param.opts}
        count = args.index("--") if "--" in args else len(args)
        own = [_with_value(word, known) for word in args[:count]]
        for subset in (each for each in known if each.endswith(SUBSET)):
            if sum(word.partition("=")[0] == subset for word in own) > 1:
                raise CommandError(
                    f"{subset.removesuffix(SUBSET)} is given several parts ({subset} is the same)", hint="give one"
                )
        return super().parse_args(ctx, [*own, *args[count:]])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line behind the command's name."""
        return ["[OPTIONS]", *(param.metavar or "" for param in self.params if param.param_type_name == "argument")]


def add_verbs(app: typer.Typer, verbs: Mapping[str, str], program: str, words: Sequence[str]) -> None:
    """Add the one of `verbs` that a command line begins with, all of them where it names none.

    `verbs` are modules by the names of their verbs, in the order of help. Those that are not added are not imported:
    each takes milliseconds, also to make a command of it, and what a command does may take less.
    """
    named = verbs.get(words[0]) if words else None
    for module in verbs.values() if named is None else (named,):
        add_verb(app, importlib.import_module(module), program)


def add_verb(app: typer.Typer, verb: Any, program: str) -> None:
    """Add the verb of one module (NAME, HELP, EXAMPLES, Options, run) to `app`."""
    add = app.command(verb.NAME, cls=PlainCommand, help=verb.HELP, epilog=_epilog(program, verb.EXAMPLES))
    add(command(verb.Options, verb.run))


def command(options: type[Options], function: Callable[[Options], int]) -> Callable[..., int]:
    """Return a function with one keyword parameter per field of `options`, which calls `function`."""

    def call(**values: Any) -> int:
        if issubclass(options, RepositoryOptions):
            refuse_empty_names(values, hints)
        return function(options(**{name: frozen(value) for name, value in values.items()}))

    hints = typing.get_type_hints(options, include_extras=True)
    parameters = [_parameter(field, hints[field.name]) for field in _own_first(options)]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _with_value(word: str, known: set[str]) -> str:
    flag, equals, value = word.partition("=")
    subset = f"{flag}{SUBSET}"
    return f"{subset}={value}" if equals and flag.startswith("--") and subset in known else word


def _own_first(options: type[Options]) -> list["dataclasses.Field[Any]"]:
    """Return the fields so that help lists a verb's own options before those that every verb has."""
    order = [name for kind in options.__mro__ for name in vars(kind).get("__annotations__", ())]
    return sorted(dataclasses.fields(options), key=lambda field: order.index(field.name))


def _parameter(field: "dataclasses.Field[Any]", hint: Any) -> inspect.Parameter:
    default: Any = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
    kind, *marks = typing.get_args(hint)
    if typing.get_origin(kind) is tuple:
        # The library reads a tuple as a fixed number of values; ours are as many as were given.
        kind = list[str]
        default = list(default) if isinstance(default, tuple) else default
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, *map(_mark, marks)]
    )


def _mark(mark: Any) -> Any:
    """Return a mark as the library knows it."""
    if isinstance(mark, Option):
        return typer.Option(*mark.names, help=mark.help, metavar=mark.metavar, min=mark.min, max=mark.max)
    if isinstance(mark, Argument):
        return typer.Argument(metavar=mark.metavar, hidden=mark.hidden)
    return mark


def _epilog(program: str, examples: tuple[str, ...]) -> str:
    # \b keeps the formatter from folding the lines into one paragraph.
    return "\b\nExamples:\n" + "\n".join(f"  {program} {example}" for example in examples)
