"""Who may read what, as whom: random lives of two teachers, three students and an operator."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from sqlalchemy import Engine
from sqlmodel import Session, col, select

from app.classes.federation.identities import connect_identity, may_connect, person_of
from app.classes.federation.lti.enrollment import enroll_launch
from app.classes.federation.lti.launch_message import Launch
from app.classes.federation.lti.platforms import Platform, identities_of, register_platform
from app.classes.people.assignment_copies import copies_of, store_copies
from app.classes.people.assignments import AssignmentEntry, assignments_of, create_assignment
from app.classes.people.classes import (
    Role,
    create_class,
    enroll,
    join_as,
    join_as_new,
    may_join,
    member_of_seat_code,
    members_of,
    new_form_id,
    number_of,
    role_in,
    set_archived,
    take_out_of_archive,
    zone_named,
)
from app.classes.people.csv_rosters import RosterEntry
from app.classes.people.erasure import about_member, forget_member
from app.classes.people.members import delete_class, new_seat_codes, remove_members, rename_member, taught_by
from app.classes.people.merges import (
    answer_merge,
    merge_members,
    merge_persons,
    undo_merge,
    undo_or_ask,
    waiting_merges,
)
from app.classes.people.persons import Sessions, WayIn, is_own_browser, known_person, new_person, open_browser
from app.classes.people.policy import Policy
from app.classes.people.rosters import import_roster, roster_changes
from app.classes.people.work import own_seed
from app.core.errors import InputError, NotFoundError, RefusedError
from app.server.db.people import ClassRow, ContextRow, IdentityRow, MemberRow, MergeRow, PersonRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import AttemptRow
from app.site.members import SignedIn

SECRET = "a secret of sixteen letters"
EXERCISE = "collectives/ring-all-reduce-time"
TEACHERS, STUDENTS = ("T1", "T2"), ("S1", "S2", "S3")
IDP = "https://idp.example"


@dataclass
class Human:
    """What somebody holds: cookies and codes, whoever they are of. Some have an account at a provider."""

    name: str
    cookies: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)


class World:
    """The app with its database, and beside it who legitimately is whom."""

    def __init__(self, engine: Engine, sessions: Sessions, platform: int, seed: int) -> None:
        self.engine, self.sessions, self.platform = engine, sessions, platform
        self.draw, self.tag = random.Random(seed), f"w{seed}"
        self.humans = {name: Human(name) for name in (*TEACHERS, *STUDENTS)}
        self.owners: dict[int, set[str]] = {}  # by person: who that is, and nobody else
        self.merged: dict[int, tuple[set[str], set[str]]] = {}  # by merge: who they were before
        self.classes: dict[int, str] = {}  # with the teacher of each
        self.said: list[str] = []

    # What one may do

    def make_class(self, name: str) -> None:
        with open_writing_session(self.engine) as session:
            row = create_class(session, SECRET, f"{self.tag} of {name}")
            class_id, here = number_of(row), self.signed_in(name)
            person = here.person if here else number_of(new_person(session, name))
            enroll(session, class_id, person, Role.TEACHER, way=WayIn(browser=here.browser if here else ""))
            if here is None:
                self.humans[name].cookies.append(open_browser(session, person))
                self.owners[person] = {name}
            create_assignment(session, class_id, "Week 1", Policy(), [AssignmentEntry(EXERCISE, 1.0)])
            session.add(
                ContextRow(platform=self.platform, deployment="1", context=f"c{class_id}", class_id=class_id, title="")
            )
            session.commit()
        self.classes[class_id] = name

    def copy(self, name: str) -> None:
        source = self.own_class(name)
        self.make_class(name)
        with open_writing_session(self.engine) as session:
            found = copies_of(assignments_of(session, source), 1, zone_named("UTC"), {EXERCISE})
            store_copies(session, max(self.classes), found)
            session.commit()

    def sign_in_with_account(self, name: str) -> None:
        with open_session(self.engine) as session:
            person = number_of(person_of(session, IDP, self.account(name)))
            self.humans[name].cookies.append(open_browser(session, person, IDP, self.account(name)))
            session.commit()
        self.owners.setdefault(person, set()).update({name} if not self.owners.get(person) else ())

    def use_code(self, name: str) -> None:
        with open_session(self.engine) as session:
            if row := member_of_seat_code(session, self.draw.choice(self.humans[name].codes)):
                self.humans[name].cookies.append(open_browser(session, row.person))
                session.commit()

    def connect_account(self, name: str) -> None:
        here = self.signed_in(name)
        with open_session(self.engine) as session:
            if here and may_connect(session, IDP, self.account(name), here.person):
                own = is_own_browser(session, here.browser)
                connect_identity(session, IDP, self.account(name), here.person, own=own)

    def join(self, name: str) -> None:
        class_id, here = self.draw.choice(list(self.classes)), self.signed_in(name)
        with open_writing_session(self.engine) as session:
            row = session.get_one(ClassRow, class_id)
            if not may_join(row) or (here and role_in(session, class_id, here.person)):
                return
            before = {number for (number,) in session.connection().execute(select(PersonRow.id))} if not here else set()
            if here:
                joined = join_as(session, row, here)
            else:
                joined = join_as_new(session, SECRET, row, name, new_form_id())
                self.humans[name].cookies.append(joined.cookie)
                (person,) = {n for (n,) in session.connection().execute(select(PersonRow.id))} - before
                self.owners[person] = {name}
            self.humans[name].codes += [joined.code] if joined.code else []
        if here:
            self.owners.setdefault(here.person, set()).add(name)  # whoever joins as somebody has joined
            assert self.sessions.find(self.cookie_of(name, here)), "who joins stays signed in"

    def launch(self, name: str) -> None:
        class_id, here = self.draw.choice(list(self.classes)), self.signed_in(name)
        if name in TEACHERS and self.classes[class_id] != name:
            return  # the platform lets nobody into a course of others
        launch = Launch(
            platform=self.platform,
            deployment="1",
            subject=self.account(name),
            role="student",
            name=name,
            outside_id=self.outside(name),
            context=f"c{class_id}",
            title="",
        )
        with open_writing_session(self.engine) as session:
            try:
                person = enroll_launch(session, launch, here.browser if here else "").person
            except RefusedError:
                return
            whose = person, identities_of(self.platform), launch.subject
            self.humans[name].cookies.append(open_browser(session, *whose))
            session.commit()
        self.see_merges()
        self.owners.setdefault(person, set()).add(name)

    def import_roster(self, name: str) -> None:
        class_id = self.own_class(name)
        listed = [RosterEntry(line=1, name=one, outside_id=self.outside(one), role=None) for one in STUDENTS]
        with open_writing_session(self.engine) as session:
            import_roster(session, class_id, roster_changes(session, class_id, listed))
            session.commit()
            for one in members_of(session, class_id):
                self.owners.setdefault(one.person, set())

    def type_an_id(self, name: str) -> None:
        class_id, person = self.own_member(name)
        whose = self.draw.choice((*STUDENTS, name))
        with open_writing_session(self.engine) as session:
            rename_member(session, class_id, person, "Renamed", self.outside(whose))
            session.commit()

    def make_code(self, name: str) -> None:
        """A teacher makes a code, uses it, and gives it to the student if that is somebody."""
        class_id, person = self.own_member(name)
        with open_writing_session(self.engine) as session:
            member = [one for one in members_of(session, class_id) if one.person == person]
            teacher = next(one.person for one in members_of(session, class_id) if one.role is Role.TEACHER)
            codes = [seat.code for seat in new_seat_codes(session, class_id, member, teacher)]
            session.commit()
        for holder in {name} | (self.owners.get(person) or set()):
            self.humans[holder].codes += codes
        if codes and self.draw.random() < 0.7:  # and looks at the class as the student
            with open_session(self.engine) as session:
                self.humans[name].cookies.append(open_browser(session, person))
                session.commit()

    def give_code(self, name: str) -> None:
        """A teacher gives the code of a row of the roster that is nobody yet to a student."""
        class_id, person = self.own_member(name)
        if not self.owners.get(person):
            self.owners[person] = {self.draw.choice(STUDENTS)}
        self.make_code(name)

    def merge(self, name: str) -> None:
        class_id = self.own_class(name)
        with open_writing_session(self.engine) as session:
            students = [one.person for one in members_of(session, class_id) if one.role is Role.STUDENT]
            kept, gone = self.draw.sample(students, 2) if len(students) > 1 else (0, 0)
            own = taught_by(session, self.teacher_of(session, class_id))
            free = not self.masters(session, (kept, gone), own)
            number = merge_members(session, class_id, kept, gone, own=own, by=name)
            assert bool(session.get_one(MergeRow, number).moved) == free
            session.commit()
        self.see_merges()

    def undo(self, name: str) -> None:
        class_id = self.own_class(name)
        with open_writing_session(self.engine) as session:
            numbers = session.exec(select(MergeRow.id).where(col(MergeRow.undone).is_(None))).all()
            own = taught_by(session, self.teacher_of(session, class_id))
            undo_or_ask(session, class_id, self.draw.choice(numbers) or 0, own)
            session.commit()
        self.see_merges()

    def answer_question(self, name: str) -> None:
        """Whoever is signed in as somebody may answer; only the right ones are heard."""
        here = self.signed_in(name)
        with open_writing_session(self.engine) as session:
            for row in waiting_merges(session, here.person) if here else ():
                answer_merge(session, row.id or 0, here, agrees=self.draw.random() < 0.8)  # type: ignore[arg-type]
            session.commit()
        self.see_merges()

    def leave(self, name: str) -> None:
        here = self.signed_in(name)
        with open_writing_session(self.engine) as session:
            if here and name in self.owners.get(here.person, ()):
                remove_members(session, self.draw.choice(list(self.classes)), [here.person])
                session.commit()

    def forget(self, name: str) -> None:
        class_id, person = self.own_member(name)
        with open_writing_session(self.engine) as session:
            forget_member(session, SECRET, session.get_one(MemberRow, (class_id, person)))
            session.commit()

    def archive(self, name: str) -> None:
        with open_writing_session(self.engine) as session:
            row = session.get_one(ClassRow, self.own_class(name))
            (take_out_of_archive if row.archived else set_archived)(session, row)
            row.joining = "closed" if row.archived else "open"
            session.commit()

    def delete(self, name: str) -> None:
        class_id = self.own_class(name)
        with open_writing_session(self.engine) as session:
            delete_class(session, session.get_one(ClassRow, class_id))
            session.commit()
        del self.classes[class_id]

    def operate(self, name: str) -> None:
        """The operator merges two persons who are one human, or undoes what was merged."""
        mine = [person for person, those in self.owners.items() if name in those]
        with open_writing_session(self.engine) as session:
            rows = session.exec(select(MergeRow.id).where(col(MergeRow.undone).is_(None), MergeRow.moved != "")).all()
            if self.draw.random() < 0.3 and (own := [one for one in rows if one in self.merged]):
                undo_merge(session, self.draw.choice(own) or 0)
            elif len(mine) > 1:
                kept, gone = self.draw.sample(mine, 2)
                merge_persons(session, kept, gone, "an operator")
            session.commit()
        self.see_merges()

    def work(self, name: str) -> None:
        """A student answers what a class assigned, and for practice."""
        here, class_id = self.signed_in(name), self.draw.choice(list(self.classes))
        if here is None:
            return
        with open_writing_session(self.engine) as session:
            rows = {"practice": 7}
            if role_in(session, class_id, here.person) is Role.STUDENT:
                for one in assignments_of(session, class_id):
                    rows[f"for {class_id}"] = own_seed(SECRET, one, EXERCISE, here.learner) or 0
            for said, seed in rows.items():
                row = AttemptRow(learner=here.learner, exercise=EXERCISE, seed=seed, answer=said, correct=True,
                                 score=1.0, digest="", drawn="{}")  # fmt: skip
                session.add(row)
            session.commit()

    # Who holds what

    def account(self, name: str) -> str:
        return f"{self.tag} {name}"

    def outside(self, name: str) -> str:
        return f"id of {self.tag} {name}"

    def signed_in(self, name: str) -> SignedIn | None:
        """Somebody whom *name* is signed in as now, in one of the browsers."""
        found = [one for cookie in self.humans[name].cookies if (one := self.sessions.find(cookie))]
        return self.draw.choice(found) if found else None

    def cookie_of(self, name: str, here: SignedIn) -> str:
        return next(one for one in self.humans[name].cookies if self.sessions.find(one) == here)

    def own_class(self, name: str) -> int:
        return self.draw.choice([number for number, teacher in self.classes.items() if teacher == name])

    def own_member(self, name: str) -> tuple[int, int]:
        class_id = self.own_class(name)
        with open_session(self.engine) as session:
            students = [one.person for one in members_of(session, class_id) if one.role is Role.STUDENT]
        return class_id, self.draw.choice(students)

    def teacher_of(self, session: Session, class_id: int) -> int:
        return next(one.person for one in members_of(session, class_id) if one.role is Role.TEACHER)

    def masters(self, session: Session, persons: tuple[int, int], own: object) -> bool:
        """Whether one of *persons* has an account, or is in a class of others."""
        accounts = session.exec(select(IdentityRow).where(col(IdentityRow.person).in_(persons))).all()
        places = select(MemberRow).where(col(MemberRow.person).in_(persons), col(MemberRow.left).is_(None))
        elsewhere = [row for row in session.exec(places) if row.class_id not in own]  # type: ignore[operator]
        return bool(accounts or elsewhere)

    def see_merges(self) -> None:
        """Those who became one are both; those who are two again are who they were."""
        with open_session(self.engine) as session:
            mine = col(MergeRow.kept).in_(self.owners.keys()) | col(MergeRow.gone).in_(self.owners.keys())
            for row in session.exec(select(MergeRow).where(MergeRow.moved != "", mine).order_by(col(MergeRow.id))):
                number = row.id or 0
                kept, gone = self.owners.get(row.kept, set()), self.owners.get(row.gone, set())
                if row.undone is None and number not in self.merged:
                    self.merged[number] = set(kept), set(gone)
                    self.owners[row.kept], self.owners[row.gone] = kept | gone, set()
                elif row.undone is not None and number in self.merged:
                    before = self.merged.pop(number)
                    self.owners[row.kept] = before[0] | (kept - before[1])
                    self.owners[row.gone] = before[1] | gone

    def known_as(self, name: str) -> Iterator[int]:
        """Everybody whom *name* can be here, with all that they hold."""
        human = self.humans[name]
        for cookie in human.cookies:
            if here := self.sessions.find(cookie):
                yield here.person
        with open_session(self.engine) as session:
            for code in human.codes:
                if row := member_of_seat_code(session, code):
                    yield row.person
            for issuer in (IDP, identities_of(self.platform)):
                try:
                    if found := known_person(session, issuer, self.account(name)):
                        yield number_of(found)
                except RefusedError:
                    pass

    # The rules

    def check(self) -> None:
        """Who reads a class teaches it, or is one of its members, and nobody else is that member.

        A class has of its members what they did for it, and never how they sign in.
        """
        with open_session(self.engine) as session:
            for name in self.humans:
                for person in set(self.known_as(name)):
                    for class_id, teacher in self.classes.items():
                        if role_in(session, class_id, person):
                            legitimate = name == teacher or name in self.owners.get(person, ())
                            assert legitimate, f"{name} reads class {class_id} of {teacher} as person {person}"
            for class_id in self.classes if len(self.said) % 8 == 0 else ():
                for one in members_of(session, class_id):
                    about = about_member(session, SECRET, session.get_one(MemberRow, (class_id, one.person)))
                    answers = {row["answer"] for row in about["attempts"]}  # type: ignore[attr-defined]
                    assert answers <= {f"for {class_id}"}, f"class {class_id} has {answers}"
                    assert not {"identities", "browsers", "person"} & about.keys()

    def play(self, steps: int) -> None:
        teaching: list[Callable[[str], None]] = [
            self.make_class, self.copy, self.import_roster, self.type_an_id, self.make_code, self.give_code,
            self.merge, self.merge, self.undo, self.forget, self.archive, self.delete, self.use_code, self.use_code,
            self.connect_account, self.sign_in_with_account, self.answer_question, self.launch,
        ]  # fmt: skip
        learning: list[Callable[[str], None]] = [
            self.join, self.join, self.join, self.leave, self.use_code, self.connect_account, self.work, self.launch,
            self.sign_in_with_account, self.answer_question, self.operate,
        ]  # fmt: skip
        for name in TEACHERS:
            self.make_class(name)
        for _ in range(steps):
            name = self.draw.choice((*TEACHERS, *STUDENTS))
            act = self.draw.choice(teaching if name in TEACHERS else learning)
            self.said.append(f"{name} {act.__name__}")
            try:
                act(name)
            except (InputError, NotFoundError, RefusedError, IndexError) as error:
                self.said[-1] += f": {type(error).__name__}"
            self.check()


@pytest.fixture(scope="module")
def platform(people_engine: Engine) -> int:
    with open_session(people_engine) as session:
        made = register_platform(
            session,
            Platform(
                name="authority",
                issuer="https://authority.example",
                client_id="c",
                auth_url="https://a.example",
                token_url="https://a.example/t",
                jwks_url="https://a.example/k",
            ),
        )
        session.commit()
        return made.id


@pytest.fixture(scope="module")
def sessions(people_engine: Engine) -> Sessions:
    return Sessions(people_engine)


@pytest.mark.parametrize("seeds", [range(50), pytest.param(range(50, 1050), marks=pytest.mark.sweep)], ids=str)
def test_nobody_reads_a_class_who_is_not_in_it_whatever_happened_before(
    people_engine: Engine, sessions: Sessions, platform: int, seeds: range
) -> None:
    for seed in seeds:
        world = World(people_engine, sessions, platform, seed)
        try:
            world.play(32)
        except AssertionError as error:
            lines = "\n".join(f"  {line}" for line in world.said)
            raise AssertionError(f"{error}\nWorld(engine, sessions, platform, {seed}).play(32):\n{lines}") from error
