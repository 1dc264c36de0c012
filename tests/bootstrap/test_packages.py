"""Packages: pinned by hash, from the configured index or a directory, and a clear line when they cannot come."""

from pathlib import Path
from typing import Any

import pytest

from bootstrap import packages
from bootstrap.failures import BootstrapError
from tests.bootstrap import trial as trials
from tests.bootstrap.trial import Trial

UNREACHABLE: dict[str, Any] = {"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_RETRIES": "1"}


def test_wheels_fetched_once_install_without_an_index(trial: Trial, tmp_path: Path) -> None:
    fetched = tmp_path / "stick" / "wheels"
    done = trial.run("wheels", str(fetched))
    assert done.returncode == 0, done.stderr
    assert len(list(fetched.iterdir())) == len(trials.LAYERS["dev"])
    assert not (trial.clone / ".venv").exists()
    offline: dict[str, Any] = {**UNREACHABLE, "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    assert "trial-dev" in trial.told("bench", "--wheels", str(fetched), **offline)["packages"]


def test_wheels_of_one_layer(trial: Trial, tmp_path: Path) -> None:
    assert trial.run("wheels", str(tmp_path / "w"), "--layer", "base").returncode == 0
    assert [each.name for each in (tmp_path / "w").iterdir()] == ["trial_base-1.0-py3-none-any.whl"]


def test_no_network_is_said_in_one_line(trial: Trial) -> None:
    done = trial.run("manage", **UNREACHABLE, PIP_INDEX_URL="http://127.0.0.1:9/simple")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "no network to fetch trial-base==1.0; set HTTPS_PROXY or PIP_INDEX_URL, or use --wheels DIR" in last
    assert "Traceback" not in done.stderr
    assert not (trial.clone / ".venv").exists()


def test_a_package_with_another_hash_is_refused(trial: Trial) -> None:
    """A hostile index: what does not have the pinned hash is never unpacked."""
    wheel = trials.make_wheel(trial.wheels, "trial-base", "1.0")
    wheel.write_bytes(wheel.read_bytes() + b"\0")
    done = trial.run("manage")
    assert done.returncode == 1
    assert "its hash differs" in done.stderr


def test_a_changed_pip_is_refused(trial: Trial) -> None:
    kept = trial.clone / "bootstrap" / Path(packages.PIP_WHEEL).name
    kept.write_bytes(kept.read_bytes() + b"\0")
    done = trial.run("manage")
    assert done.returncode == 1
    assert "is not the pinned pip" in done.stderr


def test_settings_that_send_packages_elsewhere_are_not_obeyed(trial: Trial, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    told = trial.told("manage", PIP_TARGET=str(elsewhere), PIP_USER="1", PIP_PREFIX=str(elsewhere))
    assert told["packages"] == ["pip", "trial-base"]
    assert not elsewhere.exists()


def test_a_missing_wheels_directory_is_a_usage_error(trial: Trial) -> None:
    for arguments in (("--wheels", "/nowhere", "manage"), ("manage", "--wheels=/nowhere"), ("manage", "--wheels")):
        done = trial.run(*arguments)
        assert done.returncode == 2
        assert done.stderr.startswith("syncova: --wheels")


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "no space left"),
        ("WARNING: Retrying … NameResolutionError …\nERROR: No matching distribution found for a==1", "to fetch a==1"),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]'))", "set PIP_CERT or SSL_CERT_FILE"),
        ("ERROR: No matching distribution found for b==2", "b==2 is not in the index or wheels directory"),
        ("ERROR: something\nERROR: the last word", "the last word"),
        ("", "pip failed"),
    ],
)
def test_each_failure_of_pip_is_told_with_its_next_step(output: str, line: str) -> None:
    assert line in packages.explain(output)


def test_the_kept_pip_has_the_pinned_hash(tmp_path: Path) -> None:
    packages.put_pip(str(tmp_path))
    assert (tmp_path / "pip" / "__init__.py").is_file()


def test_a_download_needs_the_pinned_pip_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "PIP_WHEEL", str(tmp_path / "none.whl"))
    with pytest.raises(BootstrapError, match="is not the pinned pip"):
        packages.download("python3", "lock", str(tmp_path), str(tmp_path / "log"))
