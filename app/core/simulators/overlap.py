"""Layers computed one after another, and a link that carries one message at a time."""

Span = tuple[float, float]
"""Start and end."""


def buckets(layers: int, size: int, compute: float, message: float, latency: float) -> list[Span]:
    """The span of each bucket of *size* layers' gradients on the link, in a backward pass."""
    spans: list[Span] = []
    free = done = 0.0
    while done < layers:
        held = min(size, layers - done)
        done += held
        start = max(free, done * compute)
        free = start + latency + held * message
        spans.append((start, free))
    return spans


def gathers(layers: int, ahead: int, compute: float, gather: float) -> tuple[list[Span], list[Span]]:
    """The spans of each layer's weights on the link and of its computation, in a forward pass.

    A layer's weights are sent when the layer *ahead* places before it starts, or with *ahead* 0
    when the previous layer has ended; those of the first *ahead* layers are sent immediately.
    """
    fetched: list[Span] = []
    worked: list[Span] = []
    for layer in range(layers):
        link = fetched[-1][1] if fetched else 0.0
        if ahead == 0:
            allowed = worked[-1][1] if worked else 0.0
        else:
            allowed = worked[layer - ahead][0] if layer >= ahead else 0.0
        start = max(link, allowed)
        fetched.append((start, start + gather))
        begun = max(fetched[-1][1], worked[-1][1] if worked else 0.0)
        worked.append((begun, begun + compute))
    return fetched, worked
