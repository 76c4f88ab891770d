"""Ten students over three terms: each is one person, through whatever doors they come, in any order."""

import random
from collections import Counter
from itertools import permutations

import pytest
from sqlmodel import Session, col, select

from app.classes.federation.lti.enrollment import Participant, apply_difference, doubt_of, enroll_launch, unite
from app.classes.federation.lti.launch_message import Launch
from app.classes.federation.lti.platforms import Platform, identities_of, register_platform
from app.classes.members import site_members
from app.classes.people.assignment_copies import copies_of, store_copies
from app.classes.people.assignments import AssignmentEntry, assignments_of, create_assignment
from app.classes.people.classes import (
    Member,
    Role,
    class_with,
    create_class,
    enroll,
    join_as,
    join_as_new,
    may_join,
    members_of,
    new_form_id,
    number_of,
    role_in,
    zone_named,
)
from app.classes.people.csv_rosters import RosterEntry
from app.classes.people.gradebook import Override, cells_of, override, total
from app.classes.people.members import holder_of_id, new_seat_codes, taught_by
from app.classes.people.merges import answer_merge, merge_members, waiting_merges
from app.classes.people.persons import new_person, open_browser, show_identity
from app.classes.people.policy import Policy
from app.classes.people.rosters import import_roster, namesakes, roster_changes
from app.classes.people.work import own_seed
from app.server.db.people import ContextRow, MemberRow, OverrideRow, PersonRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import AttemptRow
from app.site import Site
from app.site.members import SignedIn

DOORS = ("roster", "launch", "compare", "join", "code", "copy", "grades")
RING = "collectives/ring-all-reduce-time"
TERMS = (1, 2, 3)


