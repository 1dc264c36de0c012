"""Backups and their entries as JSON values: the shape that commands, the child's results and the API share.

Owns the field names (design.md, section 4); fields are only ever added. Every foreign text is shown text.
"""

import stat
from collections import Counter
from collections.abc import Sequence
from typing import Any

from repositories.engine.display import path_fields, show_text, time_field
from repositories.engine.keychain.remaining import sealed_before
from repositories.engine.keys.slots import Slot, SlotRole
from repositories.engine.manifest.backups import AcceptedManifest, Backup, list_backups
from repositories.engine.manifest.entries import FLAG_CHANGED, Entry, EntryType, unpack_time
from repositories.engine.manifest.problems import ProblemRecord, Severity
from repositories.engine.manifest.root import BackupRoot
from repositories.engine.manifest.unfinished import newest_unfinished
from repositories.engine.process.label_fields import Said, label_fields
from repositories.engine.repository import Repository

COMPLETE, PARTIAL, DAMAGED = "complete", "partial", "damaged"


def backup_fields(backup: Backup, said: Said, hurt: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return one backup as `list` tells it; sizes in bytes. `hurt`: as for `backup_state`.

    Its tags are those that count now: not all that it was made with, and such as came upon it since.
    """
    root = backup.root
    source, origin, lineage, figures = root.source, root.origin, root.lineage, root.statistics
    return {
        "id": show_text(backup.id),
        "short_id": backup.short_id,
        "source": show_text(source.name),
        "source_type": show_text(source.type),
        **path_fields(source.id),
        "host": show_text(source.host),
        "time": time_field(backup.received_ns),
        "started_at": time_field(root.started_ns),
        "finished_at": time_field(root.finished_ns),
        "state": backup_state(backup, hurt),
        "mode": show_text(lineage.mode),
        "chain": show_text(lineage.chain),
        "parent": None if lineage.parent is None else show_text(lineage.parent),
        "sequence": lineage.sequence,
        "run_id": show_text(origin.run_id),
        "trigger": show_text(origin.trigger),
        "scheduled_for": None if origin.scheduled_for_ns is None else time_field(origin.scheduled_for_ns),
        "files": figures.files,
        "directories": figures.directories,
        "links": figures.links,
        "others": figures.others,
        "logical_bytes": figures.logical_bytes,
        "bytes_read": figures.bytes_read,
        "bytes_stored": figures.bytes_stored,
        "skipped": figures.skipped,
        "warnings": figures.warnings,
        "notes": figures.notes,
        "manifest_id": backup.manifest_id,
        "copied_from": _copied_from(backup),
        **label_fields(backup, said),
    }


def _copied_from(backup: Backup) -> dict[str, str] | None:
    """Return of what a backup is a copy, and where it was made if that was one, too; its `time` is the original's."""
    copied = backup.copied
    if copied is None:
        return None
    return {
        "repository_id": copied.repository_id.hex(),
        "manifest_id": copied.manifest_id.hex(),
        "time": time_field(copied.copied_ns),
        "first_repository_id": (copied.first_repository_id or copied.repository_id).hex(),
        "first_manifest_id": (copied.first_manifest_id or copied.manifest_id).hex(),
    }


def backups_document(
    backups: Sequence[Backup],
    damaged: Sequence[str],
    hurt: frozenset[str],
    said: Said,
) -> dict[str, Any]:
    """Return the object of `list`, oldest first as the repository gives them.

    `damaged` names the manifests that neither copy gives back: backups that are lost. `hurt`: as for `backup_state`.
    """
    return {"backups": [backup_fields(each, said, hurt) for each in backups], "damaged_manifests": list(damaged)}


def backup_state(backup: Backup, hurt: frozenset[str] = frozenset()) -> str:
    """Return `complete`, `partial` when something that should be in is not, or `damaged`.

    `hurt` are the manifests of which the last check could not have restored everything.
    """
    if backup.manifest_id in hurt:
        return DAMAGED
    return PARTIAL if backup.root.statistics.skipped else COMPLETE


def entry_fields(path: bytes, entry: Entry) -> dict[str, Any]:
    """Return one object of a backup as `ls` tells it; times in ns since the epoch.

    `changed`: it was changing while it was read. Names with one `hard_link` in one backup are one object.
    """
    fields: dict[str, Any] = {
        **path_fields(path),
        "type": entry_type_name(entry),
        "mode": f"{stat.S_IMODE(entry.mode):04o}",
        "uid": entry.uid,
        "gid": entry.gid,
        "size": entry.size,
        "mtime_ns": unpack_time(entry.mtime),
    }
    if entry.target is not None:
        target = path_fields(entry.target)
        fields["target"] = target["path"]
        if "path_base64" in target:
            fields["target_base64"] = target["path_base64"]
    if entry.link_group is not None:
        fields["hard_link"] = f"{entry.link_group[0]}:{entry.link_group[1]}"
    if entry.device is not None:
        fields["device"] = f"{entry.device[0]}:{entry.device[1]}"
    if entry.flags & FLAG_CHANGED:
        fields["changed"] = True
    return fields


def entry_type_name(entry: Entry) -> str:
    """Return the type in words; `unknown` for one that a later version wrote."""
    try:
        return EntryType(entry.type).name.lower()
    except ValueError:
        return "unknown"


def problem_fields(problem: ProblemRecord) -> dict[str, Any]:
    """Return one problem that a backup carries."""
    return {
        "severity": severity_name(problem.severity),
        "kind": show_text(problem.kind),
        **path_fields(problem.path or b"."),
        "detail": show_text(problem.detail),
    }


def severity_name(severity: int) -> str:
    """Return a severity in words; `unknown` for one that a later version wrote."""
    return {int(each): each.name.lower() for each in Severity}.get(severity, "unknown")


def repository_fields(repository: Repository) -> dict[str, Any]:
    """Return what `info` tells about a repository; sizes in bytes of what lies on the medium."""
    slots, damaged = repository.slots()
    config, keyring = repository.config, repository.keyring
    before_rotation = sealed_before(repository.store, repository.catalogue)
    present = list_backups(repository, deleted=True)
    backups = [backup for backup in present if not backup.deleted]
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for stored in repository.object_names():
        kind = stored.name.partition("/")[0]
        counts[kind] += 1
        sizes[kind] += stored.size
    return {
        "repository_id": repository.id,
        "format": config.format,
        "created_at": time_field(config.created_ns),
        "features": sorted({*config.read_features, *config.write_features}),
        "writable": not repository.unknown_write_features,
        "padding": keyring.record.padding,
        "keyring_generation": keyring.generation,
        # Their objects' names are random: sorted, so that two calls tell the same.
        "keys": sorted(map(_slot_fields, slots), key=lambda key: (key["created_at"], key["role"], key["label"])),
        "damaged_keys": damaged,
        "backups": len(backups),
        "deleted_backups": len(present) - len(backups),
        "damaged_manifests": repository.damaged_manifests(),
        "sources": sorted({show_text(backup.source_name) for backup in backups}),
        "unfinished": [
            _unfinished_fields(stored, root)
            for stored, root in newest_unfinished(repository.checkpoints().counted, backups)
        ],
        "packs": counts["packs"],
        "pack_bytes": sizes["packs"],
        "packs_of_older_keys": before_rotation.packs,
        "pack_bytes_of_older_keys": before_rotation.bytes,
        "objects": counts.total(),
        "bytes": sizes.total(),
        "free_bytes": repository.storage.free_space(),
    }


def _unfinished_fields(stored: AcceptedManifest, root: BackupRoot) -> dict[str, Any]:
    """Return what is known of a backup that was broken off or still runs: its newest checkpoint."""
    return {
        "source": show_text(root.source.name),
        **path_fields(root.source.id),
        "time": time_field(stored.received_ns),
        "started_at": time_field(root.started_ns),
        "run_id": show_text(root.origin.run_id),
        "entries": root.pages.count if root.pages is not None else 0,
    }


def _slot_fields(slot: Slot) -> dict[str, Any]:
    facts = slot.facts
    role = "recovery_code" if facts.role == SlotRole.RECOVERY_CODE else "password"
    return {"role": role, "label": show_text(facts.label), "created_at": time_field(facts.created_ns)}
