"""/classes/ID/regrade: answers that an older version of an exercise judged, judged again.

How far that has come goes from step to step in a field of the page. No server remembers anything of it: any of
them takes the next step, and a run that was left may be begun again.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Form, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.classes.pages.class_router import ClassRouter, ClassVisit, in_class
from app.classes.pages.live import link_to
from app.classes.people.classes import Role, members_of
from app.classes.people.regrade_run import RegradeResult, StaleAnswer, regrade_answers, stale_answers
from app.core.errors import input_error
from app.core.translation import noted, translate
from app.server.aside import aside, current_payer
from app.server.db.session import open_session
from app.site import Here, Site
from app.site.web.frame.renderer import Hyperlink
from app.site.web.frame.visitor import FromHere, Visiting

router = ClassRouter("/classes/{class_id:int}/regrade", "Grades", least=Role.ASSISTANT)
MOST = 2_000  # answers that are judged in a step
_STEP = 5.0  # seconds after which a step ends
_DIGITS = 12  # of a number of answers
_WORTH = 50  # answers judged again that take as much as one new answer
SHOWN = 200  # changes
_REASONS = 20  # of scores that stay
_LONG = 300  # characters of a reason
Count = Annotated[int, Field(ge=0, lt=2**63)]
Share = Annotated[float, Field(allow_inf_nan=False)]


class ChangedScore(BaseModel):
    """A score of a person that changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    person: Count
    seed: Count
    before: Share
    after: Share


class SoFar(BaseModel):
    """What was judged; *last* is the attempt to go on after."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    last: Count = 0
    judged: Count = 0
    changed: Count = 0
    lowered: Count = 0
    kept: dict[str, Count] = Field(default_factory=dict, max_length=_REASONS)
    found: list[ChangedScore] = Field(default_factory=list, max_length=SHOWN)

    def text(self) -> str:
        """As the text of a field."""
        return self.model_dump_json()

    def with_step(self, step: RegradeResult) -> "SoFar":
        """With what another step has judged."""
        found = [
            ChangedScore(person=one.stale.member.person, seed=one.stale.seed, before=one.stale.before, after=one.score)
            for one in step.changes
        ]
        return SoFar(
            last=step.last or self.last,
            judged=self.judged + step.judged,
            changed=self.changed + len(step.changes),
            lowered=self.lowered + step.lowered,
            kept=_counted(self.kept, step.kept),
            found=[*self.found, *found][:SHOWN],
        )


def so_far(text: str) -> SoFar:
    """What such a text says; nothing was judged if it is empty."""
    try:
        return SoFar.model_validate_json(text) if text else SoFar()
    except ValidationError:
        raise input_error("this form is incomplete; begin to judge again") from None


def _counted(before: dict[str, int], reasons: Sequence[str]) -> dict[str, int]:
    """How often each reason was given; rare ones are counted together, so that it stays small."""
    counts = dict(before)
    for reason in reasons:
        known = reason[:_LONG]
        known = known if known in counts or len(counts) < _REASONS - 1 else translate("for other reasons")
        counts[known] = counts.get(known, 0) + 1
    return counts


@dataclass(frozen=True, slots=True)
class RegradeState:
    """What a form asks for, and how far it has come: answers that are *left*, and how long to *wait* with them."""

    exercise: str
    lower: bool
    sure: bool
    done: SoFar
    left: int = 0
    wait: int = 0


@dataclass(frozen=True, slots=True)
class RegradedScore:
    """A score of a person at a drawing that would change, in percent."""

    name: str
    person: int
    drawing: Hyperlink
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegradePage:
    """The exercises that have changed, with their answers; once one was *asked* for, the scores that would change.

    *tried* is that exercise. *stored*: how many scores were changed a moment ago.
    """

    mended: tuple[tuple[Hyperlink, str, int], ...] = ()
    tried: Hyperlink | None = None
    asked: RegradeState | None = None
    changes: tuple[RegradedScore, ...] = ()
    stored: int | None = None


@router.page("", "regrade", noted("{name}, judge again"))
def regrade_page(visit: ClassVisit, stored: str = "", *, asked: RegradeState | None = None) -> RegradePage:
    """The exercises of a class that were changed after they were answered; or how far a form has come."""
    tried = link_to(visit.site, asked.exercise) if asked else None
    if asked and asked.left:
        return RegradePage(asked=asked, tried=tried)
    stale = stale_answers(visit.session, visit.site.secret, visit.site.catalog, visit.class_id)
    counts = Counter(one.exercise for one in stale)
    known = stored.isascii() and stored.isdecimal() and len(stored) <= _DIGITS
    return RegradePage(
        mended=tuple((link_to(visit.site, name), name, count) for name, count in counts.most_common()),
        tried=tried,
        asked=asked,
        changes=tuple(_changed_scores(visit, asked)) if asked else (),
        stored=int(stored) if known else None,
    )


@router.post("", dependencies=[FromHere])
async def regrade(
    request: Request,
    site: Here,
    visiting: Visiting,
    class_id: int,
    exercise: Annotated[str, Form()] = "",
    lower: Annotated[str, Form()] = "",
    sure: Annotated[str, Form()] = "",
    done: Annotated[str, Form()] = "",
) -> Response:
    """Show what judging again changes, step by step; once that was seen, change it."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    asked = RegradeState(exercise, lower == "yes", sure == "yes", so_far(done))
    stale = await aside(_stale, site, class_id, exercise, asked.done.last)
    cost = 1 + min(len(stale), MOST) / _WORTH
    wait = math.ceil(site.allowances.answers.wait(current_payer(), cost))
    if not wait:
        asked = replace(asked, done=await _judge_step(site, asked, stale[:MOST]))
    asked = replace(asked, left=sum(one.attempt > asked.done.last for one in stale), wait=wait)
    if asked.sure and not asked.left:
        return RedirectResponse(f"/classes/{class_id}/regrade?stored={asked.done.changed}", 303)
    return await aside(router.show, regrade_page, request, site, (member, None), {"asked": asked})


async def _judge_step(site: Site, asked: RegradeState, stale: Sequence[StaleAnswer]) -> SoFar:
    """What was judged, with another step."""
    ends = time.monotonic() + _STEP
    step = await regrade_answers(
        site.engine,
        stale,
        site.catalog,
        site.runner.on_behalf_of(current_payer().lane),
        lower=asked.lower,
        store=asked.sure,
        enough=lambda: time.monotonic() > ends,
    )
    return asked.done.with_step(step)


def _stale(site: Site, class_id: int, exercise: str, after: int) -> Sequence[StaleAnswer]:
    if not exercise:
        return ()
    with open_session(site.engine) as session:
        return stale_answers(session, site.secret, site.catalog, class_id, [exercise], after)


def _changed_scores(visit: ClassVisit, asked: RegradeState) -> Iterator[RegradedScore]:
    """The scores of those who are in the class that would change."""
    names = {one.person: one.name for one in members_of(visit.session, visit.class_id)}
    for one in asked.done.found:
        if one.person in names:
            drawing = link_to(visit.site, asked.exercise, one.seed)
            before, after = f"{100 * one.before:.3g} %", f"{100 * one.after:.3g} %"
            yield RegradedScore(names[one.person], one.person, drawing, before, after)
