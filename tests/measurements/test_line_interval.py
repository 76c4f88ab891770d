"""How sure a fit is, and what one bad point does to it."""

import random
from collections.abc import Sequence

import pytest

from app.core.measurements.pieces import Point, bad_point, line_interval, pieces
from app.core.measurements.reports import AlphaBetaPiece
from tests.each import each

LATENCY, BANDWIDTH = 1e-4, 1e9
POINTS: Sequence[Point] = [(4096.0 * 4**n, LATENCY + 4096.0 * 4**n / BANDWIDTH) for n in range(8)]


def noisy(seed: int, error: float) -> list[Point]:
    draw = random.Random(seed)
    return [(size, time * (1 + draw.gauss(0, error))) for size, time in POINTS]


def test_the_truth_is_in_95_of_100_intervals() -> None:
    held = count = 0
    for seed in range(400):
        points = noisy(seed, 0.03)
        lines = pieces(points)
        if len(lines) == 1 and (sure := line_interval(lines[0], points)):
            count += 1
            low, high = sure.bandwidth
            assert high
            held += sure.latency[0] <= LATENCY <= sure.latency[1]
            held += low <= BANDWIDTH <= high
    assert count > 300
    assert held / (2 * count) == pytest.approx(0.95, abs=0.02)


def test_more_noise_makes_an_interval_wider() -> None:
    widths = []
    for error in (0.01, 0.05, 0.1):
        sure = line_interval(AlphaBetaPiece(0, 1e9, LATENCY, BANDWIDTH), noisy(3, error))
        assert sure
        widths.append(sure.latency[1] - sure.latency[0])
    assert widths == sorted(widths)


def test_few_points_and_a_steep_doubt_have_no_end() -> None:
    line = AlphaBetaPiece(4096.0, 16384.0, LATENCY, BANDWIDTH)
    assert line_interval(line, POINTS) is None  # two points: any line goes through them
    wild = [(4096.0, 1e-4), (16384.0, 5e-4), (65536.0, 1e-4)]
    sure = line_interval(AlphaBetaPiece(4096.0, 65536.0, 1e-4, 1e9), wild)
    assert sure
    assert (sure.latency[0], sure.bandwidth[1]) == (0.0, None)


@each("factor", [0.4, 2.0, 10.0])
@each("place", range(8))
def test_one_bad_point_is_found_wherever_it_is(place: int, factor: float) -> None:
    bent = [(s, t * (factor if n == place else 1)) for n, (s, t) in enumerate(POINTS)]
    size = bad_point(bent)
    assert size == POINTS[place][0]
    (line,) = pieces([point for point in bent if point[0] != size])
    assert line.alpha == pytest.approx(LATENCY)
    assert line.bandwidth == pytest.approx(BANDWIDTH)


def test_noise_alone_is_no_bad_point() -> None:
    assert all(bad_point(noisy(seed, 0.03)) is None for seed in range(100))
