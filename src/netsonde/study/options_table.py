"""The table ``options`` of a study's block: those of the connection that is measured."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from netsonde.study.values import Rate, Size, TrafficClass
from netsonde.tables import Strict

ECHO_OPTIONS = ("traffic_class", "busy_poll_us", "wait", "placement", "origin_cpu")
"""Those that an echo of ICMP takes."""


class OptionsTable(Strict):
    """Options of the test connection, at both ends; None leaves the system's default.

    ``buffer`` is that of sending and, where ``receive_buffer`` is not given, of receiving.
    ``placement = "apart"`` pins ends that share a machine to two different processors: left to the
    scheduler, they are sometimes on one and sometimes on two, and a round trip differs by five
    times. ``origin_cpu`` and ``target_cpu`` name processors and come first. ``target_buffer`` is
    that of the end that answers or receives, where it is to differ. ``wait = "ready"`` makes calls
    that do not block and asks the kernel for readiness, as event-driven programs do.
    """

    buffer: Size | None = None
    receive_buffer: Size | None = None
    target_buffer: Size | None = None
    no_delay: bool = True
    congestion_control: str | None = Field(None, pattern="^[a-z0-9_]{1,15}$")
    max_segment: Size | None = None
    cork: bool | None = None
    not_sent_low: Size | None = None
    traffic_class: TrafficClass | None = None
    busy_poll_us: int | None = Field(None, ge=0, le=10**6)
    multipath: bool | None = None
    pacing: Rate | None = None
    sending: Literal["copy", "sendfile", "zerocopy", "uring"] | None = None
    datagrams_per_call: int | None = Field(None, ge=1, le=64)
    segment_offload: bool | None = None
    kernel_times: bool | None = None
    depth: bool | None = None
    wait: Literal["block", "spin", "ready"] = "block"
    placement: Literal["free", "apart"] = "free"
    origin_cpu: int | None = Field(None, ge=0, le=4095)
    target_cpu: int | None = Field(None, ge=0, le=4095)

    @model_validator(mode="before")
    @classmethod
    def _cork_goes_with_nagle(cls, content: Any) -> Any:
        if isinstance(content, dict) and content.get("cork"):
            return {"no_delay": False, **content}
        return content

    @model_validator(mode="after")
    def _possible(self) -> OptionsTable:
        if self.cork and self.no_delay:
            raise ValueError("cork holds back what no_delay sends at once; ask for one of them")
        if self.target_buffer is not None and self.receive_buffer is not None:
            raise ValueError("target_buffer and receive_buffer both say what the target's is")
        if self.sending not in (None, "copy") and self.wait != "block":
            raise ValueError(
                f"sending = '{self.sending}' goes with wait = 'block', not with '{self.wait}'"
            )
        if self.segment_offload and (self.datagrams_per_call or 1) == 1:
            raise ValueError("segment_offload needs datagrams_per_call of 2 or more")
        if self.kernel_times and self.sending not in (None, "copy"):
            raise ValueError(f"kernel_times and sending = '{self.sending}' do not go together")
        if self.kernel_times and self.multipath:
            raise ValueError("kernel_times and multipath do not go together")
        if self.pacing and self.multipath:
            raise ValueError(
                "pacing and multipath do not go together: the kernel paces no connection of "
                "several paths"
            )
        if self.sending == "zerocopy" and self.multipath:
            raise ValueError("sending = 'zerocopy' and multipath do not go together")
        return self
