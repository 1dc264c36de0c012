"""Many new rows of one table in one statement, whatever their number: what differs as arrays, what is the same once.

Owns the form of that statement. Columns that nobody names get the model's defaults; constraints and triggers see each
row as they see any other.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection
from django.db.models import Field, JSONField, Model
from django.db.models.fields import NOT_PROVIDED


def insert_all(
    model: type[Model], columns: Mapping[str, Sequence[Any]], same: Mapping[str, Any], *, skip_refused: bool = False
) -> set[Any]:
    """Insert a row for each place of `columns` (by column name, all of one length); return the keys that are there now.

    `same` holds the values that all rows share. With `skip_refused` a row that a unique index refuses is left out
    instead of ending the statement.
    """
    fields = {field.attname: field for field in model._meta.concrete_fields}
    constants = _defaults(fields, {*columns, *same}) | dict(same)
    names = [*columns, *constants]
    arrays = ", ".join(f"%s::{fields[name].db_type(connection)}[]" for name in columns)
    values = [f"%s::{fields[name].db_type(connection)}" for name in constants]
    key = model._meta.pk.attname if model._meta.pk else "id"
    # Only names of the model's own columns and types are put into the text.
    words = ["INSERT INTO", _quoted([model._meta.db_table]), f"({_quoted(names)})"]
    words += ["SELECT", ", ".join([_quoted(columns), *values])]
    words += ["FROM", f"unnest({arrays}) AS given ({_quoted(columns)})"]
    words += ["ON CONFLICT DO NOTHING" if skip_refused else "", "RETURNING", _quoted([key])]
    given = [_prepared(fields[name], value) for name, value in constants.items()]
    lists = [_all_prepared(fields[name], chosen) for name, chosen in columns.items()]
    with connection.cursor() as cursor:
        cursor.execute(" ".join(words), [*given, *lists])
        return {row[0] for row in cursor.fetchall()}


def _defaults(fields: Mapping[str, "Field[Any, Any]"], named: set[str]) -> dict[str, Any]:
    """Return the defaults of the columns that are not named; the database fills in what it alone can."""
    return {
        name: field.get_default() for name, field in fields.items() if name not in named and not _is_filled_in(field)
    }


def _is_filled_in(field: "Field[Any, Any]") -> bool:
    is_serial = field.get_internal_type().endswith("AutoField")
    return is_serial or (field.default is NOT_PROVIDED and field.has_db_default())


def _all_prepared(field: "Field[Any, Any]", values: Sequence[Any]) -> list[Any]:
    """Return the values of an array as the driver takes them, which is as they are unless they become JSON."""
    return [_prepared(field, value) for value in values] if isinstance(field, JSONField) else list(values)


def _prepared(field: "Field[Any, Any]", value: Any) -> Any:
    return field.get_db_prep_save(value, connection)


def _quoted(names: Sequence[str] | Mapping[str, Any]) -> str:
    return ", ".join(f'"{name}"' for name in names)
