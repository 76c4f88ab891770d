"""Faults that nobody sees until a test finds them."""

import math

from app.core.formulas.checks import positive
from app.core.units import Ratio, Seconds


def verified_interval(test_time: Seconds, mtbf: Seconds) -> Seconds:
    """Best computing time between two tests for silent faults, to first order.

    Tests take c/T of the time. A fault is found by the next test, and all work since the last
    clean one is lost: a whole interval, T/M of the time. The sum is smallest where both are equal.

        T = sqrt(test_time * mtbf)

    Convention:
        The computing time alone, without the test. A test finds every fault, and a checkpoint is
        stored at each clean test. Young's interval has a 2 under the root, since a failure that
        stops the run loses half an interval.

    Args:
        test_time: seconds of one test, during which nothing is computed.
        mtbf: mean seconds between silent faults of the whole cluster.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Derived from verified_waste; Benoit et al., Assessing General-Purpose Algorithms to Cope
        with Fail-Stop and Silent Errors, ACM TOPC 3(2), 2016.
    """
    return math.sqrt(positive("test_time", test_time) * positive("mtbf", mtbf))


def verified_waste(interval: Seconds, test_time: Seconds, mtbf: Seconds) -> Ratio:
    """Share of time lost to tests for silent faults and to work that has to be repeated.

    One test per interval, and one interval per fault.

        W = test_time / interval + interval / mtbf

    Convention:
        First order: accurate while the interval is much shorter than the time between faults, and
        even above 1 if it is not. The restart itself is not counted.

    Args:
        interval: seconds of computing between two tests.
        test_time: seconds of one test, during which nothing is computed.
        mtbf: mean seconds between silent faults of the whole cluster.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Benoit et al., Assessing General-Purpose Algorithms to Cope with Fail-Stop and Silent
        Errors, ACM TOPC 3(2), 2016.
    """
    every = positive("interval", interval)
    return positive("test_time", test_time) / every + every / positive("mtbf", mtbf)
