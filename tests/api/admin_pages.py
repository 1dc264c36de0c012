"""Walks admin pages as a person with every right; checks that hostile text is harmless on each."""

import re

from django.contrib.auth import get_user_model
from django.test import Client

from tests import canaries

# Control codes, a direction override, markup, a rich tag, line breaks, quotes and a backslash in one name.
HOSTILE = "a\x1b[31m\u202e<script>alert(1)</script>[/b]\nb\t'\"\\\x9b"
# A script, style, picture, form or link of another host.
ELSEWHERE = re.compile(r"""(?:src|href|action)=["']?(?:https?:)?//(?!testserver)""")
# What the policy refuses: scripts and styles within a page.
INLINE = re.compile(r"""<script(?![^>]*\ssrc=)|<style|<[a-z][^>]*\s(?:style|on[a-z]+)=""")
FORBIDDEN = ["<script>alert(1)", "\x1b", "\u202e", "\x9b"]


def operator() -> Client:
    """Return a logged-in superuser."""
    user = get_user_model().objects.create_superuser("operator", password=canaries.login_password("operator"))
    client = Client()
    client.force_login(user)
    return client


def harmless_page(client: Client, address: str) -> str:
    """Return the page; it must load, hold no hostile text as it is, name no other host, and obey the policy."""
    response = client.get(address)
    assert response.status_code == 200, (address, response.status_code, response.headers)
    page = response.content.decode()
    assert [text for text in FORBIDDEN if text in page] == []
    assert ELSEWHERE.findall(page) == []
    assert INLINE.findall(page) == []
    return page
