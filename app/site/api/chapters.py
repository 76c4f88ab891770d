"""List the chapters with what they need, and draw the questions of a final."""

from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, Field

from app.course.content.topic_file import Route
from app.course.learning import Prerequisites
from app.course.learning.finals import final_questions
from app.server.db.tables import SEED_LIMIT
from app.server.network.routes import Router
from app.site import Here
from app.site.api.documents import responses

router = Router(prefix="/api/v1", tags=["exercises"])
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
    """Returns every chapter, in order, with what comes before it on the map."""
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
