"""The numbers that a learner may set for a chapter, and the seed of a choice."""

from typing import Annotated

from fastapi import Path, Request
from pydantic import BaseModel, Field

from app.course.kinds.parameters import seed_choice, seed_of_choice, values
from app.server.network.routes import Router
from app.site import Here
from app.site.api.documents import responses

router = Router(prefix="/api/v1", tags=["exercises"])
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
