"""The C library is told to give large buffers back, where it can be told (3.15)."""

import ctypes
import platform

import pytest

from repositories.engine.prune.allocation import return_large_buffers

glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library of this machine is not glibc")


@glibc
def test_glibc_takes_the_settings() -> None:
    assert return_large_buffers()
    assert return_large_buffers(), "again, as in a process that prunes twice"


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert not return_large_buffers()
