"""What-if: the published zero-copy test, and changes that must do what they say."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netsonde.model.platform import Platform
from netsonde.model.transfers import single_packet_ns, stages
from netsonde.model.views import hockney, loggp, logp, plogp
from netsonde.model.what_if import Change, Overhead, change
from netsonde.platforms.read import preset, preset_names


def bound(platform: Platform, stage: str) -> float:
    """MB/s that a stage lets pass."""
    return next(s.byte_per_s for s in stages(platform) if s.stage == stage) / 1e6


def test_zero_copy_raises_80_to_91_5() -> None:
    before = preset("gedp-smp")
    after = change(before, Change(send_copies=0)).platform
    assert bound(before, "sending card") == pytest.approx(80, abs=0.05)
    assert bound(after, "sending card") == pytest.approx(91.5, abs=0.05)
    assert stages(before)[0].stage == stages(after)[0].stage == "sending card"


def test_published_bounds_of_stages() -> None:
    up = preset("gedp-up")
    assert stages(up)[0].stage == "receiving host"
    assert stages(up)[0].byte_per_s / 1e6 == pytest.approx(76, abs=0.2)
    assert up.at("receive_gap", 1024) / 1e3 == pytest.approx(10.6, abs=1e-6)
    # Zero copies change nothing where the receiving host is the bottleneck.
    assert stages(change(up, Change(send_copies=0)).platform)[0].byte_per_s == (
        stages(up)[0].byte_per_s
    )
    fe = preset("fe-326")
    assert {s.stage for s in stages(fe)[:2]} <= {"wire", "receiving card"}  # the network


def test_copies_come_and_go() -> None:
    up = preset("gedp-up")
    two = change(up, Change(receive_copies=2)).platform
    assert two.at("user_overhead", 1500) == pytest.approx(60 + 10_000)
    assert two.at("receive_overhead", 1500) == up.at("receive_overhead", 1500)
    none = change(up, Change(receive_copies=0)).platform
    assert none.at("receive_overhead", 1500) == pytest.approx(9_700)
    back = change(change(up, Change(send_copies=3)).platform, Change(send_copies=1)).platform
    assert back.at("send_gap", 1500) == pytest.approx(up.at("send_gap", 1500))


def test_interrupts_for_several_packets() -> None:
    up = preset("gedp-up")
    eight = change(up, Change(coalesced_packets=8)).platform
    assert eight.at("receive_overhead", 1500) == pytest.approx(19_700 - 8_000 + 1_000)
    assert stages(eight)[0].stage == "sending card"  # 80 MB/s and no longer 76
    assert eight.at("latency", 1) == pytest.approx(6_900 + 7 * 18_760)
    held = change(up, Change(coalesced_packets=8, hold_ns=5e3)).platform
    assert held.at("latency", 1) == pytest.approx(11_900)
    same = change(up, Change(coalesced_packets=1)).platform
    assert same.at("receive_overhead", 1500) == pytest.approx(19_700)


def test_another_link() -> None:
    fe = preset("fe-326")
    fast = change(fe, Change(link_bit_per_s=1e9)).platform
    # Nothing of g_s was beyond the wire; one wire time of L was, and stays.
    assert fast.at("send_gap", 1492) == pytest.approx(12_304)
    least = 149_000 + 0.3387e3 * 16 - (123_040 - 12_304)
    assert fast.at("latency", 1492, 16) == pytest.approx(least)
    assert fast.wire_ns() == pytest.approx(12_304)
    stored = change(preset("fe-416"), Change(link_bit_per_s=1e9)).platform
    assert stored.at("latency", 1492, 16) == pytest.approx(
        264_000 + 0.3413e3 * 16 - 2 * (123_040 - 12_304)
    )
    # A host limits a faster link: g keeps what is not the wire's.
    ten = change(preset("gedp-up"), Change(link_bit_per_s=1e10)).platform
    assert ten.at("send_gap", 1500) == pytest.approx(18_760 - 12_304 + 1_230.4)


def test_another_link_of_a_platform_of_whole_messages() -> None:
    """What beta has beyond the wire stays, and neither parameter falls below the wire."""
    hydra = preset("hydra-ethernet")
    assert hydra.messages is not None
    fast = change(hydra, Change(link_bit_per_s=1e9)).platform.messages
    assert fast is not None
    frames = (1500 + 38) / 1500
    assert fast.beta_ns == pytest.approx(1e9 / 11e6 - 80 * frames + 8 * frames)
    assert fast.alpha_ns == pytest.approx(97_000 - 6_720 + 672)
    assert "links of 1000 Mbit/s" in fast.origin.source
    slow = change(hydra, Change(link_bit_per_s=1e6)).platform.messages
    assert slow is not None
    assert slow.beta_ns > 8000 * frames
    tight = replace(hydra, messages=replace(hydra.messages, alpha_ns=1.0, beta_ns=1.0))
    least = change(tight, Change(link_bit_per_s=1e9)).platform.messages
    assert least is not None
    assert (least.alpha_ns, least.beta_ns) == (pytest.approx(672), pytest.approx(8 * frames))


@given(st.sampled_from(["fe-326", "fe-416", "gedp-up"]), st.floats(6, 12))
def test_no_gap_is_below_the_wire(name: str, exponent: float) -> None:
    found = change(preset(name), Change(link_bit_per_s=10**exponent)).platform
    wire = found.wire_ns()
    for parameter in ("send_gap", "receive_gap"):
        assert found.at(parameter, found.packet_bytes) >= wire * (1 - 1e-9)
    size = found.packet_bytes
    assert found.costs["latency"].at(size, 16) >= found.serialisations * wire * (1 - 1e-9)


@given(st.floats(1e7, 1e9))
def test_there_and_back(rate: float) -> None:
    """A slower link and the old one again, where nothing reached the wire's time."""
    up = preset("gedp-up")
    slow = change(up, Change(link_bit_per_s=rate)).platform
    again = change(slow, Change(link_bit_per_s=1e9)).platform
    assert again.at("send_gap", 1500) == pytest.approx(18_760, rel=1e-6)


