"""Options: what a study, a command and a request can choose, each a row.

From a row come the key of a study and its schema, the flags of a command, what a worker is asked
for, what `netsonde serve` lets a stranger ask, labels and reference pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import InitVar, dataclass, field, replace
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, Literal

from netsonde.catalogue.transport import measured_transports

if TYPE_CHECKING:  # every --help reads this module
    from netsonde.catalogue.test import Test
    from netsonde.operations import Operation

ANY_MOST = 2**53 - 1
"""The largest whole number that JSON carries unharmed: nobody is told of this bound."""


@dataclass(frozen=True)
class Number:
    """A whole number, with both bounds."""

    least: int
    most: int = ANY_MOST


class Count(Number):
    """How many of something, or which one."""


class Size(Number):
    """Bytes; written as ``64k`` as well."""


class Rate(Number):
    """bit/s; written as ``10G`` as well."""


class Duration(Number):
    """Nanoseconds; written as ``3ms`` as well."""


class TrafficClass(Number):
    """The byte of the IP header; written as ``af41`` as well."""


@dataclass(frozen=True)
class Choice:
    """One of some words, or of some numbers."""

    words: tuple[str, ...] | tuple[int, ...]


@dataclass(frozen=True)
class Switch:
    """On or off."""


@dataclass(frozen=True)
class Text:
    """A text of a form."""

    pattern: str


Kind = Number | Choice | Switch | Text
WRITTEN = Text("^.+$")
"""What a reader of its own takes apart: a list of sizes, a time, a host."""


class End(Enum):
    """Whose worker hears of it."""

    BOTH = "both"
    ORIGIN = "origin"
    TARGET = "target"


class Group(StrEnum):
    """The headings of ``--help``, in their order."""

    HOSTS = "Hosts and ranks"
    SENT = "What is sent"
    SOCKETS = "Sockets"
    OPERATIONS = "Operations"
    CONDITIONS = "Conditions"
    END = "When it ends"
    REQUIRED = "What is required"
    LIKE = "As another tool"
    RECORDED = "What is recorded"
    PLAIN = "Options"


@dataclass(frozen=True)
class Flag:
    """How an option is typed: ``name`` may have a second one behind a slash, that switches off, and
    ``letter`` is a short one.

    ``value`` is what it chooses of several words, each of which has a flag of its own; ``of`` are
    the transports whose commands have it, all that have the option where none are named. A flag
    that sets several options, as ``--cpus``, stands in the row of each and is ``shared``.
    ``group`` is its heading, and ``default`` what is shown and taken where it is not given and the
    option has no default; ``usual`` says in words what is taken there, and that nothing is given
    then. ``repeated``: it can be given again. ``shows`` are the bounds of a number that the command
    line tells of and holds; the study's hold anyway. ``former`` is the name that it had: who types
    it is told today's.
    """

    name: str
    metavar: str | None = None
    help: str = ""
    value: str | None = None
    of: tuple[str, ...] = ()
    shared: bool = False
    group: Group = Group.SOCKETS
    letter: str | None = None
    default: str | None = None
    usual: str | None = None
    repeated: bool = False
    shows: Literal["both", "least", "none"] = "both"
    former: str | None = None

    @property
    def first(self) -> str:
        """The name that a sentence takes."""
        return self.name.split("/")[0]


@dataclass(frozen=True)
class Takers:
    """Those of MPI's tests and operations that an option means something for.

    ``tests`` and ``operations`` are all of them, none, or those whose row a function takes;
    ``of_words`` are further tests that take some words of it. ``says`` is the sentence of a rule
    where none of a command's tests takes it, and ``lacks`` why an operation that is named does not.
    """

    says: str
    tests: Callable[[Test], bool] | bool = False
    operations: Callable[[Operation], bool] | bool = True
    of_words: Mapping[str, Callable[[Test], bool]] = field(default_factory=dict)
    lacks: str = ""

    def of_test(self, row: Test, value: Any) -> bool:
        """Whether a test takes a value; not of one that times operations, which take it or not."""
        also = self.of_words.get(value) if isinstance(value, str) else None
        own = self.tests if isinstance(self.tests, bool) else self.tests(row)
        return own or (also is not None and also(row))

    def of_operation(self, row: Operation) -> bool:
        """Whether an operation takes it."""
        return self.operations if isinstance(self.operations, bool) else self.operations(row)


@dataclass(frozen=True)
class Option:
    """One row.

    ``key`` is that of a study, ``wire`` those of a worker's request (of ``end``'s worker; none
    where netsonde itself does what is asked), ``words`` the description of the key. ``of`` are the
    transports that have it. ``flag`` is given where it is the only one of ``flags``. ``label``
    names it where it varies, in place of the key; ``listed``: its flag takes several values, each
    measured. ``in_study`` is False of what only a command of its own asks a worker for.
    ``takers`` are those of MPI's tests that have it, where not all have.
    ``refused_stranger`` is why no stranger is served so. ``aliases`` are former keys, read until
    the next version. ``stored`` is its key in the points of a run, where that is another one than a
    study's.
    """

    key: str
    kind: Kind
    words: str
    default: Any = None
    wire: tuple[str, ...] = ()
    end: End = End.BOTH
    of: tuple[str, ...] = measured_transports()
    flags: tuple[Flag, ...] = ()
    flag: InitVar[Flag | None] = None
    label: str | None = None
    listed: bool = False
    in_study: bool = True
    takers: Takers | None = None
    refused_stranger: str = ""
    since: str = "0.1"
    aliases: tuple[str, ...] = ()
    stored: str | None = None

    def __post_init__(self, flag: Flag | None) -> None:
        if flag is not None:
            object.__setattr__(self, "flags", (flag,))

    @property
    def shown(self) -> str:
        """Its name in a label; none where the value says it."""
        return self.key if self.label is None else self.label

    @property
    def run_key(self) -> str:
        """Its key in the points of a run."""
        return self.stored or self.key

    @property
    def typed(self) -> str:
        """Its name on a command line; none where it has no flag, or one for each word."""
        words = [flag for flag in self.flags if flag.value]
        return self.flags[0].first if self.flags and len(words) < 2 else ""

    @property
    def choices(self) -> tuple[str, ...]:
        """Its words; none where it is no choice of words."""
        words = self.kind.words if isinstance(self.kind, Choice) else ()
        return tuple(word for word in words if isinstance(word, str))

    def flags_of(self, transport: str) -> tuple[Flag, ...]:
        """Those of a transport's command."""
        if transport not in self.of:
            return ()
        return tuple(flag for flag in self.flags if transport in (flag.of or self.of))


def in_group(group: Group, *rows: Option) -> tuple[Option, ...]:
    """The rows, with their flags under that heading where they do not name another one."""
    return tuple(
        replace(
            row,
            flags=tuple(
                replace(flag, group=group) if flag.group is Group.SOCKETS else flag
                for flag in row.flags
            ),
        )
        for row in rows
    )


def by_key(rows: Iterable[Option]) -> Mapping[str, Option]:
    """The rows of a table, in their order."""
    found: dict[str, Option] = {}
    for row in rows:
        if row.key in found:
            raise LookupError(f"two options are called {row.key}")
        found[row.key] = row
    return found
