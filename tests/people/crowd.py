"""A class with answers, for the pages and files of grades."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.classes.people.assignments import Assignment, AssignmentEntry, assignment_with, create_assignment
from app.classes.people.classes import Role, create_class, enroll, number_of
from app.classes.people.counted_answers import variant_seed
from app.classes.people.persons import new_person, open_browser
from app.classes.people.policy import Policy
from app.course.kinds.base import Answer
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import AttemptRow
from app.site import Site

RING = "collectives/bytes-sent-by-a-ring"
STAGE = "memory/fsdp-default"


@dataclass(frozen=True, slots=True)
class Crowd:
    """A class of one teacher, one assistant and some students, and the cookies of all by name."""

    site: Site
    class_id: int
    assignment: Assignment
    persons: dict[str, int]
    learners: dict[str, str]
    cookies: dict[str, str]

    @property
    def href(self) -> str:
        return f"/classes/{self.class_id}"

    def seed(self, name: str, exercise: str) -> int:
        return variant_seed(self.site.secret, self.assignment.id, exercise, self.learners[name])

    def mistake(self, name: str, exercise: str, number: int = 0) -> Answer:
        exercise_file = self.site.catalog.exercise(exercise)
        return list(exercise_file.mistakes(self.seed(name, exercise)))[number][0]

    def answers(
        self,
        name: str,
        exercise: str,
        at: datetime,
        *,
        right: bool,
        key: str | None = None,
        digest: str = "",
        answer: Answer | None = None,
        drawn: str = "",
        score: float | None = None,
    ) -> int:
        """The number of a stored answer."""
        known, seed = self.site.catalog.exercise(exercise), self.seed(name, exercise)
        given = known.right_answer(seed) if answer is None else answer
        shown = json.dumps(dict(known.draw(seed).shown), ensure_ascii=False)
        row = AttemptRow(
            learner=self.learners[name], exercise=exercise, seed=seed,
            answer=given if isinstance(given, str) else json.dumps(given), correct=right,
            score=float(right) if score is None else score, hints=0, revealed=False,
            digest=digest or known.digest, drawn=drawn or shown, seconds=60.0, mistake=key, at=at,
        )  # fmt: skip
        with open_writing_session(self.site.engine) as session:
            session.add(row)
            session.commit()
            return row.id or 0


def crowd_of(site: Site, *students: str, policy: Policy | None = None) -> Crowd:
    """A class whose *students* have an assignment of two exercises, for 1 and 4 points."""
    with open_session(site.engine) as session:
        made = create_class(session, site.secret, "Systems", "Europe/Berlin")
        class_id = number_of(made)
        persons, learners, cookies = {}, {}, {}
        roles = {"Ada Teacher": Role.TEACHER, "Tom Assistant": Role.ASSISTANT}
        roles |= dict.fromkeys(students, Role.STUDENT)
        for place, (name, role) in enumerate(roles.items()):
            person = new_person(session, name)
            number = person.id or 0
            enroll(session, class_id, number, role, name, f"id-{place}")
            persons[name], learners[name] = number, person.learner
            cookies[name] = open_browser(session, number)
        rules = policy or Policy(due=site.clock() + timedelta(days=1))
        entries = [AssignmentEntry(RING, 1.0), AssignmentEntry(STAGE, 4.0)]
        assignment = create_assignment(session, class_id, "Week 1", rules, entries)
        session.commit()
        return Crowd(site, class_id, assignment_with(session, assignment), persons, learners, cookies)
