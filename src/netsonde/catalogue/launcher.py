"""Launchers: what starts processes on a host, and what the rest of netsonde has to know of each.

A launcher's class, its row here and its page are all that it has. The class is registered by the
row's name where it is written. Whoever treats one launcher differently asks for the trait that is
the reason, never for its name.
"""

from __future__ import annotations

from dataclasses import dataclass

AUTO = "auto"
"""What a user writes for: whichever launcher a host's name belongs to."""


@dataclass(frozen=True)
class Launcher:
    """One row.

    ``needs`` is the command or service without which it starts nothing. ``word`` is how a host of
    it is written: the whole of it, or where it ends with a colon, what stands before the names;
    none where a plain name is meant. ``written`` is an example for whoever wrote no host at all.

    ``is_here``: its host is this machine. ``is_closed``: its hosts reach nobody but each other, and
    know their names only inside. ``has_job``: it takes the nodes of the job that netsonde is in.
    ``is_served``: a stranger's server, which starts its worker and nothing else. ``carries_ranks``
    is what Hydra calls that by which it reaches such hosts; none where no MPI program can be
    started on several of them.
    """

    name: str
    title: str
    needs: str = ""
    word: str = ""
    written: str = ""
    is_here: bool = False
    is_closed: bool = False
    has_job: bool = False
    is_served: bool = False
    carries_ranks: str = ""

    @property
    def takes_names(self) -> bool:
        """Whether a plain name can be one of its hosts, so that a user can choose it."""
        return not self.word and not self.is_served

    def means(self, text: str) -> bool:
        """Whether a host is written as one of this launcher's own."""
        return bool(self.word) and (
            text.startswith(self.word) if self.word.endswith(":") else text == self.word
        )


_ROWS = (
    Launcher("local", "This machine", word="local", written="local", is_here=True),
    Launcher(
        "lab",
        "A lab",
        needs="nsenter",
        word="lab:",
        written="lab:h1,h2",
        is_closed=True,
        carries_ranks="ssh",
    ),
    # The first that takes names is that of all which no other one claims.
    Launcher("ssh", "ssh", needs="ssh", written="a name for ssh", carries_ranks="ssh"),
    Launcher("slurm", "Slurm", needs="srun", has_job=True, carries_ranks="slurm"),
    Launcher("flux", "Flux", needs="flux", has_job=True, carries_ranks="ssh"),
    Launcher(
        "paired",
        "netsonde serve",
        needs="netsonde serve",
        written="NAME:PORT or [IPV6-ADDRESS]:PORT",
        is_served=True,
    ),
)

LAUNCHERS = {row.name: row for row in _ROWS}
HERE = LAUNCHERS["local"]


def launcher_of(text: str) -> Launcher | None:
    """The launcher that a host is written for, as ``local`` or ``lab:h1``; None of a plain name."""
    return next((row for row in _ROWS if row.means(text)), None)


def without_word(text: str) -> str:
    """What a host is called, without the word of its launcher where one stands before it."""
    found = launcher_of(text)
    return text.removeprefix(found.word) if found and text != found.word else text


def is_closed(text: str) -> bool:
    """Whether a host is written as one that reaches nobody but its like."""
    found = launcher_of(text)
    return found is not None and found.is_closed


def chosen_launchers() -> tuple[str, ...]:
    """Names of those that a user can choose for plain names of hosts."""
    return tuple(row.name for row in _ROWS if row.takes_names)


def batch_launchers() -> tuple[str, ...]:
    """Names of those that take the nodes of a job."""
    return tuple(row.name for row in _ROWS if row.has_job)


def served() -> Launcher:
    """That of hosts which a stranger serves."""
    return next(row for row in _ROWS if row.is_served)


def ways_to_write() -> str:
    """How hosts are written, for whoever wrote none: ``local, lab:h1,h2, a name for ssh``."""
    return ", ".join(row.written for row in _ROWS if row.written and not row.is_served)


def default_launcher() -> Launcher:
    """That of plain names that are no nodes of a job."""
    return next(row for row in _ROWS if row.takes_names and not row.has_job)


def takes_nodes(name: str) -> bool:
    """Whether a launcher that a user chose takes the nodes of a job; ``auto`` does."""
    return name == AUTO or LAUNCHERS[name].has_job


def starters() -> str:
    """What starts processes on the nodes of a job: ``srun or flux``."""
    return " or ".join(row.needs for row in _ROWS if row.has_job)
