"""What can be answered."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from app.api.documents import responses
from app.kinds import SEEDS
from app.site import Here

router = APIRouter(prefix="/api/v1", tags=["exercises"])
Seed = Annotated[int, Query(ge=0, lt=SEEDS, examples=[7], description="0 is as it was written")]
Id = Annotated[
    str,
    Path(
        openapi_examples={"ring": {"value": "collectives/ring-all-reduce-time"}},
        description="the id of an exercise",
    ),
]


class Listed(BaseModel):
    """An exercise in the list."""

    id: str
    topic: str
    kind: str
    title: str
    level: int


@router.get("/exercises", summary="All exercises")
async def list_exercises(site: Here) -> list[Listed]:
    """Every exercise, chapter after chapter."""
    return [
        Listed(
            id=exercise.id,
            topic=exercise.id.partition("/")[0],
            kind=exercise.kind,
            title=exercise.title,
            level=exercise.level,
        )
        for exercise in site.catalog.exercises
    ]


@router.get(
    "/exercises/{id:path}",
    summary="One exercise, as a seed draws it",
    responses=responses(404, 422),
)
async def show_exercise(site: Here, id: Id, seed: Seed = 0) -> dict[str, Any]:
    """The prompt (Markdown) and what to answer with; never the answer."""
    exercise = site.catalog.exercise(id)
    variant = exercise.variant(seed)
    return {
        "id": exercise.id,
        "kind": exercise.kind,
        "seed": seed,
        "title": exercise.title,
        "prompt": variant.prompt,
        "given": dict(variant.draw.shown),
        **asdict(exercise.question(seed)),
    }
