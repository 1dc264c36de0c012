"""Reading settings: precedence, `…_FILE`, kinds, unknown names (design: settings)."""

from pathlib import Path

import pytest

from syncova_project import env
from syncova_project.errors import ConfigurationError


def environment(**values: str) -> env.Environment:
    return env.Environment({name: env.Found(value, "environment") for name, value in values.items()})


def test_a_misspelled_name_is_refused_with_the_nearest_one():
    with pytest.raises(ConfigurationError, match=r"SYNCOVA_BROKER_ULR.*SYNCOVA_BROKER_URL"):
        environment(SYNCOVA_BROKER_ULR="x").refuse_unknown()


def test_a_misspelled_file_variant_is_refused_with_the_nearest_one():
    assert env.nearest_name("SYNCOVA_TOKEN_FIEL") == "SYNCOVA_TOKEN_FILE"


def test_names_of_hooks_are_not_unknown():
    environment(SYNCOVA_RUN_ID="x", SYNCOVA_TOKEN_FILE="/x").refuse_unknown()


@pytest.mark.parametrize("value", ["", "ten", "0", "301", "1.5", "1e1", "٣"])
def test_a_number_outside_its_bounds_or_no_number_names_the_setting(value):
    with pytest.raises(ConfigurationError, match=r"SYNCOVA_TICK_SECONDS.*whole number from 1 to 300"):
        environment(SYNCOVA_TICK_SECONDS=value).integer("SYNCOVA_TICK_SECONDS")


def test_a_number_in_its_bounds_is_read():
    assert environment(SYNCOVA_TICK_SECONDS=" 300 ").integer("SYNCOVA_TICK_SECONDS") == 300


@pytest.mark.parametrize(("value", "expected"), [("TRUE", True), ("on", True), ("0", False), ("no", False)])
def test_flags(value, expected):
    assert environment(SYNCOVA_ALLOW_UNENCRYPTED=value).flag("SYNCOVA_ALLOW_UNENCRYPTED") is expected


def test_a_flag_is_never_guessed():
    with pytest.raises(ConfigurationError, match="true or false"):
        environment(SYNCOVA_ALLOW_UNENCRYPTED="maybe").flag("SYNCOVA_ALLOW_UNENCRYPTED")


def test_a_choice_outside_its_words_is_refused():
    with pytest.raises(ConfigurationError, match="debug, info"):
        environment(SYNCOVA_LOG_LEVEL="loud").word("SYNCOVA_LOG_LEVEL")


def test_lists_and_paths():
    read = environment(SYNCOVA_SECRET_KEYS="a, b\nc", SYNCOVA_SOURCE_ROOTS="/a:/b")
    assert read.words("SYNCOVA_SECRET_KEYS") == ["a", "b", "c"]
    assert read.paths("SYNCOVA_SOURCE_ROOTS") == [Path("/a"), Path("/b")]


def test_a_relative_path_is_refused():
    with pytest.raises(ConfigurationError, match="absolute path"):
        environment(SYNCOVA_DATA_DIR="data").path("SYNCOVA_DATA_DIR")


def test_a_file_variant_is_read_without_its_line_break(tmp_path):
    (tmp_path / "token").write_text(" secret \r\n")
    assert environment(SYNCOVA_TOKEN_FILE=str(tmp_path / "token")).text("SYNCOVA_TOKEN") == " secret "


def test_a_missing_file_is_named_with_the_setting(tmp_path):
    with pytest.raises(ConfigurationError, match=r"SYNCOVA_TOKEN_FILE.*absent"):
        environment(SYNCOVA_TOKEN_FILE=str(tmp_path / "absent")).text("SYNCOVA_TOKEN")


def test_value_and_file_at_once_are_refused():
    with pytest.raises(ConfigurationError, match="both set"):
        environment(SYNCOVA_TOKEN="a", SYNCOVA_TOKEN_FILE="/b").text("SYNCOVA_TOKEN")


def test_an_error_about_a_secret_does_not_quote_it(tmp_path):
    with pytest.raises(ConfigurationError) as caught:
        environment(SYNCOVA_TOKEN_FILE="hunter2").text("SYNCOVA_TOKEN")
    assert "hunter2" not in str(caught.value)


def test_the_environment_wins_over_the_settings_file(tmp_path, monkeypatch):
    (tmp_path / "syncova.env").write_text("# comment\nSYNCOVA_TOKEN='from file'\nSYNCOVA_URL=http://file\n")
    monkeypatch.delenv("SYNCOVA_SETTINGS_FILE")
    monkeypatch.setenv("SYNCOVA_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("SYNCOVA_URL", "http://environment")
    monkeypatch.setattr(env, "SYSTEM_SETTINGS_FILE", tmp_path / "absent")
    loaded = env.load()
    assert loaded.find("SYNCOVA_URL") == env.Found("http://environment", "environment")
    assert loaded.find("SYNCOVA_TOKEN") == env.Found("from file", str(tmp_path / "syncova.env"))


def test_a_variable_in_the_environment_wins_over_a_file_variant_in_the_settings_file(tmp_path, monkeypatch):
    (tmp_path / "one.env").write_text("SYNCOVA_TOKEN_FILE=/nowhere\n")
    monkeypatch.setenv("SYNCOVA_SETTINGS_FILE", str(tmp_path / "one.env"))
    monkeypatch.setenv("SYNCOVA_TOKEN", "near")
    assert env.load().text("SYNCOVA_TOKEN") == "near"


def test_the_system_file_wins_over_the_one_in_the_data_directory(tmp_path, monkeypatch):
    (tmp_path / "system.env").write_text("SYNCOVA_TOKEN=system\n")
    (tmp_path / "syncova.env").write_text("SYNCOVA_TOKEN=data\n")
    monkeypatch.delenv("SYNCOVA_SETTINGS_FILE")
    monkeypatch.setenv("SYNCOVA_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(env, "SYSTEM_SETTINGS_FILE", tmp_path / "system.env")
    assert env.load().text("SYNCOVA_TOKEN") == "system"


def test_an_unknown_name_in_a_settings_file_is_refused_naming_the_file(tmp_path, monkeypatch):
    (tmp_path / "one.env").write_text("SYNCOVA_TICKS=5\n")
    monkeypatch.setenv("SYNCOVA_SETTINGS_FILE", str(tmp_path / "one.env"))
    with pytest.raises(ConfigurationError, match=r"SYNCOVA_TICKS.*one\.env"):
        env.load()


@pytest.mark.parametrize("line", ["PATH=/bin", "SYNCOVA_URL", "export SYNCOVA_URL=x"])
def test_a_line_that_is_no_setting_is_refused_with_its_number(line):
    with pytest.raises(ConfigurationError, match="line 2"):
        env.parse_settings_file(f"# first\n{line}\n", "a file")


def test_the_data_directory_follows_the_user(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_DATA_HOME", "/home/alice/data")
    assert env.data_directory(environment()) == Path("/home/alice/data/syncova")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert env.data_directory(environment()) == Path("/var/lib/syncova")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SYNCOVA_WEB_WORKERS", "many"),
        ("SYNCOVA_ALLOW_UNENCRYPTED", "maybe"),
        ("SYNCOVA_LOG_LEVEL", "loud"),
        ("SYNCOVA_SOURCE_ROOTS", "/a:b"),
        ("SYNCOVA_TOKEN_FILE", "/nonexistent/token"),
    ],
)
def test_validation_reads_every_kind(name, value):
    with pytest.raises(ConfigurationError, match=name):
        environment(**{name: value}).validate()
    environment().validate()
