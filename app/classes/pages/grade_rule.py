"""/classes/ID/grades/rule: the weights of assignments, and the lowest that are left out."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from sqlmodel import Session

from app.classes.pages.class_head import ClassHead, class_head
from app.classes.pages.guard import Membership, in_class
from app.classes.people.assignments import assignments_of
from app.classes.people.classes import Role, class_with
from app.classes.people.overall_grades import GradeRule, change_grade_rule, grade_rule_of
from app.core.errors import InputError, sentence
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.session import open_session, open_writing_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import FromHere, Visiting

router = Router(prefix="/classes/{class_id:int}/grades/rule")
_MOST_FIELDS = 2_000  # a class can have that many assignments
_LONGEST = 20  # of a number, as it is said again


@dataclass(frozen=True, slots=True)
class WeightField:
    """The weight of an assignment, as it is or as it was sent; empty: its *points*."""

    name: str
    title: str
    weight: str
    points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeRulePage:
    """The rule of the overall grade."""

    head: ClassHead
    lowest: str
    weights: tuple[WeightField, ...]
    problem: str = ""


@router.get("")
async def show_grade_rule(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """The form of the rule."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    return await aside(_shown_rule, request, site, member)


@router.post("", dependencies=[FromHere])
async def post_grade_rule(request: Request, site: Here, visiting: Visiting, class_id: int) -> Response:
    """Change the rule; an empty weight is that of the points."""
    member = await in_class(request, site, visiting, class_id, Role.TEACHER)
    async with request.form(max_files=0, max_fields=_MOST_FIELDS) as form:
        sent = {name: str(text).strip() for name, text in form.items()}
    try:
        await aside(_store_rule, site, class_id, sent)
    except InputError as error:
        return await aside(_shown_rule, request, site, member, sent, sentence(str(error)))
    return RedirectResponse(f"/classes/{class_id}/grades", 303)


def _store_rule(site: Site, class_id: int, sent: Mapping[str, str]) -> None:
    with open_writing_session(site.engine) as session:
        rule = _read_rule(session, class_id, sent)
        change_grade_rule(session, class_with(session, class_id), rule)
        session.commit()


def _read_rule(session: Session, class_id: int, sent: Mapping[str, str]) -> GradeRule:
    weights: Mapping[int, float | None] = {
        one.id: _number(text, one.title)
        for one in assignments_of(session, class_id)
        if (text := sent.get(_field(one.id), ""))
    }
    what = translate("the number of assignments that are left out")
    lowest = _number(sent.get("lowest", "") or "0", what)
    if lowest != int(lowest):
        raise InputError(translate("{what} must be a whole number", what=what))
    return GradeRule(int(lowest), weights)


def _number(text: str, what: str) -> float:
    plain = text.removesuffix("%").strip().replace(",", ".")
    if not plain.replace(".", "", 1).isdecimal() or len(plain) > _LONGEST:
        raise InputError(
            translate("{what}: cannot read {text!r} as a number such as 12.5", what=what, text=text[:_LONGEST])
        )
    return float(plain)


def _field(number: int) -> str:
    return f"weight-{number}"


def _shown_rule(
    request: Request, site: Site, member: Membership, sent: Mapping[str, str] | None = None, problem: str = ""
) -> Response:
    with open_session(site.engine) as session:
        assignments = assignments_of(session, member.class_id)
    rule = grade_rule_of(member.row, assignments)
    now = {_field(number): f"{weight:.12g}" for number, weight in rule.weights.items()}
    texts = {"lowest": str(rule.lowest), **now} if sent is None else sent
    page = GradeRulePage(
        head=class_head(member, "Grades"),
        lowest=texts.get("lowest", ""),
        weights=tuple(
            WeightField(_field(one.id), one.title, texts.get(_field(one.id), ""), one.points) for one in assignments
        ),
        problem=problem,
    )
    around = frame(request, translate("Overall grade in {name}", name=member.row.name), here="classes")
    return render("people/grade_rule.html", around, page, 422 if problem else 200)
