"""The page in a real browser: nothing fetched, nothing complained of, everything drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_browser import Browser
from report_made import Made, make
from report_synthetic import hostile_run, synthetic_findings

pytestmark = pytest.mark.timeout(240)


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1400, "light"),
        (400, "dark"),
        pytest.param(1400, "dark", marks=pytest.mark.soak),
        pytest.param(400, "light", marks=pytest.mark.soak),
    ],
)
def test_opens_without_errors_or_requests_and_stays_within_the_page(
    browser: Browser, made: Made, width: int, scheme: str
) -> None:
    browser.show(width, scheme=scheme)
    browser.open(made.page)
    assert browser.complaints() == []
    assert browser.requested() == [made.page.resolve().as_uri()]
    drawn, places = browser.value(
        "[document.querySelectorAll('.plot > svg .inside').length,"
        " document.querySelectorAll('.plot').length]"
    )
    assert drawn == places > 20
    assert browser.value("document.documentElement.scrollWidth") == width
    browser.value("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert browser.value("document.documentElement.scrollWidth") == width
    outside = browser.value(
        "[...document.querySelectorAll('.plot')].filter(p => {"
        " const b = p.getBoundingClientRect(); return b.right > innerWidth + 1 || b.left < -1;"
        "}).length"
    )
    assert outside == 0


def test_plots_take_the_colours_of_the_scheme(browser: Browser, made: Made) -> None:
    stroke = "getComputedStyle(document.querySelector('.plot .curve .line')).stroke"
    browser.show(1400, scheme="light")
    browser.open(made.page)
    light = browser.value(stroke)
    browser.show(1400, scheme="dark")
    assert browser.value(stroke) != light


def test_text_has_contrast(browser: Browser, made: Made) -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1 for text, in both schemes."""
    script = """(() => {
      const light = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255)
        .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
      const page = light(getComputedStyle(document.documentElement).backgroundColor);
      return Math.min(...[...document.querySelectorAll('p,h1,h2,a,td,th,.level,.about,.error')]
        .filter(e => !e.closest('.differs, nav'))
        .map(e => { const t = light(getComputedStyle(e).color);
          return (Math.max(t, page) + 0.05) / (Math.min(t, page) + 0.05); }));
    })()"""
    browser.show(1400)
    browser.have(made.page)
    assert browser.value(script) >= 4.5
    browser.show(1400, scheme="dark")  # of words, the page's style alone decides the colour
    assert browser.value(script) >= 4.5


@pytest.mark.soak
def test_prints(browser: Browser, made: Made, tmp_path: Path) -> None:
    browser.show(1400, scheme="dark")
    browser.have(made.page)
    browser.page.pdf(path=tmp_path / "report.pdf", print_background=True)
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    assert len(synthetic_findings()) == browser.value(
        "document.querySelectorAll('.verdicts li').length"
    )


def test_hostile_names_do_nothing(browser: Browser, tmp_path: Path) -> None:
    page = make(tmp_path, hostile_run(tmp_path)).page
    browser.show(400)
    browser.open(page)
    assert browser.complaints() == []
    assert browser.value("document.querySelectorAll('img').length") == 0
    assert browser.requested() == [page.resolve().as_uri()]
    assert browser.value("document.documentElement.scrollWidth") == 400


def test_a_broken_page_is_noticed(browser: Browser, made: Made, tmp_path: Path) -> None:
    """The test itself must be able to fail: a script that the policy does not know."""
    broken = tmp_path / "report.html"
    text = made.text.replace("</body>", "<script>window.intruder = 1</script></body>")
    broken.write_text(text, encoding="utf-8")
    browser.open(broken)
    assert browser.complaints()
    assert browser.value("window.intruder === undefined")
