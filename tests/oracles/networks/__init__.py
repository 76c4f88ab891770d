"""Networks, built link by link."""

from tests.oracles.networks.building import built_fat_tree
from tests.oracles.networks.torus import crossing_links, loads

__all__ = ["built_fat_tree", "crossing_links", "loads"]
