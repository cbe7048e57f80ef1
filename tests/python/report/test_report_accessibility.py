"""Every page of the report for readers without mouse, colours or sight, and without a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from compare_made import write_run
from page_accessibility import complaints
from report_browser import Browser
from report_made import Made
from report_pages import write_all
from test_stored_runs import unpacked
from typer.testing import CliRunner

from netsonde.cli.main import app

NAMES = ("report", "pairs", "comparison", "history", "overlay")


@pytest.fixture(scope="module")
def pages(made: Made, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {"report": made.page, **write_all(tmp_path_factory.mktemp("pages"))}


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        *((name, "light") for name in NAMES),
        *((name, "dark") for name in NAMES if name != "report"),
        pytest.param("report", "dark", marks=pytest.mark.soak),
    ],
)
def test_nothing_is_missing_for_anybody(
    browser: Browser, pages: dict[str, Path], name: str, scheme: str
) -> None:
    browser.show(1400, scheme=scheme)
    browser.open(pages[name])
    assert complaints(browser) == []


@pytest.mark.parametrize("name", NAMES)
def test_opens_from_a_file_without_a_network(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    browser.page.context.set_offline(True)
    try:
        browser.show(1400)
        browser.open(pages[name])
        assert browser.complaints() == []
        assert browser.requested() == [pages[name].resolve().as_uri()]
    finally:
        browser.page.context.set_offline(False)


@pytest.mark.parametrize("name", NAMES)
def test_follows_the_scheme_and_prints_on_white(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    background = "getComputedStyle(document.documentElement).backgroundColor"
    browser.show(1400)
    browser.open(pages[name])
    light = browser.value(background)
    browser.show(1400, scheme="dark")
    assert browser.value(background) != light
    browser.page.emulate_media(media="print", color_scheme="null")
    try:
        assert browser.value(background) == light
        assert browser.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    finally:
        browser.page.emulate_media(media="null")


def test_the_keyboard_reaches_every_link_and_table(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.show(1400)
    browser.open(pages["comparison"])
    stops = "[...document.querySelectorAll(\"a[href], summary, button, [tabindex='0']\")]"
    count = browser.value(f"{stops}.length")
    reached = set()
    for _ in range(count):
        browser.page.keyboard.press("Tab")
        reached.add(browser.value(f"{stops}.indexOf(document.activeElement)"))
    hidden = browser.value(f"{stops}.filter((e) => !e.checkVisibility()).length")
    assert len(reached - {-1}) >= count - hidden - 1


BREAKS = {
    "2.4.2": "document.title = ''",
    "3.1.1": "document.documentElement.lang = ''",
    "1.1.1": "document.querySelector('.plot').removeAttribute('aria-label')",
    "1.3.1": "document.querySelector('th').removeAttribute('scope')",
    "1.4.3": "document.querySelector('main p').style.color = '#aaaaaa'",
    "2.1.1": "document.body.insertAdjacentHTML('beforeend', "
    "'<div style=\"width:50px;overflow:auto\"><pre>a line that is too long</pre></div>')",
    "2.4.4": "document.querySelector('nav a').href = '#nowhere'",
    "4.1.2": "document.body.insertAdjacentHTML('beforeend', '<p id=\"verdicts\">again</p>')",
}


@pytest.mark.parametrize("criterion", BREAKS)
def test_what_is_broken_is_noticed(
    browser: Browser, pages: dict[str, Path], criterion: str
) -> None:
    browser.show(1400)
    browser.open(pages["comparison"])
    browser.value(f"(() => {{ {BREAKS[criterion]}; }})()")
    assert any(found.startswith(criterion) for found in complaints(browser))


def test_nor_on_the_pages_of_runs_of_hosts_and_of_simulations(
    browser: Browser, tmp_path: Path, sonde_worker: Path
) -> None:
    assert sonde_worker
    write_run(tmp_path / "runs" / "monday", {64: [20e3]}, seed=5, messages=60)
    simulated = unpacked("simulated", tmp_path)
    pages = {
        "runs": ["report", str(tmp_path / "runs")],
        "host": ["host", "--only", "hint", "--html", str(tmp_path / "host.html")],
        "simulated": ["report", str(simulated)],
    }
    for name, words in pages.items():
        assert CliRunner().invoke(app, words).exit_code == 0, name
    made_pages = (tmp_path / "runs" / "index.html", tmp_path / "host.html")
    for path in (*made_pages, simulated / "report.html"):
        browser.show(400, scheme="dark")
        browser.open(path)
        assert browser.complaints() == []
        assert complaints(browser) == [], path
        assert browser.value("document.documentElement.scrollWidth") == 400
