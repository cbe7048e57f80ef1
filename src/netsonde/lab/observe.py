"""What the lab's switch counted and saw: its statistics, whether it kept time, captures."""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netsonde.errors import HostError, UsageError
from netsonde.lab.cluster import Lab
from netsonde.limits import limit_s
from netsonde.units import format_time

START_TIMEOUT_S = limit_s("lab-watch")
ENDING_TIMEOUT_S = limit_s("lab-watch")


def switch_stats(lab: Lab, *, forget: bool = False) -> dict[str, Any]:
    """The switch's counters with its own verdict on them.

    ``honest.valid`` is False where more than the scenario's ``late_share`` of the frames came out
    later than its limit. With forget the lateness is counted anew afterwards.
    """
    found = lab.ask_switch("stats", {"forget_lateness": forget})
    assert lab.spec.fabric is not None
    lateness = found["lateness"]
    share = lateness["beyond_limit"] / lateness["frames"] if lateness["frames"] else 0.0
    allowed = lab.spec.fabric["late_share"]
    found["honest"] = {
        "late_share": share,
        "allowed_share": allowed,
        "valid": share <= allowed and not found["loop"]["pool_full"],
    }
    found["receive"] = lab.made.get("receive") or {"by": "switch"}  # one of an older netsonde
    frames = found["loop"]["read_frames"]
    found["loop"]["cpu_per_frame_ns"] = found["loop"]["cpu_ns"] / frames if frames else None
    return found


@dataclass(frozen=True)
class SwitchGate:
    """The gate of a lab's switch."""

    lab: Lab

    def close(self) -> None:
        """From now on no host's line starts a frame."""
        self.lab.ask_switch("gate", {"open": False})

    def open(self) -> None:
        """All that waits begins now."""
        self.lab.ask_switch("gate", {"open": True})


def switch_gate(lab: Lab) -> SwitchGate | None:
    """None where the lab has a bridge, which holds nothing back."""
    return None if lab.spec.fabric is None else SwitchGate(lab)


def begin_watch(lab: Lab) -> int:
    """From now on lateness is counted anew. Returns the CPU time that the switch used until
    now (ns), for kept_time(); 0 where the lab has no switch."""
    if lab.spec.fabric is None:
        return 0
    return int(switch_stats(lab, forget=True)["loop"]["cpu_ns"])


def kept_time(lab: Lab, used_ns: int = 0) -> dict[str, Any] | None:
    """How late the switch was since begin_watch(), whether a result of that time is valid, and the
    CPU time that it used beyond ``used_ns`` (``switch_cpu_ns``).

    None where the lab has a bridge: the kernel says nothing of its lateness.
    """
    if lab.spec.fabric is None:
        return None
    found = switch_stats(lab)
    late = found["lateness"]
    return {
        "frames": late["frames"],
        "late_limit_ns": late["limit_ns"],
        "late_median_ns": late["median_ns"],
        "late_p99_ns": late["p99_ns"],
        "late_most_ns": late["most_ns"],
        "histogram": late["histogram"],
        "pool_full": found["loop"]["pool_full"],
        "switch_cpu_ns": found["loop"]["cpu_ns"] - used_ns,
        **found["honest"],
    }


