"""Does in the admin what a person does: presses its buttons, and sends its forms as a browser would."""

import html
import re
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from syncova_project.access.models import AuditEntry
from syncova_project.access.scopes import Scope
from tests import canaries
from tests.api.admin_pages import harmless_page

OPTION = re.compile(r'<option value="([^"]*)"')
CHOSEN = re.compile(r'<option value="([^"]*)"[^>]*selected', re.DOTALL)


def act(client: Client, of: Any, action: str, values: dict[str, str] | None = None) -> Any:
    """Post an action to a row."""
    return client.post(address(of, action), values or {})


def address(of: Any, name: str) -> str:
    return reverse(f"admin:{of._meta.label_lower.replace('.', '_')}_do", args=[of.pk, name])


def page_of(client: Client, of: Any) -> str:
    return harmless_page(client, reverse(f"admin:{of._meta.label_lower.replace('.', '_')}_change", args=[of.pk]))


def person(*scopes: Scope, **fields: Any) -> Client:
    """Return somebody of the staff with some rights."""
    user = get_user_model().objects.create_user(
        "person", password=canaries.login_password("person"), is_staff=True, **fields
    )
    user.user_permissions.set(Permission.objects.filter(codename__in=scopes, content_type__app_label="access"))
    client = Client()
    client.force_login(user)
    return client


def form_of(page: str) -> dict[str, str]:
    """Return what a browser would send of a form that nobody touched."""
    sent: dict[str, str] = {}
    form = page[page.index("syncova-form") :]
    for match in re.finditer(
        r"<(input|textarea|select)([^>]*)>(.*?)(?=<(?:input|textarea|select|/form)|$)", form, re.DOTALL
    ):
        kind, attributes, rest = match.groups()
        name = re.search(r'name="([^"]+)"', attributes)
        if name is None or name[1] == "csrfmiddlewaretoken":
            continue
        if kind == "textarea":
            sent[name[1]] = html.unescape(rest.partition("</textarea>")[0].removeprefix("\n")).replace("\n", "\r\n")
        elif kind == "select":
            options = rest.partition("</select>")[0]
            chosen = CHOSEN.search(options) or OPTION.search(options)
            sent[name[1]] = html.unescape(chosen[1]) if chosen else ""
        elif 'type="checkbox"' in attributes:
            sent |= {name[1]: "on"} if "checked" in attributes else {}
        else:
            value = re.search(r'value="([^"]*)"', attributes)
            sent[name[1]] = html.unescape(value[1]) if value else ""
    return sent


def errors_of(answer: Any) -> list[str]:
    return re.findall(r'<ul class="errorlist[^>]*>.*?</ul>', answer.content.decode(), re.DOTALL)


def actions() -> list[str]:
    """Return what the trail says beside logins, oldest first."""
    entries = AuditEntry.objects.exclude(action__startswith="session.").order_by("id")
    return list(entries.values_list("action", flat=True))
