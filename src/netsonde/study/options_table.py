"""The table ``options`` of a study's block: those of the connection that is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import create_model, model_validator

from netsonde.catalogue.options.endpoint_rules import ENDPOINT_RULES
from netsonde.catalogue.options.frame_rules import FRAME_RULES
from netsonde.catalogue.options.frames import GO_BACK_N, RELIABLE
from netsonde.catalogue.options.socket_rules import SOCKET_RULES
from netsonde.catalogue.options.sockets import STUDY_OPTIONS
from netsonde.catalogue.rule import check
from netsonde.study.values import of
from netsonde.tables import Strict


class _Options(Strict):
    @model_validator(mode="before")
    @classmethod
    def _cork_goes_with_nagle(cls, content: Any) -> Any:
        if isinstance(content, dict) and content.get("cork"):
            return {"no_delay": False, **content}
        return content

    @model_validator(mode="before")
    @classmethod
    def _go_back_n_is_reliable(cls, content: Any) -> Any:
        if isinstance(content, dict) and any(content.get(row.key) for row in GO_BACK_N):
            return {RELIABLE: True, **content}
        return content

    @model_validator(mode="after")
    def _possible(self) -> _Options:
        check((*SOCKET_RULES, *ENDPOINT_RULES, *FRAME_RULES), vars(self))
        return self


if TYPE_CHECKING:

    class OptionsTable(_Options):
        """Each of the catalogue's rows is a field."""

        def __getattr__(self, name: str) -> Any: ...

else:
    OptionsTable = create_model(
        "OptionsTable",
        __base__=_Options,
        __module__=__name__,
        **{row.key: (Any, of(row)) for row in STUDY_OPTIONS.values()},
    )
