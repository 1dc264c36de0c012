"""Which file systems a walk stays out of: those that the kernel makes up.

Owns the list of their types and how a device number becomes a type. Device numbers live only as long as a walk.
"""

import os
import re

# fmt: off
PSEUDO_TYPES = frozenset({
    "autofs", "binder", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "cpuset", "debugfs", "devpts",
    "devtmpfs", "efivarfs", "functionfs", "fuse.gvfsd-fuse", "fuse.lxcfs", "fuse.portal", "fusectl", "gadgetfs",
    "hugetlbfs", "mqueue", "nfsd", "nsfs", "pipefs", "proc", "pstore", "resctrl", "rpc_pipefs", "securityfs",
    "selinuxfs", "smackfs", "sockfs", "sysfs", "tracefs", "usbfs", "xenfs",
})
# fmt: on
_MOUNTINFO = "/proc/self/mountinfo"
_LINE = re.compile(rb"\d+ \d+ (\d+):(\d+) .* - (\S+) ", re.ASCII)


class FileSystems:
    """Knows the type of mounted file systems; a device met later than the last look is looked up again."""

    def __init__(self, mountinfo: str = _MOUNTINFO) -> None:
        self._mountinfo = mountinfo
        self._types: dict[int, str | None] = {}

    def is_pseudo(self, device: int) -> bool:
        """Return whether `device` (an st_dev) is a file system that only shows what the kernel knows."""
        if device not in self._types:
            self._types.update(self._read())
            # Subvolumes have device numbers that no mount shows: unknown, so ordinary.
            self._types.setdefault(device, None)
        return self._types[device] in PSEUDO_TYPES

    def tells_sizes(self, device: int) -> bool:
        """Return whether a file that says it is empty is: where programs or the kernel make files up, it may not be."""
        return not self.is_pseudo(device) and not (self._types[device] or "").startswith("fuse")

    def _read(self) -> dict[int, str | None]:
        try:
            with open(self._mountinfo, "rb") as file:
                lines = file.readlines()
        except OSError:
            return {}
        matches = (_LINE.match(line) for line in lines)
        return {
            os.makedev(int(match[1]), int(match[2])): match[3].decode("ascii", "replace")
            for match in matches
            if match is not None
        }
