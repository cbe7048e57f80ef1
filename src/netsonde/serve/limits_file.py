"""The file of ``netsonde serve --limits``: classes of clients, what each may use and where it may
come from, and pairing codes by name.

OWAMP's limits file is the model: a client gets the class of its code, else that of the network that
it comes from, and a class has the limits of ``default`` where it says nothing of its own.
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, create_model

from netsonde.errors import UsageError
from netsonde.serve.limits import Limits, Row
from netsonde.tables import Strict, checked, load_toml, read_toml_text, text_by

MOST_FILE_BYTES = 1 << 20
MOST_CODES = 1000
MOST_CLASSES = 1000
MOST_NETWORKS = 1000

Network = IPv4Network | IPv6Network


def _field(row: Row) -> Any:
    """What a table takes for a limit: a number, or a text with its unit."""
    unit = row.unit.value
    bounds = Field(ge=row.least, le=row.most, allow_inf_nan=False)
    read = BeforeValidator(text_by(unit.parse))
    return Annotated[int, read, bounds] if unit.is_whole else Annotated[float, read, bounds]


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError as error:
        raise UsageError(
            f"{text[:80]!r} is no network; write it like 192.0.2.0/24 or 2001:db8::/32"
        ) from error


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
_ROWS = Limits.rows()
_KEYS: dict[str, Any] = {row.key: (_field(row), None) for row in _ROWS.values()}
_Allowed: Any = create_model("Allowed", __base__=Strict, **_KEYS)


class ClassTable(_Allowed):
    """What a class may use, by the keys of the limits, and where its clients come from."""

    networks: list[Annotated[Network, BeforeValidator(text_by(_network))]] | None = Field(
        None, alias="from", max_length=MOST_NETWORKS
    )

    def over(self, limits: Limits) -> Limits:
        """Limits with what is said here in their places."""
        said = {
            row.name: getattr(self, row.key)
            for row in _ROWS.values()
            if row.key in self.model_fields_set
        }
        return replace(limits, **said)

    def has(self, address: str) -> bool:
        """Whether it takes clients from an address; all where it names no networks."""
        return self.networks is None or self.narrowest(address) >= 0

    def narrowest(self, address: str) -> int:
        """The length of the longest of its prefixes that an address is in; -1 of none."""
        found = ip_address(address.partition("%")[0])
        return max((n.prefixlen for n in self.networks or () if found in n), default=-1)


class CodeTable(Strict):
    """A pairing code. Another ``number`` makes another code of the same name."""

    class_name: str | None = Field(None, alias="class")
    number: Annotated[int, Field(strict=True, ge=1, le=10**9)] = 1


class LimitsFile(Strict):
    """The whole file."""

    default: ClassTable = ClassTable()
    classes: dict[Name, ClassTable] = Field({}, alias="class", max_length=MOST_CLASSES)
    codes: dict[Name, CodeTable] = Field({}, alias="code", max_length=MOST_CODES)

    def takes(self, address: str) -> bool:
        """Whether anybody at all may come from an address."""
        return self.default.has(address) or any(one.has(address) for one in self.classes.values())

    def class_of(self, code: str, address: str) -> ClassTable:
        """The class of a code; of one that has none, that of the network."""
        named = self.codes[code].class_name if code in self.codes else None
        if named is not None:
            return self.classes[named]
        nearest = max(
            self.classes.values(), key=lambda one: one.narrowest(address), default=self.default
        )
        return nearest if nearest.narrowest(address) >= 0 else self.default


def read_limits_file(path: Path) -> LimitsFile:
    """Raises UsageError, a sentence that names the file and the place in it."""
    text = read_toml_text(
        path, MOST_FILE_BYTES, f"longer than {MOST_FILE_BYTES} bytes, which no file of limits is"
    )
    found = checked(LimitsFile, load_toml(text, str(path)), str(path))
    for name, code in found.codes.items():
        if code.class_name is not None and code.class_name not in found.classes:
            raise UsageError(f"{path}: code.{name}: there is no class {code.class_name!r} in it")
    return found
