"""Networks, built link by link."""

from app.simulators.networks.building import built_fat_tree
from app.simulators.networks.torus import crossing_links, loads

__all__ = ["built_fat_tree", "crossing_links", "loads"]
