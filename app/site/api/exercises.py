"""List chapters and exercises, get one as a seed draws it, and the numbers of a learner."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from app.course.content.topic_file import Route
from app.course.kinds import SEEDS
from app.course.kinds.drawn_values import seed_choice, seed_of_choice, values
from app.course.kinds.numeric import visible_values
from app.course.learning import Prerequisites, final_questions
from app.server.db.tables import SEED_LIMIT
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


Draw = Annotated[int, Path(ge=0, lt=SEED_LIMIT, examples=[7], description="the number of the draw")]


class ChapterSummary(BaseModel):
    """A chapter in the list."""

    id: str
    title: str
    summary: str
    minutes: int = Field(description="of its opening and its path")
    needs: list[str] = Field(description="the chapters that it builds on, by id")
    routes: list[Route] = Field(description="the routes that it is on, besides that of all")
    path: list[str] = Field(description="the exercises of its path, in order")
    extras: list[str] = Field(description="its other exercises")


class FinalQuestion(BaseModel):
    """A question of a final: a drawing of an exercise."""

    number: int
    exercise: str
    seed: int


@router.get("/chapters", summary="List all chapters")
async def list_chapters(site: Here) -> list[ChapterSummary]:
    """Returns every chapter, in order, with the chapters that it builds on."""
    needs = Prerequisites(site.catalog.topics).direct
    return [
        ChapterSummary(
            id=topic.id,
            title=topic.title,
            summary=topic.summary,
            minutes=topic.minutes,
            needs=list(needs[topic.id]),
            routes=list(topic.routes),
            path=[one.id for one in topic.path],
            extras=[one.id for one in topic.extras],
        )
        for topic in site.catalog.topics
    ]


@router.get("/finals/{draw}", summary="Draw a final", responses=responses(422))
def draw_final(site: Here, draw: Draw) -> list[FinalQuestion]:
    """Returns the questions of the final with that number, the same as on /final/DRAW/1.

    Each is an exercise and a seed: get it and check answers to it as any other.
    """
    return [
        FinalQuestion(number=one.number, exercise=one.exercise.id, seed=one.seed)
        for one in final_questions(site.catalog, draw)
    ]


Chapter = Annotated[str, Path(examples=["your-cluster"], description="the id of a chapter")]


class ParameterSummary(BaseModel):
    """A number that may be set, or one of several rows."""

    name: str
    says: str
    unit: str = ""
    bounds: str = Field(default="", description="what the number may be")
    among: list[str] = Field(default=[], description="the rows")


class ChapterChoice(BaseModel):
    """A choice: draw the exercises of the chapter with its seed, and answer with the same seed."""

    seed: int
    chosen: dict[str, str]
    given: dict[str, str] = Field(description="every value that exercises may use")
    parameters: list[ParameterSummary]


@router.get("/chapters/{name}/parameters", summary="Set the numbers of a chapter", responses=responses(404, 422))
def set_parameters(request: Request, site: Here, name: Chapter) -> ChapterChoice:
    """Returns the seed of the parameters in the query; without a query, the default is 0."""
    topic = site.catalog.topic(name)
    given = dict(request.query_params)
    seed = seed_of_choice(topic.parameters, given) if given else 0
    return ChapterChoice(
        seed=seed,
        chosen=dict(seed_choice(topic.parameters, seed)),
        given={key: str(value) for key, value in values(topic.parameters, seed).items()},
        parameters=[
            ParameterSummary(
                name=key,
                says=one.says,
                unit=one.unit,
                bounds="" if one.among else one.bounds.removeprefix("must be "),
                among=list(one.among),
            )
            for key, one in topic.parameters.items()
        ],
    )
