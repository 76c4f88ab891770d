"""Places for names: the best of those that are tried."""

import random

from app.core.charts.plot import LabelRoom, spots_around, spots_within
from tests.each import each

BOUNDS = (0.0, 0.0, 300.0, 160.0)


@each("seed", range(8))
def test_no_other_place_is_better_than_the_best_one_nor_as_good_and_before_it(seed: int) -> None:
    source = random.Random(seed)

    def point() -> tuple[float, float]:
        return source.uniform(20, 280), source.uniform(20, 140)

    own, others = point(), [point() for _ in range(12)]
    boxes = [(x, y - 11, x + 60, y + 4) for x, y in others]
    room = LabelRoom([[point() for _ in range(6)]], boxes)
    spots = [*spots_around(own, 50.0, BOUNDS), *spots_within(BOUNDS, own, 50.0)]
    best = room.best(spots, others)
    before = spots.index(best)
    for spot in spots[:before]:
        assert room.best((spot, best), others) is best
    for spot in spots[before:]:
        assert room.best((best, spot), others) is best