def stats_in_words(found: dict[str, Any]) -> str:
    """The counters that are not zero, a line for each direction of a link."""
    late, honest = found["lateness"], found["honest"]
    in_time = honest["late_share"] <= honest["allowed_share"]
    lines = [
        f"{found['loop']['read_frames']} frames in, {found['loop']['written_frames']} out, "
        f"{found['loop']['frames_inside']} inside; "
        f"gate {'open' if found['gate_open'] else 'closed'}"
    ]
    if late["frames"]:
        lines.append(
            f"late by {format_time(late['median_ns'])} (median), {format_time(late['p99_ns'])} "
            f"(p99), {format_time(late['most_ns'])} (most); "
            f"{100 * honest['late_share']:.2f} % beyond {format_time(late['limit_ns'])}: "
            + ("valid" if in_time else "NOT VALID, this machine could not keep up")
        )
    if found["loop"]["pool_full"]:
        lines.append(
            f"NOT VALID: hosts had to wait {found['loop']['pool_full']} times because no memory "
            "for frames was left"
        )
    lines += _receivers(found["receive"])
    for link in found["links"]:
        for way in ("up", "down"):
            lines.append(f"  {link['name']:<12} {way:<5} {_counted(link[way])}")
        for port in ("upper_port", "lower_port"):
            counted = _dropped(link.get(port, {}))
            if counted:
                lines.append(f"  {link['name']:<12} {port.removesuffix('_port'):<5} {counted}")
    return "\n".join(lines)


def _receivers(receive: dict[str, str]) -> list[str]:
    if receive["by"] == "threads":
        return ["threads of the kernel, one for each host, take frames through the hosts' stacks"]
    if "reason" in receive:
        return [f"frames go through the hosts' stacks in the switch: {receive['reason']}"]
    return []


def _counted(line: dict[str, int]) -> str:
    parts = [f"{line['frames']} frames", f"{line['bytes']} bytes"]
    parts += [
        f"{line[key]} {key.replace('_', ' ')}"
        for key in line
        if key.startswith(("lost", "dup", "held", "over")) and line[key]
    ]
    return ", ".join(parts)


def _dropped(port: dict[str, int]) -> str:
    names = {
        "dropped": "dropped for want of room",
        "malformed": "malformed",
        "flooded": "flooded",
        "pauses": "pauses asked for",
    }
    return ", ".join(f"{port[key]} {words}" for key, words in names.items() if port.get(key))


def capture_to_file(
    lab: Lab, host: str, path: Path, seconds: float | None, most_bytes: int
) -> None:
    """Writes what passes a host's link until the time is over or Ctrl-C comes.

    Raises UsageError where the file cannot be written, HostError where the switch refuses.
    """
    with capturing(lab, host, path, most_bytes) as recorder:
        _wait(recorder, seconds)


@contextlib.contextmanager
def capturing(
    lab: Lab, host: str, path: Path, most_bytes: int
) -> Iterator[subprocess.Popen[bytes]]:
    """Writes what passes a host's link from the beginning of the block to its end; gives what
    records it. Raises as ``capture_to_file``."""
    try:
        file = path.open("wb")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    with (
        file,
        subprocess.Popen(
            lab.switch_command("capture"),
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C ends the waiting here, which ends it in order
        ) as recorder,
    ):
        assert recorder.stdin is not None
        try:
            fields = {"request": 1, "verb": "capture", "host": host, "most_bytes": most_bytes}
            recorder.stdin.write(json.dumps(fields).encode() + b"\n")
            recorder.stdin.flush()
            _await_answer(recorder)
            yield recorder
        finally:
            recorder.stdin.close()  # ends the capture; the switch then writes the rest
            try:
                recorder.wait(ENDING_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                recorder.kill()


def _await_answer(recorder: subprocess.Popen[bytes]) -> None:
    assert recorder.stderr is not None
    ready = select.select([recorder.stderr], [], [], START_TIMEOUT_S)[0]
    line = recorder.stderr.readline() if ready else b""
    try:
        answer = json.loads(line)
    except ValueError as error:
        raise HostError("the lab's switch did not begin the capture") from error
    if "done" not in answer:
        raise HostError(f"the lab's switch refused: {answer.get('error')}")


def _wait(recorder: subprocess.Popen[bytes], seconds: float | None) -> None:
    end = None if seconds is None else time.monotonic() + seconds
    while recorder.poll() is None:
        left_s = 0.2 if end is None else min(0.2, end - time.monotonic())
        if left_s <= 0:
            return
        time.sleep(left_s)
    raise HostError("the capture ended before its time: the lab has ended or the disk is full")