class School:
    """A teacher with a class a term that is a course of a platform, and what students do in them."""

    def __init__(self, site: Site, platform: Platform) -> None:
        self.site, self.platform, self.term, self.class_id = site, platform, 0, 0
        self.tag = f"{platform.name}-{random.getrandbits(40):x}"
        self.browsers: dict[int, str] = {}
        self.given: Counter[tuple[int, int]] = Counter()  # answers, by student and class
        self.graded: set[tuple[int, int]] = set()
        self.classes: list[int] = []
        with open_writing_session(site.engine) as session:
            self.teacher = number_of(new_person(session, "Teacher"))
            session.commit()

    def name(self, student: int) -> str:
        return "Married Name" if student == 8 and self.term > 1 else f"Student {student}"

    def id(self, student: int) -> str:
        return "" if student == 9 and self.term == 1 else f"{student:05}"

    def subject(self, student: int) -> str:
        return f"{self.tag}-u{student}"

    def begin(self) -> None:
        self.term += 1
        with open_writing_session(self.site.engine) as session:
            self.class_id = number_of(create_class(session, self.site.secret, f"Term {self.term}"))
            enroll(session, self.class_id, self.teacher, Role.TEACHER)
            create_assignment(session, self.class_id, "Own", Policy(), [AssignmentEntry(RING, 2.0)])
            context = f"{self.tag}-{self.class_id}"
            session.add(
                ContextRow(platform=self.platform.id, deployment="1", context=context, class_id=self.class_id, title="")
            )
            session.commit()
        self.classes.append(self.class_id)

    def signed_in(self, student: int) -> SignedIn | None:
        return site_members(self.site).sessions.find(self.browsers.get(student, ""))

    # Doors

    def roster(self) -> None:
        listed = [RosterEntry(line=n, name=self.name(n), outside_id=self.id(n), role=None) for n in range(1, 11)]
        with open_writing_session(self.site.engine) as session:
            import_roster(session, self.class_id, roster_changes(session, self.class_id, listed))
            session.commit()

    def launch(self) -> None:
        for student in range(1, 11):
            self.open_link(student)

    def open_link(self, student: int, class_id: int = 0) -> None:
        here, class_id = self.signed_in(student), class_id or self.class_id
        launch = Launch(
            platform=self.platform.id, deployment="1", subject=self.subject(student), role="student", title="",
            name=self.name(student), outside_id=self.id(student), context=f"{self.tag}-{class_id}",
        )  # fmt: skip
        with open_writing_session(self.site.engine) as session:
            if here and doubt_of(session, launch, class_id, here):
                unite(session, launch, class_id, here)
            person = enroll_launch(session, launch, here.browser if here else "").person
            whose = person, identities_of(self.platform.id), launch.subject
            if not (here and show_identity(session, here.browser, *whose)):
                self.browsers[student] = open_browser(session, *whose)
            session.commit()
        self.agree(student)

    def agree(self, student: int) -> None:
        """What the teacher says of a student, who knows better: it is right."""
        here = self.signed_in(student)
        with open_writing_session(self.site.engine) as session:
            for row in waiting_merges(session, here.person) if here else ():
                answer_merge(session, row.id or 0, here, agrees=True)  # type: ignore[arg-type]
            session.commit()

    def compare(self) -> None:
        people = [
            Participant(
                subject=self.subject(n), role=Role.STUDENT, name=self.name(n), outside_id=self.id(n), active=True
            )
            for n in range(1, 11)
        ]
        with open_writing_session(self.site.engine) as session:
            apply_difference(session, self.platform, self.class_id, people)
            session.commit()

    def join(self) -> None:
        for student in range(1, 11):
            here = self.signed_in(student)
            with open_writing_session(self.site.engine) as session:
                row = class_with(session, self.class_id)
                if not may_join(row) or (here and role_in(session, self.class_id, here.person)):
                    continue
                if here:
                    join_as(session, row, here)
                else:
                    made = join_as_new(session, self.site.secret, row, self.name(student), new_form_id())
                    self.browsers[student] = made.cookie

    def code(self) -> None:
        """Codes for all who may have one; each student types the own one."""
        with open_writing_session(self.site.engine) as session:
            found = [one for one in members_of(session, self.class_id) if one.role is Role.STUDENT]
            seats = new_seat_codes(session, self.class_id, found, self.teacher)
            for seat in seats:
                if student := self.student(seat.member):
                    self.browsers[student] = open_browser(session, seat.member.person)
            session.commit()

    def copy(self) -> None:
        source = self.classes[-2] if len(self.classes) > 1 else self.class_id
        with open_writing_session(self.site.engine) as session:
            own = [one for one in assignments_of(session, source) if one.title == "Own"]
            store_copies(session, self.class_id, copies_of(own, 1, zone_named("UTC"), {RING}))
            session.commit()

    def grades(self) -> None:
        """A file with a line for each id that the class knows."""
        with open_writing_session(self.site.engine) as session:
            assignment = assignments_of(session, self.class_id)[0]
            for student in range(1, 11):
                if row := holder_of_id(session, self.class_id, self.id(student)):
                    override(session, assignment, [Override(row.person, RING, 1.5)], "Teacher", "file")
                    self.graded.add((student, self.class_id))
            session.commit()

    # After each

    def work(self) -> None:
        """Everybody who is in the class answers once, in their browser."""
        for student in range(1, 11):
            here = self.signed_in(student)
            with open_writing_session(self.site.engine) as session:
                if here and role_in(session, self.class_id, here.person):
                    assignment = assignments_of(session, self.class_id)[0]
                    seed = own_seed(self.site.secret, assignment, RING, here.learner) or 0
                    self.given[student, self.class_id] += 1
                    text = f"{student} in {self.class_id}"
                    session.add(
                        AttemptRow(learner=here.learner, exercise=RING, seed=seed, answer=text, correct=True,
                                   score=1.0, digest="", drawn="{}")
                    )  # fmt: skip
                    session.commit()

    def tidy(self) -> None:
        """The teacher makes one of those whom the page shows as one person, perhaps; they agree."""
        for _ in range(2):
            with open_writing_session(self.site.engine) as session:
                own = taught_by(session, self.teacher)
                for kept, other in namesakes(members_of(session, self.class_id)):
                    merge_members(session, self.class_id, kept.person, other.person, own=own, by="Teacher")
                session.commit()
            self.launch()

    def student(self, member: Member) -> int:
        if member.outside_id:
            return int(member.outside_id)
        return next((n for n in range(1, 11) if member.name == self.name(n)), 0)

    def check(self, doors: object) -> None:
        whose: dict[int, set[int]] = {n: set() for n in range(1, 11)}
        with open_writing_session(self.site.engine) as session:
            for class_id in self.classes:
                found = [one for one in members_of(session, class_id) if one.role is Role.STUDENT]
                said = sorted((one.outside_id, one.name, one.person) for one in found)
                assert len(found) == 10, (doors, class_id, said)
                for one in found:
                    whose[self.student(one)].add(one.person)
            assert all(len(those) == 1 for those in whose.values()), (doors, whose)
            for student, (person,) in whose.items():
                self.check_student(session, student, person)

    def check_student(self, session: Session, student: int, person: int) -> None:
        learner = session.get_one(PersonRow, person).learner
        answers = session.exec(select(AttemptRow.answer).where(AttemptRow.learner == learner)).all()
        expected = {f"{n} in {number}": count for (n, number), count in self.given.items() if n == student}
        assert Counter(answers) == expected
        for class_id in self.classes:
            first = assignments_of(session, class_id)[0]
            members = [one for one in members_of(session, class_id) if one.person == person]
            points = total(cells_of(session, self.site.secret, first, members), person, first)
            by_hand = (student, class_id) in self.graded
            assert points == (1.5 if by_hand else 2.0 if self.given[student, class_id] else 0.0)
        assert len(session.exec(select(OverrideRow.id).where(col(OverrideRow.person) == person)).all()) >= sum(
            (student, class_id) in self.graded for class_id in self.classes
        )


