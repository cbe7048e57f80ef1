"""Findings of a run of all pairs: what is slow or lossy, what could not be measured, all well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netsonde.explain.data import Finding, Seen
from netsonde.units import format_rate, format_time

if TYPE_CHECKING:
    from netsonde.figures.all_pairs_verdict import Named, Symptom, Verdict

NAMED_KINDS = frozenset(
    f"{how}-{what}" for how in ("slow", "lossy") for what in ("host", "uplink", "switch", "pair")
)
"""Kinds of findings that name what is out of line."""
DROPPED_KIND = "dropped-host"
MOST_NAMED = 32
"""Findings; the rest is counted."""
SHOWN = 6
SCATTERED = 1.0
"""A host that is worse by all of the usual is slow by any measure: not to see it is to be told."""
DOCS = "all-pairs#what-is-named"


def slow_parts(seen: Seen) -> list[Finding]:
    """A finding for each host, switch, link or pair that is out of line."""
    verdict = seen.all_pairs
    if verdict is None:
        return []
    found = [_named(verdict, named) for named in verdict.named[:MOST_NAMED]]
    more = len(verdict.named) - MOST_NAMED
    if more > 0:
        found.append(
            Finding(
                "bad",
                f"{more} more hosts, links or pairs are out of line.",
                f"{len(verdict.named)} in all; the worst {MOST_NAMED} stand above.",
                "Mend those first, then measure again.",
                docs=DOCS,
            )
        )
    return found


def missing_hosts(seen: Seen) -> list[Finding]:
    """Hosts that ended before the run did, and pairs that could not be measured."""
    verdict = seen.all_pairs
    if verdict is None:
        return []
    found = [
        Finding(
            "bad",
            f"Host {host} was dropped: its pairs are not, or not all, measured.",
            f"{reason}.",
            "See whether the host is up; `netsonde study resume` does not repeat finished rounds, "
            "so measure it again with the others.",
            kind=DROPPED_KIND,
            place=host,
            docs="all-pairs#hosts-that-die",
        )
        for host, reason in list(verdict.dropped.items())[:MOST_NAMED]
    ]
    failed = [f for f in verdict.failed_pairs if not {f[0], f[1]} & verdict.dropped.keys()]
    if failed:
        how_many = "1 pair" if len(failed) == 1 else f"{len(failed)} pairs"
        shown = "; ".join(f"{a} and {b}: {reason}" for a, b, reason in failed[:3])
        found.append(
            Finding(
                "warning",
                f"{how_many} of hosts could not be measured.",
                f"{shown}.",
                "See whether a firewall is between them: all pairs needs every port above 1023.",
                kind="failed-pairs",
                docs="all-pairs#hosts-that-die",
            )
        )
    return found


def all_alike(seen: Seen) -> Iterator[Finding]:
    """Nothing is out of line, and what that rests on."""
    verdict = seen.all_pairs
    if verdict is None or verdict.named:
        return
    suspected = len({(c.kind, c.number, c.other) for c in verdict.suspected})
    doubts = (
        f" Of what looked slow at first, {suspected} in number, nothing was beyond chance when "
        "measured again."
        if suspected
        else ""
    )
    yield Finding(
        "good",
        f"No host, link or pair of {len(verdict.hosts)} hosts is out of line.",
        f"{verdict.meetings} meetings in {verdict.rounds} rounds. Usual: {_usual(verdict)}."
        f"{doubts}{_seen(verdict)}",
        _advice_to_see_more(verdict),
        kind="all-alike",
        docs=DOCS,
    )


def _seen(verdict: Verdict) -> str:
    """How bad a host would have to be: an answer that nothing is wrong is worth no more."""
    if not verdict.sights:
        return ""
    least = ", ".join(f"{MEASURES[name]} {verdict.least_seen(name):.0%}" for name in verdict.sights)
    return f" Nine times of ten a host is named that is worse by: {least}."


def _advice_to_see_more(verdict: Verdict) -> str:
    blind = [name for name in verdict.sights if verdict.least_seen(name) > SCATTERED]
    if not blind:
        return ""
    return (
        f"A host half as bad would not be seen by {', '.join(MEASURES[name] for name in blind)}: "
        "values scatter too much. Measure longer (time), more rounds, or when the hosts are idle."
    )


def _usual(verdict: Verdict) -> str:
    return ", ".join(
        f"{MEASURES[name]} {in_unit(name, value)}" for name, value in verdict.usual.items()
    )


MEASURES = {
    "round_trip_ns": "round trip",
    "round_trip_min_ns": "least round trip",
    "one_way_ns": "one way",
    "one_way_min_ns": "least one way",
    "throughput_bit_per_s": "throughput",
    "lost_ratio": "lost",
    "retransmitted_ratio": "retransmitted",
}


def in_unit(name: str, value: float) -> str:
    """A value of one of the measures, as people write it."""
    if name.endswith("_ns"):
        return format_time(value)
    return format_rate(value) if name.endswith("_bit_per_s") else f"{value:.2%}"


def _named(verdict: Verdict, named: Named) -> Finding:
    what = {
        "host": f"Host {named.place}",
        "uplink": f"The link above {named.place}",
        "switch": f"Switch {named.place}",
        "pair": f"The path between {named.place}",
    }[named.kind]
    evidence = "; ".join(_evidence(symptom) for symptom in named.symptoms)
    below = ""
    if named.kind in ("uplink", "switch"):
        hosts = ", ".join(named.hosts[:SHOWN]) + (", ..." if len(named.hosts) > SHOWN else "")
        whose = f", by {verdict.switches_from}" if verdict.switches_from else ""
        below = f" Below it{whose}: {hosts}."
    return Finding(
        "bad",
        f"{what} {_claim(named)}.",
        f"{evidence}.{below}",
        _advice(named),
        kind=f"slow-{named.kind}" if named.manner != "loses" else f"lossy-{named.kind}",
        place=named.place,
        confidence="likely" if all(s.again for s in named.symptoms) else "possible",
        docs=DOCS,
    )


def _claim(named: Named) -> str:
    lead = named.lead
    where = {"sends": " of what it sends", "receives": " of what it receives", "both": ""}
    one_way = _one_way(named)
    if one_way is not None:
        return _claim_of_one_way(named, one_way)
    match named.manner:
        case "loses":
            of = where[lead.way] if named.kind == "host" else _direction(named, lead)
            return f"loses {lead.value:.2%}{of}"
        case "far":
            return f"adds to every round trip: {_against(lead)}"
        case "late" if named.kind == "host":
            return f"answers late: round trips of {_against(lead)}"
        case "late":
            return f"is slow: round trips of {_against(lead)}"
        case _:
            return f"carries less{_direction(named, lead)}: {_against(lead)}"


def _one_way(named: Named) -> Symptom | None:
    """The delay of one direction only, where that is what is the matter."""
    delays = [s for s in named.symptoms if s.name in ("one_way_ns", "one_way_min_ns")]
    if named.manner not in ("far", "late") or not delays or {s.way for s in delays} == {"both"}:
        return None
    lead = delays[-1] if named.manner == "far" else delays[0]
    return lead if lead.way != "both" else None


def _claim_of_one_way(named: Named, delay: Symptom) -> str:
    if named.kind == "host":
        message = {"sends": "that it sends", "receives": "that it receives"}[delay.way]
        how = "adds to every message" if named.manner == "far" else "delays messages"
        return f"{how} {message}: one way {_against(delay)}"
    return f"is slow{_direction(named, delay)}: one way {_against(delay)}"


def _direction(named: Named, symptom: Symptom) -> str:
    if named.kind == "host":
        return {"sends": " of what it sends", "receives": " of what it receives", "both": ""}[
            symptom.way
        ]
    if named.kind == "pair":
        first, second = named.hosts
        ways = {"sends": f" from {first} to {second}", "receives": f" from {second} to {first}"}
        return ways.get(symptom.way, "")
    return {"sends": " upwards", "receives": " downwards", "both": ""}[symptom.way]


def _against(symptom: Symptom) -> str:
    value, usual = (in_unit(symptom.name, v) for v in (symptom.value, symptom.usual))
    return f"{value}, the others {usual}"


def _evidence(symptom: Symptom) -> str:
    again = f", {symptom.again} of them to make sure" if symptom.again else ""
    way = {"sends": " sending", "receives": " receiving", "both": ""}[symptom.way]
    return (
        f"{MEASURES[symptom.name]}{way} {_against(symptom)}: {symptom.deviations:.0f} times the "
        f"usual spread, {symptom.observations} measurements{again}"
    )


def _advice(named: Named) -> str:
    place = named.hosts[0]
    if named.kind == "pair":
        a, b = named.hosts
        return f"Look for a path that only these two take (ECMP, a route): traceroute {b} from {a}."
    if named.kind == "host" and _one_way(named) is not None:
        return (
            "The other direction is sound, so look at what only this one passes: queues and "
            f"shaping (tc -s qdisc on {place}), its route, the buffer of its switch port."
        )
    if named.kind in ("uplink", "switch"):
        return "Look at the switch's counters: errors, discards, speed and load of its ports."
    if named.manner == "late":
        return (
            f"Its fastest round trips are like others', so the host is slow, not its link: load, "
            f"other programs, frequency, power saving; netsonde host {place}."
        )
    if named.manner == "loses":
        return (
            f"Change cable and port, see ethtool -S for errors on {place} and at its switch port."
        )
    return f"Compare ethtool (speed, duplex, errors) of {place} with another host's."
