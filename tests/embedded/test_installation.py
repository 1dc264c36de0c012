"""What `up` makes once and keeps: secrets with their modes, DATA/syncova.env, the environment of each child."""

import os
import stat
from pathlib import Path

import pytest

from syncova_project import env
from syncova_project.embedded import accounts, installation, keepsakes, log_files, ownership
from syncova_project.embedded.layout import Layout, prepare
from syncova_project.embedded.problems import AlreadyRunningError, DataDirectoryError, StackError

OWN = accounts.Account("me", os.geteuid(), os.getegid(), switched=False)
ADDRESSES = {
    installation.DATABASE: "postgresql://a",
    installation.MIGRATION: "postgresql://b",
    installation.BROKER: "redis://c",
}


@pytest.fixture
def layout(tmp_path) -> Layout:
    made = Layout(tmp_path / "data")
    prepare(made, OWN)
    return made


def nothing_set() -> env.Environment:
    return env.Environment({})


def test_a_secret_is_made_once_kept_and_private(layout):
    first = keepsakes.keep(layout.secrets, "key")
    assert keepsakes.keep(layout.secrets, "key") == first
    assert len(first) == 64
    assert stat.S_IMODE((layout.secrets / "key").stat().st_mode) == 0o600
    assert keepsakes.keep(layout.secrets, "other") != first


def test_an_empty_secret_is_never_taken_for_one(layout):
    (layout.secrets / "key").write_text("\n")
    with pytest.raises(DataDirectoryError, match="is empty"):
        keepsakes.keep(layout.secrets, "key")


