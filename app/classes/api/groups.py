"""The groups of a class: list them, rename one, dissolve one."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import BaseModel, Field, StrictStr
from sqlmodel import Session

from app.classes.api.access import ERRORS, ONE_CLASS, Number, Scoped, class_for, class_to_change
from app.classes.api.shapes import example_config
from app.classes.people.groups import class_groups, dissolve_group, rename_group
from app.classes.people.members import hold
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import NAME_LIMIT
from app.server.network.routes import Router
from app.site import Here

GROUPS = ONE_CLASS + "/groups"
router = Router(tags=["roster"], responses=ERRORS)
GroupName = Annotated[str, Query(alias="group", max_length=4 * NAME_LIMIT, description="its name", examples=["Mon"])]


class NewGroupName(BaseModel):
    """Another name for a group."""

    model_config = example_config(name="Monday, room 5")

    name: StrictStr = Field(max_length=4 * NAME_LIMIT)


class GroupDocument(BaseModel):
    """A group of a class, such as a section."""

    name: str
    students: int
    assignments: int = Field(description="with dates of its own for this group")


@router.get(GROUPS, summary="List groups")
def list_groups(site: Here, grant: Scoped, class_id: Number) -> list[GroupDocument]:
    """Returns the groups by name: those that a member is in, or that have dates of their own."""
    with open_session(site.engine) as session:
        class_for(session, grant, class_id)
        return _documents(session, class_id)


@router.put(GROUPS, summary="Rename a group")
def put_group_name(
    site: Here, grant: Scoped, class_id: Number, body: NewGroupName, group: GroupName = ""
) -> list[GroupDocument]:
    """Returns all groups; the members and the dates of the one are under its new name."""
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        hold(session, class_id)
        rename_group(session, class_id, group, body.name)
        session.commit()
        return _documents(session, class_id)


@router.delete(GROUPS, status_code=204, summary="Dissolve a group")
def remove_group(site: Here, grant: Scoped, class_id: Number, group: GroupName = "") -> Response:
    """Takes everyone out of it and deletes its dates: those of everyone hold again."""
    with open_writing_session(site.engine) as session:
        class_to_change(session, grant, class_id)
        hold(session, class_id)
        dissolve_group(session, class_id, group)
        session.commit()
    return Response(status_code=204)


def _documents(session: Session, class_id: int) -> list[GroupDocument]:
    return [
        GroupDocument(name=one.name, students=one.students, assignments=one.assignments)
        for one in class_groups(session, class_id)
    ]
