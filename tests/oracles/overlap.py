"""Layers computed one after another, and a link that carries one message at a time."""


def backward_pass(compute: list[float], communication: list[float]) -> float:
    """The time when every layer is computed and its gradients are reduced."""
    computed = link_free = 0.0
    for work, message in zip(compute, communication, strict=True):
        computed += work
        link_free = max(link_free, computed) + message
    return max(computed, link_free)


def sharded_forward(compute: list[float], gather: list[float]) -> float:
    """The time when the last layer is computed, with weights prefetched one layer ahead."""
    fetched = gather[0]
    free = 0.0
    for place, work in enumerate(compute):
        start = max(free, fetched)
        free = start + work
        if place + 1 < len(compute):
            fetched = start + gather[place + 1]
    return free
