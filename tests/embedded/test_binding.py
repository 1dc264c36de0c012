"""Where web may listen: loopback, or elsewhere only with TLS or by express wish."""

import socket
from pathlib import Path

import pytest

from syncova_project.embedded import binding
from syncova_project.embedded.problems import BindRefusedError


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    (tmp_path / "file.pem").write_text("x")
    return tmp_path / "file.pem"


@pytest.mark.parametrize("address", ["10.0.0.5", "192.168.1.1", "2001:db8::1", "0.0.0.0", "::"])
def test_another_address_than_loopback_needs_tls_or_insecure(address, pem):
    with pytest.raises(BindRefusedError, match="in clear"):
        binding.check(binding.Binding(address=address, public_url="http://x"))
    binding.check(binding.Binding(address=address, public_url="http://x", insecure=True))
    binding.check(binding.Binding(address=address, public_url="https://x", certificate=pem, key=pem))


@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "::1"])
def test_loopback_needs_nothing(address):
    binding.check(binding.Binding(address=address))


def test_all_addresses_need_a_public_name():
    with pytest.raises(BindRefusedError, match="SYNCOVA_PUBLIC_URL"):
        binding.check(binding.Binding(address="0.0.0.0", insecure=True))


def test_certificate_and_key_belong_together_and_must_be_readable(pem):
    with pytest.raises(BindRefusedError, match="belong together"):
        binding.check(binding.Binding(certificate=pem))
    with pytest.raises(BindRefusedError, match="absent"):
        binding.check(binding.Binding(certificate=pem, key=pem.with_name("absent")))


def test_a_host_name_is_no_address():
    with pytest.raises(BindRefusedError, match="no IP address"):
        binding.check(binding.Binding(address="backup.example.org"))


def test_a_taken_port_is_named_at_once():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BindRefusedError, match=f"port {port} is taken"):
            binding.listen(binding.Binding(port=port))


def test_the_address_of_web_is_that_of_its_socket():
    with binding.listen(binding.Binding(port=0)) as listener:
        port = listener.getsockname()[1]
        assert binding.url_of(binding.Binding(port=0), listener) == f"http://127.0.0.1:{port}"
        assert listener.get_inheritable()


def test_web_on_all_addresses_is_reached_by_loopback():
    everywhere = binding.Binding(address="0.0.0.0", port=0, insecure=True, public_url="http://x")
    with binding.listen(everywhere) as listener:
        assert binding.url_of(everywhere, listener).startswith("http://127.0.0.1:")
