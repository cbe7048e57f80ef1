"""The two ends whose settings are tried: read, changed, put back, and shown to be as before."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import netsonde
from netsonde.errors import HostError
from netsonde.launch.closing import Closing
from netsonde.launch.host import Host, launcher_row, printable
from netsonde.launch.local import source_address, target_address
from netsonde.tuning.sockets.caretaker import Caretaker
from netsonde.tuning.sockets.knobs import SETTINGS_USED
from netsonde.tuning.sockets.settings import SETTINGS, Place

FAMILY = "ipv4"
SAID_LIMIT_CHARACTERS = 200
CONTROLS = "/proc/sys/net/ipv4/tcp_{}_congestion_control"


class End(Closing):
    """One host: what its settings were, and what they are given."""

    def __init__(self, host: Host, peer: str, note: Callable[[str, list[str]], None]) -> None:
        self.host = host
        self.name = host.name
        self._note = note
        self._shell = Caretaker(host)
        self.before: dict[str, str] = {}
        self._changed: dict[str, str] = {}
        self._told: set[str] = set()
        try:
            self.place = self._find_place(peer)
            for name in SETTINGS_USED:
                state = self._state(name)
                if state is not None:
                    self.before[name] = state
        except BaseException:
            self._shell.close()
            raise

    @property
    def is_closed(self) -> bool:
        """Whether it is a host that netsonde made."""
        return launcher_row(self.host).is_closed

    def values(self) -> dict[str, str]:
        """What each setting is now."""
        now = {name: self._changed.get(name, state) for name, state in self.before.items()}
        return {name: SETTINGS[name].value_of(state) for name, state in now.items()}

    def may_change(self, name: str) -> bool:
        """Whether it has the setting, and may give it another value."""
        return name in self.before and self._shell.run(SETTINGS[name].may_change())[0] == 0

    def controls(self) -> tuple[str, ...]:
        """Congestion controls that a program may take there."""
        is_root = self._shell.run(["id", "-u"])[1].strip() == "0"
        kind = "available" if is_root else "allowed"
        status, said = self._shell.run(["cat", CONTROLS.format(kind)])
        return tuple(said.split()) if status == 0 else ()

    def apply(self, wanted: Mapping[str, str]) -> None:
        """Gives what is wanted, and all else what it was. Raises HostError where the host refuses;
        what it had taken is put back at the end as well."""
        for name in [*self._changed]:
            if name not in wanted:
                self._put_back(name)
        for name, value in wanted.items():
            self._give(name, value)

    def restore(self, states: Mapping[str, str]) -> list[str]:
        """Gives states that were read earlier; the names of those that were others. Raises
        HostError."""
        changed = []
        for name, state in reversed([*states.items()]):
            if self._state(name) == state:
                continue
            status, said = self._shell.run(SETTINGS[name].put_back(self.place, state))
            if status != 0 or self._state(name) != state:
                words = printable(" ".join(said.split())[:SAID_LIMIT_CHARACTERS])
                raise HostError(f"{name} of {self.name} could not be put back: {words}")
            changed.append(name)
        return changed

    def keep(self) -> None:
        """Leaves what was given."""
        self._shell.keep()
        self._changed.clear()

    def close(self) -> None:
        """Puts everything back. Raises HostError where that failed."""
        self._shell.close()

    def differing(self) -> list[str]:
        """Names of settings that are not as they were, read anew."""
        return [name for name, state in self.before.items() if self._state(name) != state]

    def _give(self, name: str, value: str) -> None:
        setting = SETTINGS[name]
        if name not in self.before:
            raise HostError(f"{self.name} has no setting {name} of its own")
        state = self._changed.get(name, self.before[name])
        if setting.is_as(value, state):
            return
        now = self._state(name) or state
        if name not in self._told:
            undo = setting.put_back(self.place, self.before[name])
            self._note(self.name, undo)  # on disk before anything changes
            self._shell.put_back_with(undo)
            self._told.add(name)
        status, said = self._shell.run(setting.change(self.place, value, now))
        found = self._state(name)
        if status != 0 or found is None or not setting.is_as(value, found):
            words = printable(" ".join(said.split())[:SAID_LIMIT_CHARACTERS])
            raise HostError(
                f"{self.name} does not take {name} {value}" + (f": {words}" * bool(words))
            )
        self._changed[name] = found

    def _put_back(self, name: str) -> None:
        status, said = self._shell.run(SETTINGS[name].put_back(self.place, self.before[name]))
        if status != 0:
            raise HostError(f"{name} of {self.name} could not be put back: {printable(said[:200])}")
        del self._changed[name]
        for other in [*self._changed]:  # two attributes of one route go together
            if self._state(other) != self._changed[other]:
                del self._changed[other]

    def _state(self, name: str) -> str | None:
        argv = SETTINGS[name].read(self.place)
        if not argv:
            return None
        status, said = self._shell.run(argv)
        return SETTINGS[name].state_of(said, self.place) if status == 0 else None

    def _find_place(self, peer: str) -> Place:
        status, said = self._shell.run(["ip", "-o", "-4", "route", "get", peer])
        words = said.split()
        device = words[words.index("dev") + 1] if status == 0 and "dev" in words[:-1] else ""
        return Place(device, peer if device else "", self._ethtool())

    def _ethtool(self) -> tuple[str, ...]:
        """The system's; in a lab, whose hosts have this machine's files, netsonde's own will do."""
        status, said = self._shell.run(["sh", "-c", "command -v ethtool"])
        if status == 0 and said.strip():
            return ("ethtool",)
        if not self.is_closed:
            return ()
        packages = Path(netsonde.__file__).resolve().parent.parent
        python = (sys.executable, "-S", "-m", "netsonde.lab.ethtool")
        return ("env", f"PYTHONPATH={packages}", *python)


