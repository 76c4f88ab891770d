"""The vocabularies of roles of LTI 1.3 (core specification, appendix A.2), and who is what here."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlmodel import select

from app.classes.federation.lti.enrollment import (
    CourseDifference,
    Participant,
    apply_difference,
    compare_course,
    enroll_launch,
)
from app.classes.federation.lti.launch_message import role_of
from app.classes.people.classes import Role, members_of
from app.classes.people.members import change_role
from app.core.errors import RefusedError
from app.server.db.people import MemberRow, PersonRow
from app.server.db.session import open_session, open_writing_session
from tests.each import each
from tests.federation.lti.test_one_person import Tied, tied

__all__ = ("tied",)  # the fixture
TEACHER, ASSISTANT, STUDENT = Role.TEACHER, Role.ASSISTANT, Role.STUDENT
LIS = "http://purl.imsglobal.org/vocab/lis/v2"
CONTEXT, INSTITUTION, SYSTEM = (f"{LIS}/membership", f"{LIS}/institution/person", f"{LIS}/system/person")
TEST_USER = "http://purl.imsglobal.org/vocab/lti/system/person#TestUser"
IN_COURSE = {
    "Administrator": TEACHER, "ContentDeveloper": TEACHER, "Instructor": TEACHER, "Learner": STUDENT,
    "Member": STUDENT, "Mentor": None, "Manager": None, "Officer": None,
}  # fmt: skip
SUB_ROLES = {
    "Administrator": "Administrator Developer ExternalDeveloper ExternalSupport ExternalSystemAdministrator "
    "Support SystemAdministrator",
    "ContentDeveloper": "ContentDeveloper ContentExpert ExternalContentExpert Librarian",
    "Instructor": "ExternalInstructor GuestInstructor Lecturer PrimaryInstructor SecondaryInstructor",
    "Learner": "ExternalLearner GuestLearner Instructor Learner NonCreditLearner",
    "Manager": "AreaManager CourseCoordinator ExternalObserver Manager Observer",
    "Member": "Member",
    "Mentor": "Advisor Auditor ExternalAdvisor ExternalAuditor ExternalLearningFacilitator ExternalMentor "
    "ExternalReviewer ExternalTutor LearningFacilitator Mentor Reviewer Tutor",
    "Officer": "Chair Communications Secretary Treasurer Vice-Chair",
}
ASSISTANTS = (
    "Grader", "TeachingAssistant", "TeachingAssistantGroup", "TeachingAssistantOffering", "TeachingAssistantSection",
    "TeachingAssistantSectionAssociation", "TeachingAssistantTemplate",
)  # fmt: skip
ELSEWHERE = {
    INSTITUTION: {
        STUDENT: "Guest None Other Student Alumni Learner Member ProspectiveStudent",
        None: "Administrator Faculty Staff Instructor Mentor Observer",
    },
    SYSTEM: {STUDENT: "None User", None: "Administrator AccountAdmin Creator SysAdmin SysSupport TestUser"},
}  # fmt: skip


def vocabulary() -> Iterator[tuple[str, Role | None]]:
    """Each role alone, in every spelling, and the role here."""
    for name, role in IN_COURSE.items():
        yield from ((f"{CONTEXT}#{name}", role), (name, role), (f"urn:lti:role:ims/lis/{name}", role))
        for sub in SUB_ROLES[name].split():
            yield f"{CONTEXT}/{name}#{sub}", role
            yield f"{name}#{sub}", role
            yield f"urn:lti:role:ims/lis/{name}/{sub}", role
    for sub in ASSISTANTS:
        yield f"{CONTEXT}/Instructor#{sub}", ASSISTANT
        yield f"Instructor#{sub}", ASSISTANT
    yield "urn:lti:role:ims/lis/TeachingAssistant", ASSISTANT
    for where, roles in ELSEWHERE.items():
        urn = "urn:lti:instrole:ims/lis" if where == INSTITUTION else "urn:lti:sysrole:ims/lis"
        for role, names in roles.items():
            for name in names.split():
                yield f"{where}#{name}", role
                yield f"{urn}/{name}", role
    yield TEST_USER, None


@each(("text", "role"), list(vocabulary()))
def test_each_role_of_the_vocabularies_has_its_role_here(text: str, role: Role | None) -> None:
    assert role_of([text]) is role


@each(
    ("texts", "role"),
    [
        ([f"{CONTEXT}#Instructor", f"{CONTEXT}/Instructor#TeachingAssistant"], ASSISTANT),
        ([f"{CONTEXT}#Instructor", f"{CONTEXT}/Instructor#Grader"], ASSISTANT),
        ([f"{CONTEXT}#Administrator", f"{CONTEXT}#Learner"], TEACHER),
        ([f"{CONTEXT}#Learner", TEST_USER], None),
        ([f"{CONTEXT}#Learner", f"{CONTEXT}#Mentor"], STUDENT),
        ([f"{CONTEXT}#Learner", f"{INSTITUTION}#Administrator", f"{SYSTEM}#SysAdmin"], STUDENT),
        ([f"{CONTEXT}#Mentor", f"{INSTITUTION}#Student", f"{SYSTEM}#User"], None),
        ([f"{INSTITUTION}#Administrator", f"{SYSTEM}#User"], None),
        ([f"{INSTITUTION}#Student", f"{SYSTEM}#User"], STUDENT),
        (["https://purl.brightspace.com/v1#Student"], STUDENT),
        (["Student"], STUDENT),
        ([], STUDENT), (None, STUDENT), ("Instructor", STUDENT), ([7, None], STUDENT),
    ],
)  # fmt: skip
def test_several_roles_of_a_person_are_one_here(texts: object, role: Role | None) -> None:
    assert role_of(texts) is role


def rows(school: Tied) -> int:
    with open_session(school.site.engine) as session:
        persons = session.exec(select(PersonRow)).all()
        return len(persons) + len(members_of(session, school.class_id))


def test_one_without_a_role_is_told_so_and_gets_no_row(tied: Tied) -> None:
    before = rows(tied)
    with pytest.raises(RefusedError, match="neither a student nor a teacher") as refused:
        tied.enter(replace(tied.launch("observer", outside_id=""), role=""))
    assert "under People" in str(refused.value)
    assert rows(tied) == before


def test_an_observer_whom_the_class_knows_comes_in_as_what_they_are(tied: Tied) -> None:
    tied.enter(tied.launch())
    with open_writing_session(tied.site.engine) as session:
        change_role(session, tied.class_id, tied.ada, Role.ASSISTANT)
        session.commit()
    assert tied.enter(replace(tied.launch(), role="")) == tied.ada
    assert [one.role for one in tied.members()] == [Role.ASSISTANT]


def compared(school: Tied, *people: Participant) -> CourseDifference:
    with open_writing_session(school.site.engine) as session:
        found = compare_course(session, school.platform, school.class_id, people)
        apply_difference(session, school.platform, school.class_id, people)
        session.commit()
    return found


def listed(role: Role | None, subject: str = "u1") -> Participant:
    return Participant(subject=subject, role=role, name="Ada L.", outside_id="00020", active=True)


def test_who_launched_as_a_teacher_is_not_demoted_by_a_list(tied: Tied) -> None:
    """Moodle's non-editing teacher is an instructor in a launch, and a learner in the list."""
    tied.enter(replace(tied.launch(), role="teacher"))
    found = compared(tied, listed(Role.STUDENT))
    assert (found.changes, found.kept) == ((), ("Ada L.",))
    assert [one.role for one in tied.members()] == [Role.TEACHER]


