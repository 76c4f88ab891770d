import random
from collections import Counter
from itertools import product

import pytest

from app.core.formulas import networks
from tests.each import each
from tests.oracles import networks as simulated


@each(("ports", "levels"), [(2, 1), (6, 1), (4, 2), (8, 3), (64, 3), (6, 4)])
def test_fat_tree_is_one_that_was_built_from_below(ports: int, levels: int) -> None:
    assert networks.fat_tree(ports, levels) == simulated.built_fat_tree(ports, levels)


def test_fat_tree_of_48_ports_is_that_of_the_paper() -> None:
    hosts, switches = networks.fat_tree(48)  # Al-Fares et al.: 27,648 hosts
    assert hosts == 27_648
    assert switches == 48 * 48 + 24**2  # pods of 48 switches, and (k/2)^2 at the core


def test_fat_tree_has_switches_with_an_even_number_of_ports() -> None:
    with pytest.raises(ValueError, match="^ports must be even, not 5$"):
        networks.fat_tree(5)


@each(("side", "dimensions"), [(4, 1), (6, 2), (4, 3), (8, 3)])
def test_torus_bisection_is_the_links_that_were_counted(side: int, dimensions: int) -> None:
    counted = simulated.crossing_links(side, dimensions)
    assert networks.torus_bisection(side, dimensions, 3.0) == counted * 3.0


@each(("side", "dimensions"), [(4, 1), (10, 1), (4, 2), (6, 2), (4, 3)])
def test_torus_all_to_all_time_is_that_of_the_fullest_link(side: int, dimensions: int) -> None:
    carried = simulated.loads(side, dimensions)
    assert len(carried) == 2 * dimensions * side**dimensions
    assert networks.torus_all_to_all_time(side, 7.0, 5.0) == (
        pytest.approx(max(carried.values()) * 7.0 / 5.0, rel=1e-12)
    )


@each(("side", "dimensions"), [(4, 2), (16, 3)])
def test_torus_all_to_all_time_and_torus_bisection_agree(side: int, dimensions: int) -> None:
    # Half of the chips send half of their data to the other half.
    crossing = side**dimensions / 2 * 1e9 / 2
    time = networks.torus_all_to_all_time(side, 1e9, 50e9)
    assert time == pytest.approx(crossing / networks.torus_bisection(side, dimensions, 50e9))


@each(("flows", "links"), [(1, 1), (4, 3), (3, 5), (6, 1), (5, 5), (6, 4)])
def test_expected_busiest_and_separate_links_probability_are_those_of_every_hash(flows: int, links: int) -> None:
    hashes = [Counter(chosen) for chosen in product(range(links), repeat=flows)]
    busiest = sum(max(counted.values()) for counted in hashes) / len(hashes)
    apart = sum(len(counted) == flows for counted in hashes) / len(hashes)
    assert networks.expected_busiest(flows, links) == pytest.approx(busiest, rel=1e-12)
    assert networks.separate_links_probability(flows, links) == pytest.approx(apart, rel=1e-12)


def test_expected_busiest_and_separate_links_probability_are_those_of_random_hashes() -> None:
    source = random.Random(9)
    drawn = [Counter(source.choices(range(8), k=8)) for _ in range(20_000)]
    assert networks.expected_busiest(8, 8) == (
        pytest.approx(sum(max(one.values()) for one in drawn) / len(drawn), abs=0.025)
    )
    assert networks.separate_links_probability(8, 8) == (
        pytest.approx(sum(len(one) == 8 for one in drawn) / len(drawn), abs=0.0015)
    )


def test_separate_links_probability_of_birthdays() -> None:
    # In a year of 128 days, 14 people are needed for even odds of a shared birthday.
    assert networks.separate_links_probability(13, 128) > 0.5 > (networks.separate_links_probability(14, 128))
    assert networks.separate_links_probability(5, 4) == 0


def test_expected_busiest_of_many_flows_is_hardly_above_the_mean() -> None:
    assert networks.expected_busiest(128, 2) / 64 == pytest.approx(1.07, abs=0.005)
    assert networks.expected_busiest(128, 128) == pytest.approx(4.3, abs=0.3)
