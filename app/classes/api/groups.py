"""The groups of a class: list them, rename one, dissolve one."""

from dataclasses import asdict
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field, StrictStr

from app.classes.api.access import ClassCall, ClassCalls
from app.classes.api.shapes import example_config
from app.classes.people.groups import class_groups, dissolve_group, rename_group
from app.server.db.tables import NAME_LIMIT

router = ClassCalls("roster")
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


@router.call("GET", "/groups", summary="List groups")
def list_groups(call: ClassCall) -> list[GroupDocument]:
    """Returns the groups by name: those that a member is in, or that have dates of their own."""
    return [GroupDocument(**asdict(one)) for one in class_groups(call.session, call.class_id)]


@router.call("PUT", "/groups", summary="Rename a group")
def put_group_name(call: ClassCall, body: NewGroupName, group: GroupName = "") -> list[GroupDocument]:
    """Returns all groups; the members and the dates of the one are under its new name."""
    rename_group(call.session, call.class_id, group, body.name)
    return list_groups(call)


@router.call("DELETE", "/groups", status_code=204, summary="Dissolve a group")
def remove_group(call: ClassCall, group: GroupName = "") -> None:
    """Takes everyone out of it and deletes its dates: those of everyone hold again."""
    dissolve_group(call.session, call.class_id, group)