class Ends(Closing):
    """Both ends; of one machine with itself only one. Undo commands are written to a file for each
    host, in a folder, before anything is changed there."""

    def __init__(self, hosts: Sequence[Host], folder: Path) -> None:
        self._folder = folder
        self._undo: dict[str, list[str]] = {}
        self._stack = contextlib.ExitStack()
        self.ends: list[End] = []
        with self._stack:
            for host, peer in _peers(hosts):
                self.ends.append(self._stack.enter_context(End(host, peer, self._note)))
            self._stack = self._stack.pop_all()

    @property
    def are_closed(self) -> bool:
        """Whether netsonde made all of these hosts."""
        return all(end.is_closed for end in self.ends)

    def values(self) -> dict[str, dict[str, str]]:
        """By setting the value of each host; those that all hosts have."""
        found = {end.name: end.values() for end in self.ends}
        names = set.intersection(*(set(values) for values in found.values()))
        return {
            name: {host: values[name] for host, values in found.items()} for name in sorted(names)
        }

    def refusing(self, name: str) -> list[str]:
        """The hosts that have not got a setting, or may not change it."""
        return [end.name for end in self.ends if not end.may_change(name)]

    def before(self) -> dict[str, dict[str, str]]:
        """The states that were read before anything was changed, by host and setting."""
        return {end.name: dict(end.before) for end in self.ends}

    def apply(self, wanted: Mapping[str, str]) -> None:
        """At both ends. Raises HostError."""
        for end in self.ends:
            end.apply(wanted)

    def keep(self) -> None:
        for end in self.ends:
            end.keep()

    def put_back(self) -> None:
        """Gives all settings what they were and reads them. Raises HostError where one differs."""
        self.apply({})
        wrong = {end.name: end.differing() for end in self.ends}
        words = [f"{', '.join(names)} of {host}" for host, names in wrong.items() if names]
        if words:
            raise HostError(
                f"{'; '.join(words)} could not be put back; run {self._folder}/undo-HOST.sh there"
            )

    def close(self) -> None:
        self._stack.close()

    def undo_files(self) -> list[Path]:
        return [undo_file(self._folder, name) for name in self._undo]

    def _note(self, host: str, undo: list[str]) -> None:
        lines = self._undo.setdefault(host, [])
        lines.insert(0, shlex.join(undo))
        path = undo_file(self._folder, host)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            path.write_text(undo_text(host, lines))
        except OSError as error:
            raise HostError(
                f"cannot write {path}: {error.strerror}; nothing was changed"
            ) from error


def undo_file(folder: Path, host: str) -> Path:
    return folder / f"undo-{host}.sh"


def undo_text(host: str, lines: Sequence[str]) -> str:
    """The file that puts a host's settings back."""
    head = ["#!/bin/sh", f"# Run as root at {host}: its settings are then as they were before."]
    return "\n".join([*head, *lines]) + "\n"


def _peers(hosts: Sequence[Host]) -> Iterator[tuple[Host, str]]:
    """Each end with the other one's address."""
    origin, target = hosts[0], hosts[-1]
    there = target_address(origin, target, FAMILY)
    yield origin, there
    if target is not origin and target.name != origin.name:
        here = (
            source_address(FAMILY, there)
            if launcher_row(origin).is_here
            else origin.address(FAMILY)
        )
        yield target, here or ""


def as_json(ends: Ends) -> dict[str, Any]:
    """The hosts of a result: what each was, and where its traffic goes."""
    return {
        end.name: {
            "device": end.place.device,
            "peer": end.place.peer,
            "ethtool": list(end.place.ethtool),
            "before": dict(end.before),
        }
        for end in ends.ends
    }
