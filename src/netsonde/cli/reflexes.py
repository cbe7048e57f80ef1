"""What a user of other tools is told who types their words."""

from __future__ import annotations

from collections.abc import Sequence

from netsonde.catalogue.reflexes import Place, reflex
from netsonde.catalogue.transport import Ends, commands

_PLACES: dict[str, Place] = {
    "serve": "serve",
    **{row.name: "mpi" if row.ends is Ends.RANKS else "sockets" for row in commands()},
}


def told(error: Exception, arguments: Sequence[str]) -> str | None:
    """The sentence for an option or a command that is not known here, and is elsewhere."""
    typed = getattr(error, "option_name", None)
    first = arguments[0] if arguments else ""
    place = _PLACES.get(first)
    if typed is None and "No such command" in str(error):
        typed, place = first, "command"
    elif typed == first:
        place = "command"
    row = reflex(typed, place) if typed and place else None
    return row.answer(typed) if row and typed else None
