"""A task of PVM that does what it is told: an expression a line in, its value as JSON out.

Run as a program of its own, with PVM's library by ctypes: nothing of netsonde is between a test and
what the library and its daemons do.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
from typing import Any

LIBRARY = "libpvm3.so.3"
DEFAULT, RAW, IN_PLACE = 0, 1, 2
ROUTE, DONT_ROUTE, ALLOW_DIRECT, ROUTE_DIRECT, AUTO_ERR = 1, 1, 2, 3, 2
TASK_EXIT, HOST_DELETE, HOST_ADD = 1, 2, 3
ANYBODY = ANY_TAG = -1
TASK_HOST, PVM_INT = 1, 3


class Timeval(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("microseconds", ctypes.c_long))


class TaskInfo(ctypes.Structure):
    """What pvm_tasks() tells of one, as pvm3.h has it."""

    _fields_ = (
        *(("tid", ctypes.c_int), ("parent", ctypes.c_int), ("host", ctypes.c_int)),
        *(("flag", ctypes.c_int), ("name", ctypes.c_char_p), ("process", ctypes.c_int)),
    )


class Pvm:
    """Calls of the library; each returns what the library did, errors included."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(LIBRARY)
        self._kept: dict[str, Any] = {}
        self.tid = int(self._library.pvm_mytid())
        self._library.pvm_setopt(AUTO_ERR, 0)

    def call(self, name: str, *words: Any) -> int:
        return int(getattr(self._library, name)(*words))

    def route(self, which: int) -> int:
        return self.call("pvm_setopt", ROUTE, which)

    def hosts(self) -> int:
        count = ctypes.c_int()
        self.call("pvm_config", ctypes.byref(count), None, None)
        return count.value

    def descriptors(self) -> int:
        fds = ctypes.POINTER(ctypes.c_int)()
        return self.call("pvm_getfds", ctypes.byref(fds))

    def add_host(self, line: str) -> int:
        info = (ctypes.c_int * 1)()
        self.call("pvm_addhosts", (ctypes.c_char_p * 1)(line.encode()), 1, info)
        return info[0]

    def delete_host(self, name: str) -> int:
        info = (ctypes.c_int * 1)()
        return self.call("pvm_delhosts", (ctypes.c_char_p * 1)(name.encode()), 1, info)

    def notify(self, what: int, tag: int, tids: list[int]) -> int:
        count = len(tids) if tids else -1
        return self.call("pvm_notify", what, tag, count, (ctypes.c_int * max(1, len(tids)))(*tids))

    def daemon_of(self, tid: int) -> int:
        return self.call("pvm_tidtohost", tid)

    # Packing and unpacking: C's names of types, with what Python's module array calls them.
    def begin(self, encoding: int) -> int:
        return self.call("pvm_initsend", encoding)

    def pack(self, kind: str, values: list[Any], name: str = "") -> int:
        """Under a name, the values stay in memory, where change() finds them."""
        array = (_TYPES[kind] * len(values))(*values)
        self._kept[name or f"pack {len(self._kept)}"] = array
        return self.call(f"pvm_pk{kind}", array, len(values), 1)

    def pack_strided(self, kind: str, values: list[Any], stride: int) -> int:
        array = (_TYPES[kind] * len(values))(*values)
        self._kept["strided"] = array
        return self.call(f"pvm_pk{kind}", array, len(values) // stride, stride)

    def change(self, name: str, values: list[Any]) -> None:
        for place, value in enumerate(values):
            self._kept[name][place] = value

    def pack_text(self, text: str) -> int:
        return self.call("pvm_pkstr", text.encode())

    def unpack(self, kind: str, count: int) -> list[Any]:
        """The values, or [the library's error]."""
        array = (_TYPES[kind] * count)()
        status = self.call(f"pvm_upk{kind}", array, count, 1)
        return list(array) if status >= 0 else [status]

    def unpack_bytes(self, count: int) -> str:
        """As they came, in hexadecimal digits: of bytes, no encoding changes anything."""
        array = ctypes.create_string_buffer(count)
        status = self.call("pvm_upkbyte", array, count, 1)
        return array.raw.hex() if status >= 0 else str(status)

    def send(self, tid: int, tag: int = 1) -> int:
        return self.call("pvm_send", tid, tag)

    def receive(self, tid: int = ANYBODY, tag: int = ANY_TAG, seconds: float = 10.0) -> int:
        """The buffer, 0 where nothing came in time."""
        limit = Timeval(int(seconds), int(seconds % 1 * 1e6))
        return self.call("pvm_trecv", tid, tag, ctypes.byref(limit))

    def length(self, buffer: int) -> int:
        length = ctypes.c_int()
        self.call("pvm_bufinfo", buffer, ctypes.byref(length), None, None)
        return length.value

    def send_numbered(self, tid: int, count: int, words: int) -> int:
        """So many messages, each with its number in every word; how many were taken."""
        taken = 0
        for number in range(count):
            self.begin(DEFAULT)
            self.pack("int", [number] * words, "numbered")
            taken += self.send(tid) >= 0
        return taken

    def receive_numbered(self, tid: int, count: int, words: int) -> list[int]:
        """The numbers of so many messages in the order in which they came, -1 of one whose words
        differ, -2 of one that did not come."""
        numbers: list[int] = []
        for _ in range(count):
            if self.receive(tid, 1, 20.0) <= 0:
                return [*numbers, -2]
            found = set(self.unpack("int", words))
            numbers.append(found.pop() if len(found) == 1 else -1)
        return numbers

    def is_local_socket(self) -> bool:
        """Whether what leads to the daemon is a socket within the host."""
        fds = ctypes.POINTER(ctypes.c_int)()
        self.call("pvm_getfds", ctypes.byref(fds))
        with socket.socket(fileno=os.dup(fds[0])) as own:
            return own.family == socket.AF_UNIX

    def spawn(self, words: list[str], host: str) -> int:
        """A program on a host; its task, or the library's error."""
        argv = (ctypes.c_char_p * len(words))(*[word.encode() for word in words[1:]], None)
        tids = (ctypes.c_int * 1)()
        self.call("pvm_spawn", words[0].encode(), argv, TASK_HOST, host.encode(), 1, tids)
        return tids[0]

    def tasks(self) -> list[int]:
        """Those of all hosts."""
        count, found = ctypes.c_int(), ctypes.POINTER(TaskInfo)()
        self.call("pvm_tasks", 0, ctypes.byref(count), ctypes.byref(found))
        return [found[place].tid for place in range(count.value)]

    def send_at_once(self, tid: int, tag: int, values: list[int]) -> int:
        """By the one call that packs and sends."""
        array = (ctypes.c_int * len(values))(*values)
        return self.call("pvm_psend", tid, tag, array, len(values), PVM_INT)

    def receive_at_once(self, tid: int, tag: int, count: int) -> list[int]:
        array = (ctypes.c_int * count)()
        self.call("pvm_precv", tid, tag, array, count, PVM_INT, None, None, None)
        return list(array)

    def waiting(self, tid: int) -> int:
        """Whether a message is there that nobody has taken."""
        return self.call("pvm_probe", tid, ANY_TAG)


_TYPES: dict[str, Any] = {
    "byte": ctypes.c_char,
    "short": ctypes.c_short,
    "int": ctypes.c_int,
    "long": ctypes.c_long,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}


def main() -> None:
    known = {**globals(), "pvm": Pvm()}
    print(json.dumps(known["pvm"].tid), flush=True)
    for line in sys.stdin:
        value = eval(line, known)  # what the test wrote
        print(json.dumps(value), flush=True)
    known["pvm"].call("pvm_exit")


if __name__ == "__main__":
    main()
