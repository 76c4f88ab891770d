"""The persons of a site, and what assignments say to them about the page of an exercise."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from fastapi import Request, Response
from sqlalchemy import Engine

from app.classes.federation.identities import Federation
from app.classes.people.assignment_copies import in_words, on_the_calendar
from app.classes.people.assignments import Assignment
from app.classes.people.persons import LIFETIME, Sessions, key_seat_codes
from app.classes.people.policy import worth
from app.classes.people.rosters import learner_called
from app.classes.people.work import StudentDrawing, StudentHistory, StudentWork, own_seed, student_histories, veils
from app.core.translation import translate
from app.course.content.catalog import Catalog
from app.server.config import Settings
from app.server.db.history import Drawing, ExerciseHistory, LearnerDrawing
from app.server.db.session import BatchedLookup, open_session, outage_of
from app.site import Site
from app.site.members import Members, SignedIn
from app.site.web.exercise.page_context import FREE, AssignmentBanner, AssignmentRules, Assignments
from app.site.web.frame.renderer import Hyperlink
from app.site.web.frame.visitor import SESSION
from app.site.web.urls import exercise_url


def rules_with_banners(
    course: Catalog, secret: str, person: SignedIn, works: Sequence[StudentWork], seed: int
) -> AssignmentRules:
    """What the *works* of *person* at an exercise say about its drawing with *seed*."""
    rules = rules_of(works, seed)
    if rules.redirect_to:
        return rules
    mine = [work for work in works if work.seed in (None, seed)]
    opens = [work for work in mine if _is_open(work)]
    others = [work for work in works if work not in mine and work.phase in ("open", "late")]
    banners = (
        *(_own_variant_banner(course, secret, person, work) for work in opens),
        *(_other_variant_banner(secret, person, work) for work in others),
    )
    return replace(rules, banners=banners)


def rules_of(works: Sequence[StudentWork], seed: int) -> AssignmentRules:
    """What is refused on the drawing with *seed*, without the banners above it."""
    if not works:
        return FREE
    exams = [work for work in works if work.is_exam]
    mine = [work for work in works if work.seed in (None, seed)]
    opens = [work for work in mine if _is_open(work)]
    sealed = [work for work in mine if not _is_open(work) and work.seed is not None]
    if sealed:
        return AssignmentRules(redirect_to=f"/assignments/{sealed[0].assignment.id}")
    return AssignmentRules(
        # In an exam, other drawings of its exercises would tell how to solve one's own.
        hints=_first_reason(map(_no_hints, [*exams, *opens])),
        solution=_first_reason(map(_no_solution, [*exams, *opens])),
        verdict=_first_reason(map(_no_verdict, opens)),
        exam=bool(exams),
    )


def work_url(secret: str, person: SignedIn, assignment: Assignment, exercise: str) -> str:
    """The page of *exercise* on which the answers of *person* count for *assignment*."""
    seed = own_seed(secret, assignment, exercise, person.learner)
    return exercise_url(exercise) + "/another" if seed is None else exercise_url(exercise, seed)


def _is_open(work: StudentWork) -> bool:
    return work.phase not in ("before", "unstarted")


def _first_reason(reasons: Iterator[str]) -> str:
    return next(filter(None, reasons), "")


def _no_hints(work: StudentWork) -> str:
    title = work.assignment.title
    if work.is_exam:
        return translate("{title} is an exam. Hints are turned off until it ends.", title=title)
    off = work.assignment.policy.hints == "off" and work.phase != "closed"
    return translate("Hints are turned off in {title}.", title=title) if off else ""


def _no_solution(work: StudentWork) -> str:
    title, policy = work.assignment.title, work.assignment.policy
    if policy.solution == "off":
        return translate("The worked solution is not shown in {title}.", title=title)
    if (work.is_exam or policy.solution == "due") and not work.is_released:
        return translate("The worked solution is shown after {moment}.", moment=_release(work))
    return ""


def _no_verdict(work: StudentWork) -> str:
    if work.assignment.policy.show_points or work.is_released:
        return ""
    return translate("The verdict and the points are shown after {moment}.", moment=_release(work))


def _release(work: StudentWork) -> str:
    zone = work.assignment.policy.zone
    return on_the_calendar(work.released, zone, work.now) if work.released else translate("it ends")


def _own_variant_banner(course: Catalog, secret: str, person: SignedIn, work: StudentWork) -> AssignmentBanner:
    one = work.assignment
    entries = [entry for entry in one.entries if entry.exercise in course.by_id]
    place = entries.index(work.entry) + 1 if work.entry in entries else 0
    after = entries[place] if place < len(entries) else None
    title = course.by_id[after.exercise].title if after else ""
    href = work_url(secret, person, one, after.exercise) if after else ""
    return AssignmentBanner(
        title=one.title,
        href=f"/assignments/{one.id}",
        place=translate("{place} of {count}", place=place, count=len(entries)),
        says=tuple(_due_sentence(work)),
        warns=_warns(work),
        ends=work.dates.closes if work.is_exam else None,
        following=Hyperlink(href, title) if after else None,
    )


def _other_variant_banner(secret: str, person: SignedIn, work: StudentWork) -> AssignmentBanner:
    """The banner above another drawing than the one that counts."""
    own = work_url(secret, person, work.assignment, work.entry.exercise)
    return AssignmentBanner(
        title=work.assignment.title,
        href=f"/assignments/{work.assignment.id}",
        place="",
        says=(),
        warns=translate("Answers to this variant do not count there."),
        ends=None,
        following=Hyperlink(own, translate("Your variant")),
    )


def _due_sentence(work: StudentWork) -> Iterator[str]:
    """When the exercise is due, and what may still be earned."""
    if work.dates.due:
        due = in_words(work.dates.due, work.assignment.policy.zone, work.now)
        if work.is_exam:
            yield translate("ends {moment}", moment=due)
        elif work.extended:
            yield translate("extended for you: due {moment}", moment=due)
        else:
            yield translate("due {moment}", moment=due)
    elif work.phase == "open":
        yield translate("no due date")
    if work.phase != "closed":
        yield _points(work)
        if work.tries_left:
            yield tries_left(work.tries_left, work.assignment.policy.attempts)


def tries_left(left: int, most: int) -> str:
    """How many tries are left, in words."""
    if most == 1:
        return translate("one try") if left else translate("no try left")
    return translate("{left} of {most} tries left", left=left, most=most)


def _points(work: StudentWork) -> str:
    """The points that the exercise may still earn."""
    share = worth(work.assignment.policy, work.dates, work.now)
    most = work.entry.points
    points = translate("1 point") if most == 1 else translate("{points:g} points", points=most)
    if work.phase != "late":
        return points
    if not share:
        return translate("too late for points")
    return translate("late: now up to {most:g} of {points}", most=most * share, points=points)


def _warns(work: StudentWork) -> str:
    """What no longer counts, or what would cost points."""
    policy = work.assignment.policy
    if work.phase == "closed":
        return translate("This assignment is closed for you: answers are practice.")
    if work.tries_left == 0:
        return translate("No tries are left: further answers are practice, and change nothing.")
    costs = []
    if policy.hints == "cost" and not work.is_exam:
        costs.append(translate("Each hint costs {percent:g} % of the points.", percent=100 * policy.hint_cost))
    if not _no_solution(work):
        costs.append(translate("After the worked solution, answers to this variant earn no points."))
    return " ".join(costs)


class ClassMembers(Members, Assignments):
    """The persons of a site with classes."""

    exist = True

    def __init__(self, settings: Settings, engine: Engine, secret: str) -> None:
        """Raises InputError if WALLCLOCK_OIDC cannot be read."""
        self.federation = Federation(settings, engine)
        self.sessions = Sessions(engine)
        self._engine, self._secret = engine, secret
        self._histories = BatchedLookup(partial(student_histories, engine, secret), outage_of(engine))
        key_seat_codes(engine)

    async def sought(self, cookie: str) -> SignedIn | None:
        """Who is signed in with the *cookie* of a session."""
        return await self.sessions.sought(cookie)

    def find(self, cookie: str) -> SignedIn | None:
        """Who is signed in with the *cookie* of a session."""
        return self.sessions.find(cookie)

    def veil(self, learner: str, moment: datetime) -> frozenset[Drawing]:
        """The drawings whose verdicts are hidden from *learner*; for an anonymous one, no query."""
        person = self.sessions.person_of(learner)
        if person is None:
            return frozenset()
        with open_session(self._engine) as session:
            return veils(session, self._secret, [person], moment)[person.person]

    async def history(self, at: LearnerDrawing, person: SignedIn, moment: datetime) -> ExerciseHistory:
        """What *person* has done at a drawing, with what assignments say of it."""
        return await self._histories.of(StudentDrawing(at, person, moment))

    def rules_of(self, history: ExerciseHistory, seed: int) -> AssignmentRules:
        """What assignments refuse on the drawing with *seed*."""
        return rules_of(history.works, seed) if isinstance(history, StudentHistory) else FREE

    def rules_with_banners(
        self, course: Catalog, person: SignedIn, history: ExerciseHistory, seed: int
    ) -> AssignmentRules:
        """What assignments say to *person* about the drawing with *seed*."""
        if not isinstance(history, StudentHistory) or not history.works:
            return FREE
        return rules_with_banners(course, self._secret, person, history.works, seed)

    def learner_called(self, label: str, class_id: int | None) -> str:
        """The learner of the member of a class, or of any class, whom other systems call *label*."""
        with open_session(self._engine) as session:
            return learner_called(session, label, class_id)


def site_members(site: Site) -> ClassMembers:
    """The persons of *site*, which has classes."""
    if not isinstance(site.members, ClassMembers):
        raise TypeError("this site has no classes")
    return site.members


def sign_in(request: Request, response: Response, cookie: str) -> None:
    """Set the cookie of a session."""
    response.set_cookie(
        SESSION,
        cookie,
        max_age=round(LIFETIME.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