def test_who_launches_with_a_lower_role_is_demoted_by_the_next_list(tied: Tied) -> None:
    for role in ("teacher", "student"):
        tied.enter(replace(tied.launch("t"), role="teacher", outside_id=""))
        tied.enter(replace(tied.launch(), role=role))
    found = compared(tied, listed(Role.STUDENT), replace(listed(Role.TEACHER, "t"), outside_id=""))
    assert [(one.before, one.after) for one in found.changes] == [(Role.TEACHER, Role.STUDENT)]
    assert found.kept == ()


def test_observers_in_a_list_are_not_added_and_those_who_were_students_leave(tied: Tied) -> None:
    tied.enter(tied.launch())
    found = compared(tied, listed(None), replace(listed(None, "u2"), outside_id=""))
    assert [(one.before, one.after) for one in found.changes] == [(Role.STUDENT, None)]
    assert tied.members() == []
    with open_session(tied.site.engine) as session:
        row = session.get(MemberRow, (tied.class_id, tied.ada))
        assert row is not None, "the answers stay"


def test_an_observer_whom_a_teacher_made_an_assistant_stays_one(tied: Tied) -> None:
    tied.enter(tied.launch())
    with open_writing_session(tied.site.engine) as session:
        change_role(session, tied.class_id, tied.ada, Role.ASSISTANT)
        session.commit()
    assert compared(tied, listed(None)).changes == ()


def test_an_enrollment_again_stores_the_latest_role(tied: Tied) -> None:
    for role in ("student", "assistant"):
        with open_writing_session(tied.site.engine) as session:
            enroll_launch(session, replace(tied.launch(), role=role))
            row = session.get(MemberRow, (tied.class_id, tied.ada))
            assert row is not None
            assert row.launched == role


def test_a_role_that_a_teacher_gave_is_not_lowered_by_a_list(tied: Tied) -> None:
    tied.enter(tied.launch())
    with open_writing_session(tied.site.engine) as session:
        change_role(session, tied.class_id, tied.ada, Role.ASSISTANT)
        session.commit()
    found = compared(tied, listed(Role.STUDENT))
    assert (found.changes, found.kept) == ((), ("Ada L.",))
    tied.enter(replace(tied.launch(), role="student"))
    assert [one.after for one in compared(tied, listed(Role.STUDENT)).changes] == [Role.STUDENT], (
        "a launch counts again"
    )


def test_a_role_that_a_list_gave_is_lowered_by_the_next_list(tied: Tied) -> None:
    tied.enter(tied.launch())
    for role in (Role.ASSISTANT, Role.STUDENT):
        found = compared(tied, listed(role))
        assert [one.after for one in found.changes] == [role]


def test_who_is_ticked_as_teaching_comes_in_as_an_assistant_and_stays_one(tied: Tied) -> None:
    """Moodle's teacher who may not edit is a learner in the list, and has not opened a link."""
    tied.enter(tied.launch())
    people = [listed(Role.STUDENT), replace(listed(Role.STUDENT, "ta"), name="Tom", outside_id="")]
    with open_writing_session(tied.site.engine) as session:
        apply_difference(session, tied.platform, tied.class_id, people, ["ta", "u1", "nobody"])
        session.commit()
    roles = {one.name: one.role for one in tied.members()}
    assert roles == {"Ada L.": Role.STUDENT, "Tom": Role.ASSISTANT}, "only who is new"
    assert compared(tied, *people).changes == ()