def test_overheads() -> None:
    fe = preset("fe-326")
    wanted = {"send_overhead": Overhead(factor=0.5), "receive_overhead": Overhead(value_ns=5e3)}
    after = change(fe, Change(overheads=wanted)).platform
    assert after.at("send_overhead", 1492) == 6_250
    assert after.at("receive_overhead", 1492) == 5_000
    before_ns = single_packet_ns(fe.times())
    assert single_packet_ns(after.times()) == pytest.approx(before_ns - 6_250 - 15_000)
    assert after.cost("send_overhead").origin.kind == "derived"


def test_what_cannot_be_changed() -> None:
    fe, smp = preset("fe-326"), preset("gedp-smp")
    for platform, wanted, words in (
        (fe, Change(), "nothing is to change"),
        (fe, Change(send_copies=0), "does not say what a copy costs"),
        (fe, Change(receive_copies=0), "copy memory to memory"),
        (fe, Change(coalesced_packets=4), "interrupt"),
        (fe, Change(hold_ns=1.0), "say for how many"),
        (fe, Change(send_copies=1), "already"),
        (smp, Change(coalesced_packets=4), "already"),
        (smp, Change(send_copies=-1), "expected 0..16"),
        (fe, Change(link_bit_per_s=0.0), "expected more than 0"),
        (fe, Change(overheads={"send_gap": Overhead(factor=1)}), "no overhead"),
    ):
        with pytest.raises(ValueError, match=words):
            change(platform, wanted)
    heavy = replace(
        smp, costs={**smp.costs, "copy_gap": replace(smp.costs["copy_gap"], start_ns=9e9)}
    )
    with pytest.raises(ValueError, match="does not contain so much"):
        change(heavy, Change(send_copies=0))
    for bad in ({}, {"factor": 1.0, "value_ns": 1.0}, {"factor": -1.0}):
        with pytest.raises(ValueError, match="factor or a time"):
            Overhead(**bad)


def test_views_say_what_eq_2_6_says() -> None:
    for name in ("fe-326", "fe-416"):
        platform = preset(name)
        times = platform.times()
        line = hockney(platform)
        for packets in (1, 2, 100):
            whole = single_packet_ns(times) + (packets - 1) * times.gap_ns
            assert line.time_ns(packets * 1492) == pytest.approx(whole, rel=1e-12)
            of_size = plogp(platform, packets * 1492)
            assert of_size.time_ns() == pytest.approx(whole, rel=1e-12)
        small = logp(platform)
        assert small.time_ns() == pytest.approx(single_packet_ns(times))
        assert small.capacity == (2 if name == "fe-326" else 3)
        assert loggp(platform).time_ns(1) == pytest.approx(small.time_ns())
        assert line.bandwidth_byte_per_s == pytest.approx(1492 / 123e-6)
        assert line.half_performance_bytes == pytest.approx(line.alpha_ns / line.beta_ns)


def test_lines_of_messages() -> None:
    line = hockney(preset("hydra-ethernet"))
    assert (line.alpha_ns, line.bandwidth_byte_per_s) == pytest.approx((97_000, 11e6))
    with pytest.raises(ValueError, match="O_s"):
        logp(preset("hydra-ethernet"))
    assert len(preset_names()) >= 8