def test_a_link_in_place_of_a_secret_is_refused(layout, tmp_path):
    (tmp_path / "elsewhere").write_text("x")
    (layout.secrets / "key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        keepsakes.keep(layout.secrets, "key")


def test_manage_finds_what_up_made(layout, monkeypatch):
    installation.keep_settings(layout, OWN, nothing_set(), ADDRESSES)
    monkeypatch.delenv("SYNCOVA_SETTINGS_FILE")
    monkeypatch.setattr(env, "SYSTEM_SETTINGS_FILE", Path("/nonexistent"))
    loaded = env.load(layout.root)
    assert {name: loaded.text(name) for name in ADDRESSES} == ADDRESSES
    assert len(loaded.text("SYNCOVA_DJANGO_KEY") or "") == 64


def test_a_second_start_changes_neither_keys_nor_the_operators_lines(layout):
    installation.keep_settings(layout, OWN, nothing_set(), ADDRESSES)
    with layout.settings_file.open("a") as file:
        file.write("# mine\nSYNCOVA_TICK_SECONDS=7\n")
    keys = (layout.secrets / "secret_keys").read_text()
    before = layout.settings_file.read_text()
    installation.keep_settings(layout, OWN, nothing_set(), ADDRESSES)
    assert layout.settings_file.read_text() == before
    assert (layout.secrets / "secret_keys").read_text() == keys


def test_lines_of_a_moved_directory_are_written_anew_and_the_others_kept(layout):
    layout.settings_file.write_text("# mine\nSYNCOVA_DJANGO_KEY_FILE=/old/secrets/django_key\nSYNCOVA_TICK_SECONDS=7\n")
    lines = {"SYNCOVA_DJANGO_KEY_FILE": str(layout.secrets / "django_key")}
    installation._add_lines(layout, OWN, lines)
    content = layout.settings_file.read_text()
    assert "/old/" not in content
    assert "# mine\nSYNCOVA_TICK_SECONDS=7\n" in content


def test_servers_of_the_operator_are_theirs_and_ours_are_ours(layout):
    ours = installation.keep_settings(layout, OWN, nothing_set(), ADDRESSES)
    theirs = env.Environment({installation.BROKER: env.Found("redis://theirs", "environment")})
    assert not installation.is_operators(installation.DATABASE, ours, layout)
    assert not installation.is_operators(installation.BROKER, nothing_set(), layout)
    assert installation.is_operators(installation.BROKER, theirs, layout)


def test_the_owners_address_goes_to_migrations_alone(layout):
    settings = installation.keep_settings(layout, OWN, nothing_set(), ADDRESSES)
    web = installation.child_variables(settings, layout, OWN)
    migrations = installation.child_variables(settings, layout, None, migrating=True)
    assert not [name for name in web if name.startswith(installation.MIGRATION)]
    assert f"{installation.MIGRATION}_FILE" in migrations


def test_a_service_user_gets_only_what_it_needs(layout, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("SYNCOVA_REPOSITORY_PASSWORD", "hunter2")
    account = accounts.Account("other", 54321, 54321, switched=True)
    variables = installation.child_variables(env.process_environment(), layout, account)
    assert "hunter2" not in variables.values()
    assert variables["SYNCOVA_SETTINGS_FILE"] == "/dev/null"


def test_credentials_of_remote_repositories_go_to_the_workers_user_alone(layout, monkeypatch):
    """4.8: by the name of their file, so that no environment holds them."""
    monkeypatch.setenv("SYNCOVA_WEBDAV_PASSWORD_FILE", "/etc/backup/webdav")
    service = accounts.Account("other", 54321, 54321, switched=True)
    own, others = (
        installation.child_variables(env.process_environment(), layout, account) for account in (None, service)
    )
    assert own["SYNCOVA_WEBDAV_PASSWORD_FILE"] == "/etc/backup/webdav"
    assert not [name for name in others if "WEBDAV" in name]


def test_every_child_leaves_its_temporary_files_where_the_next_start_removes_them(layout):
    """Each in a directory of its own user: root never works in one that others may write."""
    service = accounts.Account("other", 54321, 54321, switched=True)
    own, others = (installation.child_variables(nothing_set(), layout, account) for account in (None, service))
    assert (own["TMPDIR"], others["TMPDIR"]) == (str(layout.own_scratch), str(layout.scratch))
    assert layout.own_scratch.stat().st_uid == os.geteuid()


def test_an_unreadable_secret_names_what_helps(layout, monkeypatch):
    def refuse(path, *_: object) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(DataDirectoryError, match="may not be read") as caught:
        keepsakes.read(layout.secrets / "valkey")
    assert "./syncova agent restore" in caught.value.hint


def test_a_file_that_the_service_user_cannot_read_is_passed_on_by_value(layout, tmp_path):
    (tmp_path / "key").write_text("k" * 40)
    (tmp_path / "key").chmod(0o600)
    account = accounts.Account("other", 54321, 54321, switched=True)
    settings = env.Environment({"SYNCOVA_DJANGO_KEY_FILE": env.Found(str(tmp_path / "key"), "environment")})
    assert installation.child_variables(settings, layout, account)["SYNCOVA_DJANGO_KEY"] == "k" * 40


def test_a_live_owner_is_named_and_a_dead_one_is_not_in_the_way(layout):
    record = ownership.OwnerRecord(4242, "1", "http://127.0.0.1:8760", "now", "ready")
    with ownership.owning(layout):
        ownership.write_record(layout, record)
        assert ownership.has_live_owner(layout)
        with pytest.raises(AlreadyRunningError, match=r"4242.*http://127\.0\.0\.1:8760"), ownership.owning(layout):
            pass
    assert not ownership.has_live_owner(layout)
    assert ownership.read_record(layout) == record
    with ownership.owning(layout):
        pass


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}', '{"members": [{"x": 1}]}'])
def test_a_record_cut_short_is_no_record(layout, content):
    (layout.state / "owner.json").write_text(content)
    assert ownership.read_record(layout) is None


def test_a_log_is_bounded_in_place(layout):
    with layout.log("web").open("ab") as writer:
        writer.write(b"old\n" * 100)
        writer.flush()
        log_files.bound(layout, longest=100)
        writer.write(b"new\n")
    assert layout.log("web").read_bytes() == b"new\n"
    assert (layout.logs / "web.log.1").read_bytes() == b"old\n" * 100
    assert stat.S_IMODE((layout.logs / "web.log.1").stat().st_mode) == 0o600


def test_a_process_without_a_log_is_refused_naming_those_that_have_one(layout):
    layout.log("web").touch()
    with pytest.raises(StackError) as caught:
        log_files.chosen(layout, "wbe")
    assert "web" in caught.value.hint


def test_following_yields_whole_harmless_lines_also_after_the_log_was_emptied(layout):
    log = layout.log("web")
    log.write_bytes(b"before\n")
    steps = iter([b"one\npart", b"ial\x1b[2J\n", None, b"again\n", "end"])

    def write_next() -> bool:
        step = next(steps)
        if step is None:
            os.truncate(log, 0)
            return False
        if isinstance(step, bytes):
            with log.open("ab") as file:
                file.write(step)
        return step == "end"

    assert [line for _log, line in log_files.follow([log], write_next)] == ["one", "partial\\x1b[2J", "again"]
