"""Arrays and tokens spread over ranks, with everything that is sent counted."""

from app.core.simulators.sharding.player import (
    LONGEST,
    MULTIPLY,
    Block,
    BlockDifference,
    Blocks,
    Move,
    MoveKind,
    PlanStep,
    PlayedPlan,
    RankMesh,
    Resharding,
    ShardedLayout,
    WorkingPlan,
    play_plan,
    working_plans,
)
from app.core.simulators.sharding.routing import RoutingOutcome, route

__all__ = [
    "Block",
    "BlockDifference",
    "Blocks",
    "LONGEST",
    "MULTIPLY",
    "Move",
    "MoveKind",
    "PlanStep",
    "PlayedPlan",
    "RankMesh",
    "Resharding",
    "RoutingOutcome",
    "ShardedLayout",
    "WorkingPlan",
    "play_plan",
    "route",
    "working_plans",
]
