"""Student's distribution is that of scipy, which is not needed for it."""

import pytest
from scipy import special

from netsonde.stats.student import two_sided_reach


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 10, 29, 30, 101, 199, 200, 5000])
@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.8, 0.95, 0.99, 0.999])
def test_the_reach_is_that_of_scipy(freedom: int, confidence: float) -> None:
    wanted = float(special.stdtrit(freedom, 0.5 + 0.5 * confidence))
    assert two_sided_reach(confidence, freedom) == pytest.approx(wanted, rel=3e-8)
