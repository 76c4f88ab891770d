"""List exercises, and get one as a seed draws it."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

from app.course.kinds import SEEDS
from app.course.kinds.visible_values import visible_values
from app.server.network.routes import Router
from app.site import Here
from app.site.api.documents import responses

router = Router(prefix="/api/v1", tags=["exercises"])
Seed = Annotated[int, Query(ge=0, lt=SEEDS, examples=[7], description="0: the original values")]
Id = Annotated[
    str,
    Path(openapi_examples={"ring": {"value": "collectives/ring-all-reduce-time"}}, description="the id of an exercise"),
]


class ExerciseSummary(BaseModel):
    """An exercise in the list."""

    id: str
    topic: str
    kind: str
    title: str
    level: int


class MultipleChoice(BaseModel):
    """A question with options; the answer is the key of one of them."""

    prompt: str = Field(description="Markdown")
    options: list[dict[str, str]] = Field(description="each with its key and text")


class DrawnExercise(BaseModel):
    """An exercise as a seed draws it; the further fields of each kind say how to answer."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "id": "collectives/time-the-tree",
                    "kind": "lab",
                    "seed": 0,
                    "title": "Ring or tree, on the clock",
                    "prompt": "Four processes all-reduce 4 MiB over an emulated link: ...",
                    "given": {"size": "4 MiB", "latency": "4 ms", "bandwidth": "50 MB/s"},
                    "fields": [{"name": "time", "prompt": "Time of the ring", "unit": "ms", "tolerance": "1 %"}],
                    "cause": {
                        "prompt": "The measured time is a few milliseconds above the formula. Why?",
                        "options": [
                            {"key": "late", "text": "A message is held until it is due, ..."},
                            {"key": "link", "text": "The link between the processes is slower ..."},
                        ],
                    },
                }
            ]
        },
    )

    id: str
    kind: str
    seed: int
    title: str
    prompt: str = Field(description="the task, Markdown")
    given: dict[str, str] = Field(description="the drawn values that the question uses, as texts")
    fields: list[dict[str, str]] = Field(
        default=[], description="kinds numeric and lab: the quantities to answer with, by name"
    )
    cause: MultipleChoice | None = Field(
        default=None,
        description="kind lab: the question about the cause, asked after the prediction; an answer "
        'is {NAME: number, ..., "cause": KEY}, with one NAME per item of fields',
    )


@router.get("/exercises", summary="List all exercises")
async def list_exercises(site: Here) -> list[ExerciseSummary]:
    """Returns every exercise, in the order of the chapters."""
    return [
        ExerciseSummary(
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
    summary="Get an exercise as a seed draws it",
    response_model=None,
    responses={200: {"model": DrawnExercise, "description": "as drawn"}, **responses(404, 422)},
)
def show_exercise(site: Here, id: Id, seed: Seed = 0) -> dict[str, Any]:
    """Returns the prompt (Markdown) and how to answer, never the answer."""
    exercise = site.catalog.exercise(id)
    variant = exercise.variant(seed)
    common = {
        "id": exercise.id,
        "kind": exercise.kind,
        "seed": seed,
        "title": exercise.title,
        "prompt": variant.prompt,
        "given": dict(visible_values(exercise, seed)),
    }
    own = asdict(exercise.question(seed))
    if taken := common.keys() & own.keys():  # a kind's own fields must not hide the common ones
        raise TypeError(f"{exercise.kind} has its own {', '.join(sorted(taken))}")
    return {**common, **own}
