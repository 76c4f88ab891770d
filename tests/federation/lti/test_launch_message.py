"""The message of a launch, with everything that platforms leave out or get wrong."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlmodel import Session, select

from app.classes.federation.lti.enrollment import enroll_launch, new_class, tie
from app.classes.federation.lti.launch_message import Launch, read_launch, seal_ticket, unseal_launch, use_once
from app.classes.federation.lti.platforms import (
    Platform,
    allow_deployment,
    begin_launch,
    check_deployment,
    is_same_browser,
    new_registration,
    platform_for,
    platforms,
    read_login_state,
    register_platform,
    registration_with,
    use_registration,
)
from app.classes.federation.lti.scores import SHOWN_FOR, SIGNS_FOR, key_set, rotate, signing_key
from app.classes.people.assignments import AssignmentEntry, create_assignment
from app.classes.people.classes import class_with, members_of
from app.classes.people.policy import Policy
from app.core.errors import RefusedError
from app.server.db.migrations import migrate
from app.server.db.people import ADDRESS_LIMIT, NonceRow, ToolKeyRow
from app.server.db.session import connect, open_writing_session
from app.server.db.tables import now
from tests.each import each

SERVICE = "https://wallclock.example"
SECRET = "a secret of sixteen characters and more"
CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
ROLE = "http://purl.imsglobal.org/vocab/lis/v2/membership"
SETTINGS = "https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    database = f"sqlite:///{tmp_path_factory.mktemp('launching') / 'wallclock.db'}"
    migrate(database)
    made = connect(database)
    yield made
    made.dispose()


def claims(**changed: object) -> dict[str, Any]:
    found: dict[str, Any] = {
        "iss": "https://lms.example",
        "sub": "7",
        CLAIM + "message_type": "LtiResourceLinkRequest",
        CLAIM + "version": "1.3.0",
        CLAIM + "deployment_id": "1",
        CLAIM + "target_link_uri": f"{SERVICE}/lti/launch",
        CLAIM + "roles": [f"{ROLE}#Learner"],
        CLAIM + "resource_link": {"id": "r1", "title": "Week 1"},
        CLAIM + "context": {"id": "c1", "title": "Parallel  computing\n"},
    }
    return {**found, **{CLAIM + name if ":" not in name else name: v for name, v in changed.items()}}


def chooses(**settings: object) -> dict[str, Any]:
    wishes = {"deep_link_return_url": "https://lms.example/back", "accept_types": ["ltiResourceLink"]}
    return claims(
        message_type="LtiDeepLinkingRequest", roles=[f"{ROLE}#Instructor"], **{SETTINGS: {**wishes, **settings}}
    )


def platform(**changed: str) -> Platform:
    given = {
        "name": "Campus",
        "issuer": "https://lms.example",
        "client_id": "c",
        "auth_url": "https://lms.example/auth",
        "token_url": "https://lms.example/token",
        "jwks_url": "https://lms.example/keys",
    }
    return Platform(**{**given, **changed})  # type: ignore[arg-type]


def test_a_launch_without_a_name_an_email_or_grades_is_read() -> None:
    launch = read_launch(1, claims(), SERVICE)
    assert (launch.name, launch.title, launch.lineitem, launch.assignment) == ("", "Parallel computing", "", 0)
    assert launch.origins == ("https://lms.example",)


@each(
    ("sent", "group"),
    [
        ("Monday", "Monday"),
        ("  Monday\n", "Monday"),
        ('["Monday"]', "Monday"),
        ('["Monday", "Tuesday"]', ""),
        ("[]", ""),
        ("[7]", ""),
        ('["Monday"', ""),
        ("[" * 5_000, ""),
        ('["Parallel computing"]', ""),
        ("Parallel computing", ""),
        ("$com.instructure.User.sectionNames", ""),
        (7, ""),
        (["Monday"], ""),
        (None, ""),
    ],
)
def test_a_launch_may_name_the_one_group_of_the_person(sent: object, group: str) -> None:
    assert read_launch(1, claims(custom={"group": sent}), SERVICE).group == group


@each(
    ("sent", "factor"),
    [
        ("1.5", 1.5),
        ("2", 2.0),
        (1.25, 1.25),
        ("$User.time", 1.0),
        ("0.5", 1.0),
        ("", 1.0),
        (None, 1.0),
        ({}, 1.0),
        (True, 1.0),
    ],
)
def test_a_launch_may_carry_a_factor_of_the_time_in_exams(sent: object, factor: float) -> None:
    assert read_launch(1, claims(custom={"time_factor": sent}), SERVICE).time_factor == factor


def test_names_numbers_and_addresses_that_are_odd_are_left_out() -> None:
    launch = read_launch(
        1,
        claims(
            custom={"assignment": "12x"},
            lis={"person_sourcedid": 7},
            launch_presentation={"return_url": "javascript:alert(1)"},
            **{
                "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint": {
                    "lineitems": "https://lms.example/items",
                    "lineitem": "x" * 3_000,
                },
                "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice": "none",
            },
        )
        | {"name": "Ada\u202e " + "L" * 200},
        SERVICE,
    )
    assert (launch.assignment, launch.outside_id, launch.lineitem) == (0, "", "")
    assert launch.lineitems == "https://lms.example/items"
    assert launch.name.startswith("Ada LLL")
    assert len(launch.name) == 100
    assert launch.origins == ("https://lms.example",)


@each(
    ("given", "says"),
    [
        (claims(version="1.1"), "answers LtiResourceLinkRequest"),
        (claims(message_type="LtiSubmissionReviewRequest"), "'LtiSubmissionReviewRequest'"),
        (claims(target_link_uri="https://elsewhere.example/lti/launch"), "is not on https://wallclock.example"),
        (claims(deployment_id=None), "no deployment_id"),
        (claims(context=None), "open this link from within a course"),
        (claims(resource_link={}), "no resource link"),
        (claims(context={"id": "c" * 256}), "id has more than 255 characters"),
        (chooses(deep_link_return_url="/back"), "no deep_link_return_url"),
        (chooses(accept_types=["link"]), "does not accept links here"),
        (chooses(data="x" * 20_000), "more than 16,000 characters"),
        (chooses() | {CLAIM + "roles": [f"{ROLE}#Learner"]}, "only teachers"),
    ],
)
def test_a_message_that_is_not_one_of_ours_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(RefusedError, match=says):
        read_launch(1, given, SERVICE)


@each(
    ("given", "name"),
    [
        ({"name": "Ada L.", "given_name": "A", "family_name": "B"}, "Ada L."),
        ({"given_name": " Ada ", "family_name": "Lovelace"}, "Ada Lovelace"),
        ({"family_name": "Lovelace"}, "Lovelace"),
        ({"name": 7, "given_name": "Ada"}, "Ada"),
        ({}, ""),
    ],
)
def test_a_person_is_called_as_the_platform_says(given: dict[str, object], name: str) -> None:
    assert read_launch(1, claims() | given, SERVICE).name == name


@each(
    ("custom", "lis", "outside"),
    [
        ({"sis_user_id": "7"}, {}, "7"),
        ({"sis_user_id": "7"}, {"person_sourcedid": "8"}, "8"),
        ({"sis_user_id": "$Canvas.user.sisSourceId"}, {}, ""),
        ({}, {"person_sourcedid": "x" * 255}, "x" * 255),
        ({}, {"person_sourcedid": "x" * 256}, None),
        ({}, {"person_sourcedid": "a\nb"}, None),
        ({}, {}, ""),
    ],
)
def test_the_id_of_a_registrar_counts_before_a_custom_one(
    custom: dict[str, str], lis: dict[str, str], outside: str | None
) -> None:
    given = claims(custom=custom, lis=lis)
    if outside is None:
        with pytest.raises(RefusedError, match="more than 255 characters, or some that cannot be printed"):
            read_launch(1, given, SERVICE)
    else:
        assert read_launch(1, given, SERVICE).outside_id == outside


@each(
    ("sent", "number"),
    [("12", 12), (12, 12), (True, 0), ("٣", 0), ("-1", 0), ("9" * 16, int("9" * 16)), ("9" * 17, 0), (1.5, 0), ("", 0)],
)
def test_a_link_names_an_assignment_by_its_number(sent: object, number: int) -> None:
    assert read_launch(1, claims(custom={"assignment": sent}), SERVICE).assignment == number


def test_a_course_without_a_title_has_its_label_and_a_launch_need_not_name_its_target() -> None:
    launch = read_launch(1, claims(context={"id": "c1", "label": "CS 1"}, target_link_uri=""), SERVICE)
    assert (launch.title, launch.context) == ("CS 1", "c1")
    assert read_launch(1, claims(context={"id": "c" * 255}), SERVICE).context == "c" * 255
    same = read_launch(1, claims(custom={"group": "Parallel computing "}), SERVICE)
    assert (same.group, same.link_title) == ("", "Week 1")
    assert read_launch(1, claims(custom={"group": "x" * 299}), SERVICE).group == "x" * 100


@each(
    ("settings", "several", "data"),
    [
        ({}, True, ""), ({"accept_multiple": False}, False, ""), ({"accept_multiple": True, "data": "d"}, True, "d"),
        ({"data": "x" * 16_000}, True, "x" * 16_000),
    ],
)  # fmt: skip
def test_a_teacher_chooses_one_or_several_and_what_was_sent_goes_back(
    settings: dict[str, object], several: bool, data: str
) -> None:
    launch = read_launch(1, chooses(**settings), SERVICE)
    assert (launch.several, launch.answer_data, launch.answer_to) == (several, data, "https://lms.example/back")
    assert (launch.teaches, launch.link) == (True, "r1")
    bare = {name: value for name, value in chooses(**settings).items() if "resource_link" not in name}
    assert read_launch(1, bare, SERVICE).link == "", "a choice has no link"


@each(("role", "word", "teaches"), [("Instructor", "teacher", True), ("Instructor#Grader", "assistant", False),
    ("Learner", "student", False), ("Mentor", "", False)])  # fmt: skip
def test_the_role_of_a_launch_is_a_word_and_teachers_alone_teach(role: str, word: str, teaches: bool) -> None:
    launch = read_launch(1, claims(roles=[role]), SERVICE)
    assert (launch.role, launch.teaches) == (word, teaches)


def test_settings_of_a_choice_count_for_a_choice_alone() -> None:
    launch = read_launch(
        1, claims(**{SETTINGS: {"deep_link_return_url": "https://lms.example/back", "data": "d"}}), SERVICE
    )
    assert (launch.answer_to, launch.answer_data) == ("", "")


def test_an_address_has_two_thousand_characters_at_most() -> None:
    grades = "https://purl.imsglobal.org/spec/lti-ags/claim/endpoint"
    for size, kept in ((ADDRESS_LIMIT, True), (ADDRESS_LIMIT + 1, False)):
        address = "https://lms.example/".ljust(size, "x")
        launch = read_launch(1, claims(**{grades: {"lineitem": address}}), SERVICE)
        assert launch.lineitem == (address if kept else "")


@each(("age", "right"), [(600, True), (601, False)])
def test_a_ticket_lasts_ten_minutes(age: int, right: bool) -> None:
    launch = read_launch(1, claims(), SERVICE)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("time.time", lambda: 1_800_000_000)
        ticket = seal_ticket(SECRET, launch)
        patched.setattr("time.time", lambda: 1_800_000_000 + age)
        assert unseal_launch(SECRET, ticket, timedelta(hours=2)) == launch
        if right:
            assert unseal_launch(SECRET, ticket) == launch
        else:
            with pytest.raises(RefusedError, match="more than 10 minutes ago"):
                unseal_launch(SECRET, ticket)


def test_a_ticket_is_ours_and_ends() -> None:
    launch = read_launch(1, chooses(accept_multiple=False), SERVICE)
    ticket = seal_ticket(SECRET, launch)
    assert unseal_launch(SECRET, ticket) == launch
    assert not launch.several
    assert ticket != seal_ticket(SECRET, launch), "two windows need two tickets"
    for wrong, life in ((ticket[:-2] + "xx", 600), ("", 600), (ticket, -1)):
        with pytest.raises(RefusedError, match="open it again"):
            unseal_launch(SECRET, wrong, timedelta(seconds=life))
    with pytest.raises(RefusedError):
        unseal_launch(SECRET + "?", ticket)


def test_a_state_is_ours_and_belongs_to_one_browser() -> None:
    opening = begin_launch(SECRET, platform(), {"login_hint": "h", "lti_message_hint": "m"}, f"{SERVICE}/lti/launch")
    sent = opening.address.partition("state=")[2].partition("&")[0]
    state = read_login_state(SECRET, sent)
    assert is_same_browser(state, opening.browser)
    assert not is_same_browser(state, "")
    assert (state.hint, state.message, state.name) == ("h", "m", opening.name)
    assert opening.browser not in opening.address
    with pytest.raises(RefusedError):
        read_login_state(SECRET, seal_ticket(SECRET, read_launch(1, claims(), SERVICE)))
    with pytest.raises(RefusedError, match="login_hint"):
        begin_launch(SECRET, platform(), {}, SERVICE)


def test_what_is_used_on_two_servers_at_once_is_used_once(engine: Engine, tmp_path: Path) -> None:
    other = connect(str(engine.url))

    def use(which: Engine) -> bool:
        try:
            with open_writing_session(which) as session:
                use_once(session, "launch:x", timedelta(minutes=1))
        except RefusedError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(use, [engine, other] * 4)) == 1
    with open_writing_session(engine) as session:
        use_once(session, "launch:x", timedelta(minutes=1), now() + timedelta(minutes=2))
        assert len(session.exec(select(NonceRow)).all()) == 1, "what has expired is deleted"
    other.dispose()


def test_the_next_key_is_published_before_it_signs(engine: Engine) -> None:
    start = now()
    with open_writing_session(engine) as session:
        shown = [key["kid"] for key in key_set(session, start)["keys"]]  # type: ignore[attr-defined]
        first, second = shown
        assert signing_key(session, start).kid == first
        assert "d" not in key_set(session, start)["keys"][0]  # type: ignore[index]
        later = start + SIGNS_FOR + timedelta(days=1)
        assert signing_key(session, later).kid == second
        kids = [key["kid"] for key in key_set(session, later)["keys"]]  # type: ignore[attr-defined]
        assert kids[:2] == [first, second], "tokens on their way are still verified"
        assert len(kids) == 3
        gone = later + SHOWN_FOR + timedelta(days=1)
        kids = [key["kid"] for key in key_set(session, gone)["keys"]]  # type: ignore[attr-defined]
        assert first not in kids
        assert second in kids


def test_after_a_leak_the_known_next_key_signs_and_the_old_one_is_gone(engine: Engine) -> None:
    with open_writing_session(engine) as session:
        for row in session.exec(select(ToolKeyRow)):
            session.delete(row)
        session.commit()
        first, second = [key["kid"] for key in key_set(session)["keys"]]  # type: ignore[attr-defined]
        rotate(session)
        assert signing_key(session).kid == second
        kids = [key["kid"] for key in key_set(session)["keys"]]  # type: ignore[attr-defined]
        assert first not in kids
        assert len(kids) == 2


def test_of_several_clients_the_platform_says_which(engine: Engine) -> None:
    with open_writing_session(engine) as session:
        one = register_platform(session, platform(name="One", client_id="1"))
        register_platform(session, platform(name="Two", client_id="2"))
        assert platform_for(session, "https://lms.example", "1") == one
        with pytest.raises(RefusedError, match="must send its client_id"):
            platform_for(session, "https://lms.example")
        with pytest.raises(RefusedError, match="'3'; an operator adds it"):
            platform_for(session, "https://lms.example", "3")
        with pytest.raises(RefusedError, match="platform allow 'One' '9'"):
            check_deployment(session, one, "9")
        allow_deployment(session, one, "9")
        check_deployment(session, one, "9")


def test_a_registration_link_works_once_and_a_platform_that_registered_waits(engine: Engine) -> None:
    with open_writing_session(engine) as session:
        code = new_registration(session, "Canvas")
        session.commit()
        assert registration_with(session, code) == "Canvas"
        assert use_registration(session, code)
        assert not use_registration(session, code)
        with pytest.raises(RefusedError, match="used already, or has expired"):
            registration_with(session, code)


def _launch(session: Session, course: str, **changed: Any) -> Launch:
    """A launch of a platform that is registered here."""
    known = {one.name: one for one in platforms(session)}
    here = known.get("Here") or register_platform(session, platform(name="Here", issuer="https://here.example"))
    given = {
        "platform": here.id,
        "deployment": "1",
        "subject": "t",
        "role": "teacher",
        "context": course,
        "title": "A course",
        "link": "r9",
    }
    return Launch(**{**given, **changed})


def test_a_link_never_opens_an_assignment_of_another_class(engine: Engine) -> None:
    with open_writing_session(engine) as session:
        old, copied = (_launch(session, course=name) for name in ("2025", "2026"))
        numbers = []
        for launch in (old, copied):
            class_id = new_class(session, SECRET, launch, "Europe/Berlin")
            tie(session, launch, class_id)
            numbers.append(class_id)
        assert class_with(session, numbers[0]).zone == "Europe/Berlin"
        assignment = create_assignment(session, numbers[0], "Week", Policy(), [AssignmentEntry("a/b", 1.0)])
        session.commit()
        theirs = _launch(session, course="2026", assignment=assignment, link="copied")
        assert enroll_launch(session, theirs).assignment == 0
        ours = _launch(session, course="2025", assignment=assignment)
        assert enroll_launch(session, ours).assignment == assignment


def test_a_class_with_invented_names_stores_none_of_the_platform(engine: Engine) -> None:
    with open_writing_session(engine) as session:
        launch = _launch(session, course="invented", subject="s", role="student", name="Ada Lovelace")
        class_id = new_class(session, SECRET, launch, "nowhere")
        row = class_with(session, class_id)
        assert row.zone == "UTC"
        row.pseudonyms = True
        tie(session, launch, class_id)
        enroll_launch(session, launch)
        (member,) = members_of(session, class_id)
        assert member.name == "Student 1"


def test_nobody_enters_a_course_that_its_teacher_has_not_opened(engine: Engine) -> None:
    with open_writing_session(engine) as session:
        launch = _launch(session, course="unknown", role="student")
        with pytest.raises(RefusedError, match="a teacher of the course has to open this link"):
            enroll_launch(session, launch)