@pytest.fixture(scope="module")
def platform(site: Site) -> Platform:
    with open_session(site.engine) as session:
        made = register_platform(
            session,
            Platform(
                name="terms",
                issuer="https://terms.example",
                client_id="c",
                auth_url="https://a.example",
                token_url="https://a.example/t",
                jwks_url="https://a.example/k",
            ),
        )
        session.commit()
        return made


def three_terms(site: Site, platform: Platform, orders: tuple[tuple[str, ...], ...]) -> None:
    """One order of doors a term; the one who repeats the first course opens its link in each."""
    school = School(site, platform)
    for doors in orders:
        school.begin()
        for door in doors:
            getattr(school, door)()
            school.work()
        school.tidy()
        school.open_link(10, school.classes[0])
        school.work()
    school.check(orders)


PAIRS = [tuple(pair) for pair in permutations(DOORS, 2)]


@pytest.mark.parametrize("first", DOORS)
def test_two_doors_in_each_order_make_one_person_of_each_student(site: Site, platform: Platform, first: str) -> None:
    for pair in PAIRS:
        if pair[0] == first:
            three_terms(site, platform, (pair, pair[::-1], pair))


def orders(seed: int) -> tuple[tuple[str, ...], ...]:
    draw = random.Random(seed)
    return tuple(tuple(draw.sample(DOORS, len(DOORS))) for _ in TERMS)


@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(6, 300), marks=pytest.mark.sweep)], ids=str)
def test_all_doors_in_any_order_make_one_person_of_each_student(site: Site, platform: Platform, seeds: range) -> None:
    for seed in seeds:
        three_terms(site, platform, orders(seed))


def test_a_member_of_this_class_stays_who_they_are(site: Site, platform: Platform) -> None:
    school = School(site, platform)
    school.begin()
    school.roster()
    with open_session(site.engine) as session:
        before = set(session.exec(select(MemberRow.person).where(MemberRow.class_id == school.class_id)))
        assert class_with(session, school.class_id).joining == "roster", "nobody comes in twice by the link"
    school.roster()
    with open_session(site.engine) as session:
        assert set(session.exec(select(MemberRow.person).where(MemberRow.class_id == school.class_id))) == before
