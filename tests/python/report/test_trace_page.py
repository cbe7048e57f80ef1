"""The page of a trace's plots in a real browser: it draws, and fetches nothing."""

from pathlib import Path

import numpy as np
import pytest
from page_accessibility import complaints
from report_browser import Browser

from netsonde.trace.plots import draw_summary, summary_plots
from netsonde.trace.windows import Windows

BEGIN_NS = 1_785_412_800 * 10**9


def made_windows(host: str, count: int, step_s: float) -> Windows:
    """A sawtooth of traffic one way, half of it the other way, a gap in the middle."""
    place = np.arange(count)
    rate = (place % 50) * 1e6
    received = rate * step_s
    received[count // 2 : count // 2 + 30] = np.nan
    return Windows(
        "made",
        host,
        step_s,
        BEGIN_NS + ((place + 1) * step_s * 1e9).astype(np.int64),
        np.full(count, step_s),
        {
            "busy": 0.5 + 0.4 * np.sin(place / 20),
            "busiest": np.full(count, 0.95),
            "share:softirq": np.full(count, 0.05),
            "interface.eth0.rx_bytes": received,
            "interface.eth0.tx_bytes": received / 2,
            "interface.eth0.rx_packets": received / 1000,
            "interface.eth0.tx_packets": received / 2000,
        },
    )


def test_stretches_keep_means_and_extremes() -> None:
    """However many windows are drawn as one, the largest and the mean over time stay."""
    windows = made_windows("node<1>", 5000, 60.0)
    traffic = next(plot for plot in summary_plots([windows]) if plot.id == "traffic")
    lines = [curve for curve in traffic.panels[0].curves if curve.draw == "line"]
    assert max(len(curve.x) for curve in lines) <= 600
    rows = [row for row in traffic.table.rows if row[2] == "in"]
    assert max(row[5] for row in rows if row[5] is not None) == pytest.approx(8 * 49e6)
    known = ~np.isnan(windows.columns["interface.eth0.rx_bytes"])
    mean = 8 * windows.columns["interface.eth0.rx_bytes"][known].mean() / 60
    drawn = np.mean([row[4] for row in rows if row[4] is not None])
    assert drawn == pytest.approx(mean, rel=0.02)


def test_the_page_draws_and_fetches_nothing(tmp_path: Path, browser: Browser) -> None:
    page = tmp_path / "week.html"
    hosts = [made_windows("node<1>", 5000, 60.0), made_windows("node2", 300, 60.0)]
    draw_summary(hosts, page)
    for width in (1200, 380):
        browser.show(width)
        browser.open(page)
        assert browser.complaints() == []
        assert complaints(browser) == []
        assert browser.requested() == [page.resolve().as_uri()]
        drawn = browser.value("document.querySelectorAll('.plot > svg').length")
        assert drawn >= 6
        fits = "document.documentElement.scrollWidth <= window.innerWidth"
        assert browser.value(fits)
        assert "node<1>" in browser.value("document.body.innerText")
