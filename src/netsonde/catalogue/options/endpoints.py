"""Options of transports whose messages a library's endpoints carry: keys of
``[measure.options]``."""

from __future__ import annotations

from netsonde.catalogue.option import Choice, Count, Flag, Group, Option, Size, Switch, Text
from netsonde.catalogue.transport import names_with

_OF = names_with("has_endpoints")
MOST_PARTS = 16
DATAGRAMS = "dgram"
"""The kind of endpoint whose messages can be lost."""
AT_ORIGIN = "origin"
TRESPASSES = ("foreign-write", "foreign-read", "beyond-write", "released-read")
"""With a key that is none, beyond the memory that was opened, or behind its end."""

ENDPOINTS = (
    Option(
        "provider",
        Text("^[a-z0-9_;-]{1,64}$"),
        "The provider that carries messages, as tcp, shm or verbs;ofi_rxm; else libfabric's first "
        "choice.",
        wire=("provider",),
        of=_OF,
        flag=Flag(
            "--provider",
            "NAME",
            "The provider, as `tcp`, `shm`, `udp;ofi_rxd` or `verbs;ofi_rxm`; several with commas "
            "are measured one after the other. Else libfabric's first choice.",
            group=Group.HOSTS,
        ),
        label="",
        listed=True,
    ),
    Option(
        "endpoint",
        Choice(("msg", "rdm", DATAGRAMS)),
        "The kind of endpoint: msg is connected, rdm (usual) reliable without a connection, dgram "
        "neither.",
        wire=("endpoint",),
        of=_OF,
        flag=Flag(
            "--endpoint",
            "KIND",
            "`msg` (connected), `rdm` (reliable, without a connection; usual) or `dgram`; several "
            "with commas are measured one after the other.",
        ),
        label="",
        listed=True,
    ),
    Option(
        "operation",
        Choice(("send", "write", "read", "atomic")),
        "How a message gets there: send (usual), write and read of the other end's memory, or "
        "atomic, an addition to 8 bytes of it.",
        wire=("operation",),
        of=_OF,
        flag=Flag(
            "--operation",
            "HOW",
            "`send` (usual), `write` into the other end's memory, `read` from it, or `atomic`: an "
            "addition to 8 bytes of it; several with commas are measured one after the other.",
            group=Group.SENT,
        ),
        label="",
        listed=True,
    ),
    Option(
        "completion",
        Choice(("target", AT_ORIGIN)),
        "Where a write is complete: at the target, which answers with its own, or at the origin.",
        wire=("completion",),
        of=_OF,
        flag=Flag(
            "--completion",
            "END",
            "With `--operation write`: each end sees the other's (`target`), or the origin alone "
            "acts and waits until its bytes are there (`origin`).",
            group=Group.SENT,
        ),
    ),
    Option(
        "inject",
        Switch(),
        "Whether the library takes a message before the call returns, without a completion.",
        wire=("inject",),
        of=_OF,
        flag=Flag(
            "--inject",
            help="Hand small messages over at once, without a completion (fi_inject).",
            group=Group.SENT,
        ),
    ),
    Option(
        "memory",
        Choice(("registered", "fresh")),
        "Whether memory is registered once, or fresh for each message.",
        wire=("memory",),
        of=_OF,
        flags=(
            Flag(
                "--registered",
                help="Register memory once, before messages (usual).",
                value="registered",
                group=Group.SENT,
            ),
            Flag(
                "--fresh",
                help="Register memory for each message, and take that back behind it.",
                value="fresh",
                group=Group.SENT,
            ),
        ),
    ),
    Option(
        "parts",
        Count(1, MOST_PARTS),
        "In how many places a message lies, at either end.",
        wire=("parts",),
        of=_OF,
        flag=Flag(
            "--parts",
            "N",
            "Give each message as a list of so many places (scatter and gather).",
            group=Group.SENT,
            shows="least",
        ),
    ),
    Option(
        "most_post",
        Size(64, 1 << 30),
        "The most that is handed to the provider at once, where that is less than what it takes.",
        wire=("most_post_bytes",),
        of=_OF,
        flag=Flag(
            "--most-post",
            "SIZE",
            "Hand the provider no more at once than this, though it takes more.",
            group=Group.SENT,
        ),
    ),
    Option(
        "trespass",
        Choice(TRESPASSES),
        "With bounds: what is tried that the other end has given no right to.",
        wire=("trespass",),
        of=_OF,
        label="",
        listed=True,
    ),
    Option(
        "segmented",
        Switch(),
        "Whether messages that are too large for the provider are cut.",
        wire=("segmented",),
        of=_OF,
        flag=Flag(
            "--segmented",
            help="Cut messages that are larger than what the provider takes at once.",
            group=Group.SENT,
        ),
    ),
)
"""In the order of ``--help`` and of the reference page."""
