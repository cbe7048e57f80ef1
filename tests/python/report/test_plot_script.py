"""The page's own drawing: values at the right pixels, and what a reader can do with a plot."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from report_browser import Browser

from netsonde.report.page import Section, write_sections_page
from netsonde.report.plot import Axis, Curve, Heat, Mark, Panel, Plot, Stack, Table

SIZE = Axis("message size", "size", log=True)
TIME = Axis("round trip", "time_ns", log=True)
SHARE = Axis("share", "ratio", low=0, high=1)
LINE = Curve("TCP <b>", [64.0, 1024.0, 65536.0], [20_000.0, 30_000.0, 2e6], "blue", "line+points")
PATIENCE_S = 10.0
OTHER = Curve("UDP", [64.0, 1024.0], [10_000.0, None], "orange", "line+points", symbol="square")


def opened(browser: Browser, tmp_path: Path, panel: Panel, width: int = 1000) -> None:
    table = Table("t", "A plot", (), [])
    plot = Plot("made", "A plot of what is known", "Made.", "Three points.", [panel], table, True)
    path = tmp_path / "page.html"
    write_sections_page(path, "Made", "for a test", [Section("one", "One", plots=[plot])])
    browser.show(width)
    browser.open(path)
    assert browser.complaints() == []


def texts(browser: Browser) -> list[str]:
    found: list[str] = browser.value(
        "[...document.querySelectorAll('.plot svg text')].map(t => t.textContent)"
    )
    return found


def numbers(browser: Browser, selector: str) -> list[tuple[float, float]]:
    """Where the parts of a path begin, in pixels."""
    path = browser.value(f"document.querySelector({selector!r}).getAttribute('d')")
    starts = [part for part in path.replace("M", "\nM").replace("L", "\nL").split("\n") if part]
    return [
        (float(x), float(y.split("m")[0]))
        for x, y in (part[1:].split(" ")[:2] for part in starts if part[0] in "ML")
    ]


def at_label(browser: Browser, words: str, name: str) -> float:
    """The pixel on the axis at which a label stands."""
    attribute = browser.value(
        "[...document.querySelectorAll('.plot svg text')]"
        f".find(t => t.textContent === {words!r}).getAttribute({name!r})"
    )
    return float(attribute) - (4 if name == "y" else 0)


def test_points_stand_where_the_axes_say(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, Panel("", SIZE, TIME, [LINE]))
    line = numbers(browser, ".curve .line")
    assert len(line) == 3
    assert line[0][0] == pytest.approx(at_label(browser, "64", "x"), abs=0.6)
    assert line[1][0] == pytest.approx(at_label(browser, "1k", "x"), abs=0.6)
    assert line[2][0] == pytest.approx(at_label(browser, "64k", "x"), abs=0.6)
    assert line[0][1] == pytest.approx(at_label(browser, "20 µs", "y"), abs=0.6)
    assert line[2][1] == pytest.approx(at_label(browser, "2 ms", "y"), abs=0.6)
    decades = math.log10(30 / 20) / math.log10(2000 / 20)
    part = (line[0][1] - line[1][1]) / (line[0][1] - line[2][1])
    assert part == pytest.approx(decades, abs=0.005)


@pytest.mark.parametrize(
    ("axis", "values", "words"),
    [
        (Axis("t", "time_ns"), [0, 1.9e6], ["0", "0.2 ms", "1 ms", "1.8 ms"]),
        (Axis("r", "bit_per_s", low=0), [1e8, 1e9], ["0", "0.2 Gbit/s", "1 Gbit/s"]),
        (Axis("s", "ratio"), [0.0, 0.02], ["0", "1%", "2%"]),
        (Axis("n", "count", low=0), [1, 3], ["0", "1", "2", "3"]),
        (Axis("n", "count", low=0), [0, 4_000_000], ["1M", "4M"]),
        (Axis("t", "time_ns", log=True), [1e2, 1e10], ["1 µs", "1 ms", "1 s"]),
        (Axis("t", "time_ns", log=True), [1000, 1100], ["1 µs", "1.1 µs"]),
        (Axis("s", "size", log=True), [1, 2**20], ["1", "16", "256", "4k", "64k", "1M"]),
        (Axis("s", "size", log=True), [1460, 1500], ["1460", "1480", "1500"]),
        (Axis("h", "text", names=["zero", "one"]), [0, 1], ["zero", "one"]),
        (Axis("x", "number"), [-5, 5], ["-4", "0", "4"]),
        (Axis("x", "count"), [7, 7], ["7"]),
    ],
)
def test_an_axis_is_labelled_in_its_unit(
    browser: Browser, tmp_path: Path, axis: Axis, values: list[float], words: list[str]
) -> None:
    curve = Curve("one", [1.0, 2.0], list(values), "blue")
    opened(browser, tmp_path, Panel("", Axis("x", "count"), axis, [curve]))
    labels = browser.value(
        "[...document.querySelectorAll('.plot svg text[text-anchor=end]')].map(t => t.textContent)"
    )
    assert [label for label in labels if label in words] == words


@pytest.mark.parametrize("width", [1400, 700, 400])
def test_labels_do_not_overlap(browser: Browser, tmp_path: Path, width: int) -> None:
    hosts = [f"node{n:02}.rack-{n % 3}" for n in range(24)]
    shares: list[list[float | None]] = [[0.5] * 24 for _ in range(24)]
    heat = Heat(hosts, hosts, shares, [[""] * 24] * 24)
    for panel in (
        Panel("", SIZE, TIME, [LINE]),
        Panel("", Axis("when", "time_ns"), SHARE, [Curve("a", [0.0, 2e12], [0.0, 1.0], "blue")]),
        Panel("", Axis("to", "text"), Axis("from", "text"), heat=heat, height=700),
    ):
        opened(browser, tmp_path, panel, width)
        overlap = browser.value(
            "(() => { const b = [...document.querySelectorAll('.plot svg text')]"
            ".filter(t => !t.getAttribute('transform')).map(t => t.getBoundingClientRect());"
            "return b.some((p, i) => b.some((q, j) => i < j && p.left < q.right - 1 &&"
            " q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3)); })()"
        )
        assert not overlap
        assert browser.value("document.documentElement.scrollWidth") == width


def test_pointing_says_the_value_and_its_interval(browser: Browser, tmp_path: Path) -> None:
    low: list[float | None] = [19_000.0, None, 1.9e6]
    high: list[float | None] = [21_000.0, None, 2.1e6]
    curve = Curve("TCP <b>", LINE.x, LINE.y, "blue", "line+points", low=low, high=high)
    opened(browser, tmp_path, Panel("", SIZE, TIME, [curve, OTHER]))
    x, y = numbers(browser, ".curve .line")[0]
    corner = browser.value("document.querySelector('.plot').getBoundingClientRect().toJSON()")
    browser.page.mouse.move(corner["x"] + x + 3, corner["y"] + y + 3)
    tip = browser.value("document.querySelector('.tip').innerText").splitlines()
    assert tip == ["TCP <b>", "64 B, 20 µs", "19 µs – 21 µs"]
    assert browser.value("document.querySelectorAll('.ring').length") == 1
    browser.page.mouse.move(corner["x"] + corner["width"] / 2, corner["y"] + corner["height"] + 40)
    assert browser.value("document.querySelector('.tip').hidden")
    assert browser.value("document.querySelectorAll('.ring').length") == 0


def test_a_dragged_part_fills_the_plot_and_a_double_click_goes_back(
    browser: Browser, tmp_path: Path
) -> None:
    opened(browser, tmp_path, Panel("", SIZE, TIME, [LINE]))
    before = numbers(browser, ".curve .line")
    corner = browser.value("document.querySelector('.plot').getBoundingClientRect().toJSON()")
    mouse = browser.page.mouse
    mouse.move(corner["x"] + before[1][0] - 20, corner["y"] + 60)
    mouse.down()
    mouse.move(corner["x"] + before[2][0] + 10, corner["y"] + 62, steps=4)
    mouse.up()
    after = numbers(browser, ".curve .line")
    assert after[2][0] - after[1][0] > 1.3 * (before[2][0] - before[1][0])
    assert after[1][1] == pytest.approx(before[1][1])  # hardly moved along y, so it stays
    assert browser.value("!document.querySelector('.tools button').hidden")
    mouse.dblclick(corner["x"] + 300, corner["y"] + 100)
    assert numbers(browser, ".curve .line") == before


def test_a_name_in_the_legend_takes_its_curve_away_by_keyboard(
    browser: Browser, tmp_path: Path
) -> None:
    unnamed = Curve("UDP", [64.0], [15_000.0], "orange", in_legend=False)
    opened(browser, tmp_path, Panel("", SIZE, TIME, [LINE, OTHER, unnamed]))
    entries = browser.value("[...document.querySelectorAll('.legend li')].map(l => l.innerText)")
    assert entries == ["TCP <b>", "UDP"]
    count = "document.querySelectorAll('.plot .curve').length"
    assert browser.value(count) == 3
    browser.page.locator(".legend button").nth(1).focus()
    browser.page.keyboard.press("Enter")
    assert browser.value(count) == 1
    pressed = "document.querySelectorAll('.legend button')[1].getAttribute('aria-pressed')"
    assert browser.value(pressed) == "false"
    browser.page.keyboard.press("Enter")
    assert browser.value(count) == 3


def test_it_is_saved_as_an_image_with_title_and_legend(browser: Browser, tmp_path: Path) -> None:
    mark = Mark("y", 50_000.0, "wanted")
    opened(browser, tmp_path, Panel("", SIZE, TIME, [LINE, OTHER], [mark]))
    width = browser.value("document.querySelector('.plot').clientWidth")
    browser.page.hover(".panel")
    with browser.page.expect_download() as waiting:
        browser.page.get_by_text("PNG").click()
    path = tmp_path / "saved.png"
    waiting.value.save_as(path)
    assert waiting.value.suggested_filename == "made-1.png"
    image = Image.open(path).convert("RGB")
    assert image.width == 2 * width
    assert image.getpixel((2, 2)) == (255, 255, 255)
    colours = {colour for _, colour in image.getcolors(1 << 20) or []}
    assert {(0x00, 0x68, 0xA8), (0xC0, 0x4F, 0x00)} <= colours
    assert browser.complaints() == []


def test_a_matrix_and_bars_tell_their_cells(browser: Browser, tmp_path: Path) -> None:
    heat = Heat(["to a", "to b"], ["from a"], [[0.25, None]], [["5 µs", ""]])
    opened(browser, tmp_path, Panel("", Axis("", "text"), Axis("", "text"), heat=heat))
    (cell,) = boxes(browser, ".cell")
    assert "5 µs" in texts(browser)
    point_at(browser, cell)
    words = "document.querySelector('.tip').innerText"
    assert browser.value(words).splitlines() == ["from a, to a", "5 µs, 25% of the best"]
    stack = Stack(["cpu0", "cpu1"], [("user", "user", [0.25, 0.5]), ("system", "system", [0.5, 0])])
    opened(browser, tmp_path, Panel("", SHARE, Axis("", "text"), stack=stack))
    parts = boxes(browser, ".part")
    assert parts[1]["width"] == pytest.approx(2 * parts[0]["width"], abs=0.5)
    assert parts[2]["x"] == pytest.approx(parts[0]["x"] + parts[0]["width"], abs=0.5)
    assert parts[0]["y"] < parts[1]["y"]  # in their order, from the top
    point_at(browser, parts[2])
    assert browser.value(words).splitlines() == ["cpu0", "system 50%"]


def boxes(browser: Browser, selector: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = browser.value(
        f"[...document.querySelectorAll({selector!r})].map(e => e.getBoundingClientRect().toJSON())"
    )
    return found


def point_at(browser: Browser, box: dict[str, Any]) -> None:
    browser.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def test_a_plot_follows_the_width_it_is_given(browser: Browser, tmp_path: Path) -> None:
    opened(browser, tmp_path, Panel("", SIZE, TIME, [LINE]))
    wide = numbers(browser, ".curve .line")[2][0]
    browser.show(500)
    width = "document.querySelector('.plot svg').getBoundingClientRect().width"
    end = time.monotonic() + PATIENCE_S  # it is drawn anew after the page hears of the change
    while browser.value(width) > 500 and time.monotonic() < end:
        time.sleep(0.05)
    assert numbers(browser, ".curve .line")[2][0] < wide / 1.5


def test_steps_hold_their_value_and_gaps_stay_gaps(browser: Browser, tmp_path: Path) -> None:
    y: list[float | None] = [0.2, 0.8, None, 0.4]
    curve = Curve("share", [0.0, 1.0, 2.0, 3.0], y, "blue", "step")
    opened(browser, tmp_path, Panel("", Axis("n", "count"), SHARE, [curve]))
    path = browser.value("document.querySelector('.curve .line').getAttribute('d')")
    assert path.count("M") == 2
    held = path.split("M")[1]
    assert held.index("H") < held.index("V")
