"""Labs that outlive the command that started them, by name.

Each has one file of state: its specification, and its processes by pid and start time. A file whose
processes have gone says nothing more and is removed when it is met.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from netsonde.errors import HostError, NetsondeError, UsageError
from netsonde.lab.cluster import Lab, lab_up
from netsonde.lab.host import LabHost
from netsonde.lab.spec import LabSpec, check_name
from netsonde.lab.ssh import remove_ssh_files

STATE_LIMIT_BYTES = 1 << 20


def start_named(spec: LabSpec) -> Lab:
    """Brings a lab up that runs until it is taken down by its name.

    Raises UsageError where one of that name runs, HostError where none can be had here.
    """
    taken = UsageError(
        f"a lab named {spec.name!r} runs already; take it down with `netsonde lab down --name "
        f"{spec.name}` or give another name with --name"
    )
    folder = _state_folder()
    if _read(folder / f"{spec.name}.json") is not None:
        raise taken
    lab = lab_up(spec)
    path = folder / f"{spec.name}.json"
    try:
        content = json.dumps({"spec": dataclasses.asdict(lab.spec), "made": lab.made}, indent=1)
        if not _write_new(path, content):
            raise taken
        try:
            lab.detach()
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    except BaseException:
        lab.close()
        raise
    return lab


def take_down(lab: Lab) -> None:
    """Ends a named lab; returns when nothing of it is left."""
    lab.close()
    _forget(_state_folder() / f"{lab.spec.name}.json")


def ssh_folder(lab: Lab) -> Path:
    """Where a named lab's keys and ssh configurations are kept; goes with the lab."""
    return _ssh_folder(_state_folder() / f"{lab.spec.name}.json")


def _ssh_folder(state: Path) -> Path:
    return state.with_suffix(".ssh")


def _forget(state: Path) -> None:
    remove_ssh_files(_ssh_folder(state))
    state.unlink(missing_ok=True)


def running_labs(notes: list[str] | None = None) -> list[Lab]:
    """The named labs that run, by name.

    Files of labs that have ended are removed; notes gets a sentence for each.
    """
    labs = []
    for path in sorted(_state_folder().glob("*.json")):
        lab = _read(path)
        if lab is not None:
            labs.append(lab)
        elif notes is not None and not path.exists():
            notes.append(f"lab {path.stem!r} had ended; removed what was noted of it")
    return labs


def find_lab(name: str | None) -> Lab:
    """The running lab of that name, or the only one. Raises UsageError where there is none."""
    labs = running_labs()
    names = [lab.spec.name for lab in labs]
    if name is not None:
        check_name(name)
        labs = [lab for lab in labs if lab.spec.name == name]
        if not labs:
            others = f"; these run: {', '.join(names)}" if names else "; none runs"
            raise UsageError(f"no lab named {name!r} runs{others}; start one with netsonde lab up")
    if not labs:
        raise UsageError("no lab runs; start one with `netsonde lab up`")
    if len(labs) > 1:
        raise UsageError(f"several labs run ({', '.join(names)}); say which one by its name")
    return labs[0]


def hosts_of(text: str) -> list[LabHost]:
    """The hosts that ``h1,h2``, ``h[1-4]`` or ``NAME/h1,h2`` names, in that order.

    Without a name they are those of the only lab that runs; a leading ``lab:`` may stand.
    Raises UsageError where the lab or a host is not there.
    """
    names = text.removeprefix("lab:").rpartition("/")[2]
    lab = lab_of(text)
    return [lab.host(name) for name in _expand(names)]


def lab_of(text: str) -> Lab:
    """The lab whose hosts a text names, as in hosts_of()."""
    lab_name, slash, _ = text.removeprefix("lab:").rpartition("/")
    return find_lab(lab_name if slash else None)


def _expand(names: str) -> list[str]:
    """Host names of a node set, in the order given (a NodeSet alone would sort them)."""
    from ClusterShell.NodeSet import NodeSet, NodeSetException  # takes long to import

    expanded: list[str] = []
    try:
        for piece in re.split(r",(?![^\[]*\])", names):
            expanded += [str(name) for name in NodeSet(piece.strip())]
    except NodeSetException as error:
        raise UsageError(f"{names!r} does not name hosts; write h1,h2 or h[1-4]") from error
    if not expanded:
        raise UsageError("no host of the lab is named; write lab:h1,h2 or lab:h[1-4]")
    return expanded


def _state_folder() -> Path:
    """Where state is kept, for this user only. Raises HostError where it cannot be."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        folder = Path(runtime, "netsonde")
    else:
        cache = os.environ.get("XDG_CACHE_HOME")
        folder = (Path(cache) if cache else Path("~/.cache").expanduser()) / "netsonde/labs"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != os.geteuid() or folder.stat().st_mode & 0o077:
            raise HostError(
                f"{folder}, where labs are noted, is open to other users; give it mode 0700"
            )
    except (OSError, RuntimeError) as error:
        raise HostError(
            f"labs cannot be noted in {folder}: {error}; set XDG_RUNTIME_DIR to a folder of yours"
        ) from error
    return folder


def _read(path: Path) -> Lab | None:
    """The lab that a file notes; removes a file whose lab has ended."""
    try:
        with path.open() as file:
            content: dict[str, Any] = json.loads(file.read(STATE_LIMIT_BYTES))
        lab = Lab(LabSpec(**content["spec"]), content["made"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, NetsondeError) as error:
        raise HostError(f"{path} does not note a lab ({error}); remove it") from error
    if lab.alive:
        return lab
    _forget(path)
    return None


def _write_new(path: Path, content: str) -> bool:
    """Writes a file that appears complete or not at all; False where there is one already."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(content)
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
            return True
        return False
    finally:
        Path(temporary).unlink()
