"""Layers split over ranks and computed, with every sent number counted."""

from app.simulators.sharding.blocks import (
    MULTIPLY,
    Block,
    Blocks,
    Move,
    MoveKind,
    RankMesh,
    ShardedLayout,
)
from app.simulators.sharding.matrices import MlpSplit, counted_product, parallel_mlp
from app.simulators.sharding.plans import LONGEST, WorkingPlan, working_plans
from app.simulators.sharding.player import (
    BlockDifference,
    PlanStep,
    PlayedPlan,
    Resharding,
    play_plan,
)
from app.simulators.sharding.ring_attention import Passed, pass_blocks
from app.simulators.sharding.routing import Routed, route

__all__ = [
    "Block", "BlockDifference", "Blocks", "LONGEST", "MULTIPLY", "MlpSplit", "Move", "MoveKind",
    "Passed", "PlanStep", "PlayedPlan", "RankMesh", "Resharding", "Routed", "ShardedLayout",
    "WorkingPlan", "counted_product", "parallel_mlp", "pass_blocks", "play_plan", "route",
    "working_plans",
]  # fmt: skip
