"""The address of a request: of the connection, or what a trusted proxy says; nobody else is believed (7.8)."""

import ipaddress
from typing import Any

import pytest
from django.test import Client

from syncova_project.access.addresses import client_address, neighbourhood
from syncova_project.access.models import AuditEntry
from syncova_project.derived import trusted_networks
from syncova_project.errors import ConfigurationError

PROXY, OUTER = "127.0.0.1", "10.1.0.9"
TRUSTED = trusted_networks([PROXY, "10.1.0.0/16", "fd00::/8"])


@pytest.mark.parametrize(
    ("connection", "forwarded", "found"),
    [
        ("203.0.113.5", "", "203.0.113.5"),
        ("203.0.113.5", "198.51.100.1", "203.0.113.5"),
        (PROXY, "", PROXY),
        (PROXY, "198.51.100.1", "198.51.100.1"),
        (PROXY, "6.6.6.6, 198.51.100.1", "198.51.100.1"),
        (PROXY, f"6.6.6.6, 198.51.100.1, {OUTER}", "198.51.100.1"),
        (PROXY, "6.6.6.6, nonsense", PROXY),
        (PROXY, f"nonsense, {OUTER}", OUTER),
        (PROXY, "2001:db8::1", "2001:db8::1"),
        (f"::ffff:{PROXY}", "198.51.100.1", "198.51.100.1"),
        ("", "198.51.100.1", ""),
    ],
)
def test_only_what_trusted_proxies_say_counts(connection: str, forwarded: str, found: str) -> None:
    assert client_address(connection, forwarded, TRUSTED) == found


def test_without_proxies_nobody_is_believed() -> None:
    assert client_address(PROXY, "6.6.6.6", []) == PROXY


@pytest.mark.parametrize(
    ("address", "near"), [("198.51.100.1", "198.51.100.1"), ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"), ("", "")]
)
def test_limits_count_an_ipv6_network_as_one(address: str, near: str) -> None:
    assert neighbourhood(address) == near


def test_a_network_that_is_none_is_named() -> None:
    assert trusted_networks(["10.0.0.0/8"]) == [ipaddress.ip_network("10.0.0.0/8")]
    with pytest.raises(ConfigurationError, match=r"SYNCOVA_TRUSTED_PROXIES: '10\.0\.0\.1/8'"):
        trusted_networks(["10.0.0.1/8"])


@pytest.mark.django_db
@pytest.mark.parametrize(("proxies", "address"), [([], PROXY), ([PROXY], "198.51.100.1"), (["10.9.9.9"], PROXY)])
def test_the_trail_has_the_clients_address(settings: Any, proxies: list[str], address: str) -> None:
    settings.SYNCOVA_TRUSTED_PROXIES = trusted_networks(proxies)
    headers = {"X-Forwarded-For": "6.6.6.6, 198.51.100.1"}
    Client().post("/admin/login/", {"username": "x", "password": "y"}, headers=headers)
    assert AuditEntry.objects.get().address == address


@pytest.mark.parametrize(("proxies", "secure"), [(["10.9.9.9"], False), ([PROXY], True)])
def test_nobody_else_says_that_a_connection_was_encrypted(settings: Any, proxies: list[str], secure: bool) -> None:
    settings.SYNCOVA_TRUSTED_PROXIES = trusted_networks(proxies)
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.SECURE_HSTS_SECONDS = 60
    answer = Client().get("/health/live", headers={"X-Forwarded-Proto": "https"})
    assert ("Strict-Transport-Security" in answer.headers) == secure
