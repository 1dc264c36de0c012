"""The process that serves the test file system: answers the kernel on a descriptor, and takes switches on its input.

Owns the faults that it plays. `python -m tests.fuse.serve DESCRIPTOR`, then an object of switches a line, or null; each
is answered by how many requests will never be. It ends when the file system is unmounted or its input is closed.
"""

import errno
import json
import os
import stat
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from tests.fuse import wire
from tests.fuse.tree import Node, Spelling, Tree
from tests.fuse.wire import Op

_GRANULARITY = "granularity_ns"


class Silence(Exception):  # noqa: N818 — no failure: the kernel gets no answer
    """The request is never answered."""


class Server:
    """One file system. `switches`: see `tests.fuse.mounting.Mounted.switch`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._tree = Tree(Spelling(), self._now())
        self._switches: dict[str, Any] = {}
        self.silent = 0
        self._handlers: dict[int, Callable[[int, bytes, tuple[int, int]], bytes]] = {
            op: getattr(self, op.name.lower()) for op in Op if hasattr(self, op.name.lower())
        }

    def switch(self, switches: dict[str, Any]) -> None:
        """Take over switches."""
        self._switches = switches
        for name in ("folds", "form", "lowers", "longest"):
            if name in switches:
                setattr(self._tree.spelling, name, switches[name])
        self._tree.spelling.refuses = switches.get("refuses", "").encode()
        for shown, size in switches.get("sizes", {}).items():
            for node in self._tree.nodes.values():
                if shown.encode() in self._tree.paths(node.number):
                    node.shown_size = size

    def run(self) -> None:
        """Answer until the file system is unmounted."""
        while True:
            try:
                request = os.read(self._descriptor, wire.BUFFER)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                return
            self._serve(request)

    def _serve(self, request: bytes) -> None:
        _, opcode, unique, node, uid, gid, _, _ = wire.IN_HEADER.unpack_from(request)
        body = request[wire.IN_HEADER.size :]
        try:
            self._play_faults(opcode, node, body)
            handler = self._handlers.get(opcode)
            if opcode in wire.SILENT:
                return
            reply = wire.answer(unique, errno.ENOSYS) if handler is None else b""
            if handler is not None:
                reply = wire.answer(unique, 0, handler(node, body, (uid, gid)))
        except Silence:
            self.silent += 1
            return
        except OSError as error:
            reply = wire.answer(unique, error.errno or errno.EIO)
        try:
            os.write(self._descriptor, reply)
        except OSError:
            return  # nobody waits for it any more

    def _play_faults(self, opcode: int, node: int, body: bytes) -> None:
        for fault in self._switches.get("faults", ()):
            if Op[fault["op"]] != opcode or not self._concerns(fault, opcode, node, body):
                continue
            if fault.get("times", 1) <= 0:
                continue
            fault["times"] = fault.get("times", 1 << 60) - 1
            if fault.get("hangs"):
                raise Silence
            raise OSError(fault["errno"], "fault")

    def _concerns(self, fault: dict[str, Any], opcode: int, node: int, body: bytes) -> bool:
        if opcode in (Op.READ, Op.WRITE):
            _, offset, size, *_ = wire.TRANSFER.unpack_from(body)
            if offset + size <= fault.get("offset", 0):
                return False
        if opcode == Op.READDIR and wire.TRANSFER.unpack_from(body)[1] < fault.get("offset", 0):
            return False
        if opcode == Op.SETATTR and not wire.SETATTR.unpack_from(body)[0] & fault.get("fields", ~0):
            return False
        if opcode == Op.MKNOD and "kind" in fault and stat.S_IFMT(wire.FOUR.unpack_from(body)[0]) != fault["kind"]:
            return False
        if opcode == Op.SETXATTR and not body[8:].startswith(fault.get("prefix", "").encode()):
            return False
        if "name" not in fault:
            return True
        wanted = fault["name"].encode()
        return body.split(b"\0")[0] == wanted if opcode == Op.LOOKUP else wanted in self._tree.paths(node)

    def _now(self) -> int:
        return time.time_ns()

    def _attributes(self, node: Node) -> bytes:
        times = node.mtime, node.now
        inode = node.number + self._switches.get("renumbered", 0)
        return wire.attributes(inode, node.size, times, node.mode, node.links, node.owner, node.device)

    def _entry(self, node: Node) -> bytes:
        return wire.entry(node.number, self._attributes(node))

    def _made(self, parent: int, name: bytes, mode: int, owner: tuple[int, int]) -> Node:
        owner = tuple(self._switches.get("owner", owner))
        return self._tree.make(parent, name, mode, owner, self._now())

    def init(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        return wire.init()

    def statfs(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        return wire.statfs()

    def lookup(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        return self._entry(self._tree.find(node, _text(body)))

    def getattr(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        return wire.attr_out(self._attributes(self._tree.nodes[node]))

    def setattr(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        fields = wire.SETATTR.unpack_from(body)
        valid, size, mtime, mtime_ns, mode, uid, gid = (fields[at] for at in (0, 3, 6, 9, 11, 13, 14))
        found = self._tree.nodes[node]
        if valid & wire.MODE:
            kept = self._switches.get("mode_mask", 0o7777)
            found.mode = stat.S_IFMT(found.mode) | (mode & kept)
        if valid & wire.UID:
            found.owner = (uid, found.owner[1])
        if valid & wire.GID:
            found.owner = (found.owner[0], gid)
        if valid & wire.SIZE:
            del found.data[size:]
            found.data.extend(bytes(size - len(found.data)))
            found.mtime = self._now()
        if valid & wire.MTIME:
            found.mtime = self._kept_time(self._now() if valid & wire.MTIME_NOW else mtime * 10**9 + mtime_ns)
        found.now = self._now()
        return wire.attr_out(self._attributes(found))

    def _kept_time(self, ns: int) -> int:
        first, last = self._switches.get("time_range_s", (-(1 << 62), 1 << 62))
        ns = min(max(ns, first * 10**9), last * 10**9)
        return ns - ns % int(self._switches.get(_GRANULARITY, 1))

    def readlink(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        return self._tree.nodes[node].target

    def symlink(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        name, target, *_ = body.split(b"\0")
        made = self._made(node, name, stat.S_IFLNK | 0o777, owner)
        made.target = target
        return self._entry(made)

    def mknod(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        mode, device, _, _ = wire.FOUR.unpack_from(body)
        made = self._made(node, _text(body[wire.FOUR.size :]), mode, owner)
        made.device = device
        return self._entry(made)

    def mkdir(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        mode, _ = wire.PAIR.unpack_from(body)
        return self._entry(self._made(node, _text(body[wire.PAIR.size :]), stat.S_IFDIR | mode, owner))

    def create(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        _, mode, _, _ = wire.FOUR.unpack_from(body)
        made = self._made(node, _text(body[wire.FOUR.size :]), mode, owner)
        return self._entry(made) + wire.OPEN.pack(0, wire.DIRECT_IO, 0)

    def unlink(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        self._tree.remove(node, _text(body), self._now())
        return b""

    rmdir = unlink

    def rename(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        return self._rename(node, struct.unpack_from("<Q", body)[0], body[8:])

    def rename2(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        to, flags = struct.unpack_from("<QI", body)
        if flags:
            raise OSError(errno.EINVAL, "no flags")
        return self._rename(node, to, body[16:])

    def _rename(self, node: int, to: int, names: bytes) -> bytes:
        old, new, *_ = names.split(b"\0")
        self._tree.rename((node, old), (to, new), self._now())
        return b""

    def link(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        found = self._tree.nodes[struct.unpack_from("<Q", body)[0]]
        self._tree.put(node, _text(body[8:]), found, self._now())
        found.links += 1
        return self._entry(found)

    def open(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        return wire.OPEN.pack(0, wire.DIRECT_IO, 0)

    def opendir(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        return wire.OPEN.pack(0, 0, 0)

    def release(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        return b""

    releasedir = release

    def read(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        _, offset, size, *_ = wire.TRANSFER.unpack_from(body)
        return bytes(self._tree.nodes[node].data[offset : offset + size])

    def write(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        _, offset, size, *_ = wire.TRANSFER.unpack_from(body)
        if offset + size > self._switches.get("largest", 1 << 40):
            raise OSError(errno.EFBIG, "too large")
        found = self._tree.nodes[node]
        found.data.extend(bytes(max(0, offset - len(found.data))))
        found.data[offset : offset + size] = body[wire.TRANSFER.size : wire.TRANSFER.size + size]
        found.mtime = found.now = self._now()
        return wire.PAIR.pack(size, 0)

    def readdir(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        _, offset, size, *_ = wire.TRANSFER.unpack_from(body)
        out = b""
        for at, (name, number) in enumerate([*self._tree.nodes[node].names.values()][offset:], offset + 1):
            record = wire.dirent(number, at, stat.S_IFMT(self._tree.nodes[number].mode) >> 12, name)
            if len(out) + len(record) > size or at > offset + self._switches.get("listed", size):
                break
            out += record
        return out

    def setxattr(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        size, _ = wire.PAIR.unpack_from(body)
        name = _text(body[8:])
        self._tree.nodes[node].xattrs[name] = body[8 + len(name) + 1 :][:size]
        return b""

    def getxattr(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        value = self._tree.nodes[node].xattrs.get(_text(body[8:]))
        if value is None:
            raise OSError(errno.ENODATA, "no such attribute")
        return _sized(value, wire.PAIR.unpack_from(body)[0])

    def listxattr(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        names = b"".join(name + b"\0" for name in self._tree.nodes[node].xattrs)
        return _sized(names, wire.PAIR.unpack_from(body)[0])

    def removexattr(self, node: int, body: bytes, owner: tuple[int, int]) -> bytes:
        if self._tree.nodes[node].xattrs.pop(_text(body), None) is None:
            raise OSError(errno.ENODATA, "no such attribute")
        return b""


def _text(body: bytes) -> bytes:
    return body.split(b"\0")[0]


def _sized(value: bytes, room: int) -> bytes:
    if not room:
        return wire.PAIR.pack(len(value), 0)
    if len(value) > room:
        raise OSError(errno.ERANGE, "too long")
    return value


def _take_switches(server: Server) -> None:
    for line in sys.stdin:
        switches = json.loads(line)
        if switches is not None:
            server.switch(switches)
        print(server.silent, flush=True)  # noqa: T201 — the answer on a pipe
    os._exit(0)


if __name__ == "__main__":
    served = Server(int(sys.argv[1]))
    threading.Thread(target=_take_switches, args=(served,), daemon=True).start()
    served.run()
