"""How many messages fill the time that was asked for.

As in Hpcbench (section 3.5), trials of 1, 2, 4 and so on messages come first, and the number is
scaled from the last of them. There the trials go on until one lasts as long as the test is to
last; here a fifth of that is enough, so that they take less time than the test. The last trial is
made twice and the shorter one counts: a trial in which something stalled would make the test short.
"""

from __future__ import annotations

from collections.abc import Callable

from netsonde.hpcbench.options import MOST_ITERATIONS

LEAST_ITERATIONS = 5
"""No repetition has fewer, so a test of very large messages lasts longer than asked."""
TRIAL_SHARE = 0.2


def estimate_iterations(
    elapsed_s: Callable[[int], float], test_s: float, most: int = MOST_ITERATIONS
) -> int:
    """The number of messages that last test_s. elapsed_s(count): makes a trial, returns its time.

    Between LEAST_ITERATIONS and most. The time of a number of messages is taken as proportional to
    it, which the start of a trial makes a little too long.
    """

    def long_enough(count: int) -> float | None:
        lasted_s = elapsed_s(count)
        if lasted_s >= TRIAL_SHARE * test_s:
            lasted_s = min(lasted_s, elapsed_s(count))
        return lasted_s if lasted_s >= TRIAL_SHARE * test_s or count == most else None

    count = 1
    while (lasted_s := long_enough(count)) is None:
        count = min(2 * count, most)
    wanted = round(count * test_s / lasted_s) if lasted_s > 0 else most
    return min(max(wanted, LEAST_ITERATIONS), most)
