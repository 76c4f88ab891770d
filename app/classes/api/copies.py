"""Copies of the assignments of one class in another."""

from datetime import UTC
from zoneinfo import ZoneInfo

from app.classes.api.access import ERRORS, ONE_CLASS, Number, Scoped, class_for, class_to_change
from app.classes.api.assignment_shapes import CopiedAssignments, CopyDocument, NewCopies
from app.classes.api.roster import DryRun
from app.classes.people.assignment_copies import AssignmentCopy, chosen_assignments, copies_of, store_copies, weeks_to
from app.server.db.session import open_writing_session
from app.server.network.routes import Router
from app.site import Here

router = Router(tags=["assignments"], responses=ERRORS)


@router.post(ONE_CLASS + "/copies", summary="Copy assignments into a class")
def copy_assignments(
    site: Here, grant: Scoped, class_id: Number, body: NewCopies, dry_run: DryRun = False
) -> CopiedAssignments:
    """Returns the copies with their dates; the token must open both classes.

    Clocks show the same times on the same days of the week, also where they were changed meanwhile.
    """
    with open_writing_session(site.engine) as session:
        zone = ZoneInfo(class_to_change(session, grant, class_id).zone)
        class_for(session, grant, body.source)
        chosen = chosen_assignments(session, body.source, body.assignments)
        weeks = body.weeks if body.start is None else weeks_to(chosen, body.start)
        copies = copies_of(chosen, weeks, zone, site.catalog.by_id)
        made = {} if dry_run else store_copies(session, class_id, copies)
        session.commit()
    return CopiedAssignments(
        applied=not dry_run, weeks=weeks, copies=[_document(one, made.get(one.source.id)) for one in copies]
    )


def _document(one: AssignmentCopy, number: int | None) -> CopyDocument:
    dates = {name: getattr(one.policy, name) for name in ("opens", "due", "closes")}
    return CopyDocument(
        source=one.source.id,
        id=number,
        title=one.source.title,
        left_out=list(one.gone),
        notes=list(one.notes),
        **{name: at.astimezone(UTC) if at else None for name, at in dates.items()},
    )
