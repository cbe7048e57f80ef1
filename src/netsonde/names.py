"""Names that the system gives: bytes, which need not be text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from netsonde.errors import UsageError


def is_text(name: str | Path) -> bool:
    """Whether the bytes of a name are UTF-8. Python keeps others as halves of characters, which no
    file of text can hold."""
    try:
        str(name).encode()
    except UnicodeEncodeError:
        return False
    return True


def as_text(name: str | Path) -> str:
    """The name as a file of text can hold it: bytes that are no UTF-8 are like ``\\xff``."""
    return str(name).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def only_text(content: Any) -> Any:
    """The content of a JSON document, with ``?`` for halves of characters, which escapes in it can
    stand for."""
    return json.loads(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"))


def require_text(name: str | Path, why: str) -> None:
    """Raises UsageError where the bytes of a name are no UTF-8: ``why`` says who needs that."""
    if not is_text(name):
        raise UsageError(f"{as_text(name)!r} is no UTF-8 text, which {why}")
