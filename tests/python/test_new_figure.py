"""A figure that is added as CONTRIBUTING.md says is in a run, and told in its report."""

import pytest
from house_copy import HouseCopy

MADE = """    return [*figures, *_stages(maker), *timer_figures(maker)]
"""
ALSO_MADE = """    spread = float(samples.max() - samples.min())
    figures.append(
        maker.figure("round_trip_spread_ns", spread, len(samples))
    )
"""
LAST_ROW = """    figure("saturation_bytes", "sweeps#saturation"),
)
METHODS = {
"""
ROW = """    figure("saturation_bytes", "sweeps#saturation"),
    figure(
        "round_trip_spread_ns", "latency#spread", better="less", label="spread of round trips"
    ),
)
METHODS = {
    "latency#spread": "What the longest round trip took more than the shortest one.",
"""
READ = """
import json, netsonde, polars
run = netsonde.open({run!r})
figures = run.figures().filter(polars.col("name") == "round_trip_spread_ns")
print(json.dumps(figures["method"].to_list()))
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = HouseCopy(tmp_path_factory.mktemp("house"))
    house.change("figures/compute.py", MADE, ALSO_MADE + MADE)
    house.change("catalogue/figures/latency.py", LAST_ROW, ROW)
    return house


@pytest.mark.usefixtures("sonde_worker")
def test_a_run_has_it_and_its_report_tells_it(house):
    run = house.measure()
    page = (run / "report.html").read_text()
    assert "What the longest round trip took more than the shortest one." in page
    assert "round_trip_spread_ns" in page
    assert house.ask(READ.format(run=str(run))) == ["latency#spread"]


@pytest.mark.usefixtures("sonde_worker")
def test_without_a_row_it_is_refused(tmp_path):
    house = HouseCopy(tmp_path)
    house.change("figures/compute.py", MADE, ALSO_MADE + MADE)
    with pytest.raises(AssertionError, match="no row of the catalogue knows the figure"):
        house.measure()
