"""Tokens routed to experts of limited capacity."""

from dataclasses import dataclass


@dataclass(slots=True)
class RoutingOutcome:
    """Copies that each expert accepted, copies dropped, and copies sent by each rank."""

    loads: list[int]
    dropped: int
    sent: list[int]


def route(choices: list[list[list[int]]], experts: int, room: int | None = None) -> RoutingOutcome:
    """Send each token of each rank to its chosen experts, spread evenly over ranks."""
    ranks = len(choices)
    routed = RoutingOutcome([0] * experts, 0, [0] * ranks)
    for rank, tokens in enumerate(choices):
        for chosen in tokens:
            for expert in chosen:
                if room is not None and routed.loads[expert] >= room:
                    routed.dropped += 1
                    continue
                routed.loads[expert] += 1
                if expert * ranks // experts != rank:
                    routed.sent[rank] += 1
    return routed
