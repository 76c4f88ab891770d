"""A fat tree that is built from below, cable by cable."""


def built_fat_tree(ports: int, levels: int) -> tuple[int, int]:
    """Hosts and switches of the largest tree in which as many cables go up as come from below.

    A part starts as a host with one cable. A level more joins parts: each of its switches takes one
    cable of each part, and leads half of its ports upward, or none at the top.
    """
    hosts, switches, cables = 1, 0, 1
    for level in range(levels):
        parts = ports if level == levels - 1 else ports // 2
        hosts, switches = hosts * parts, switches * parts + cables
        cables *= ports - parts
    return hosts, switches
