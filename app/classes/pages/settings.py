"""/classes/ID/settings: the name and the time zone of a class, its archive and its end."""

from dataclasses import dataclass

from app.classes.pages.class_router import ClassForm, ClassRouter, ClassVisit
from app.classes.people.classes import change_class, set_archived, take_out_of_archive, time_zones
from app.classes.people.deletion import delete_class, refuse_other_name
from app.core.translation import noted
from app.site.web.frame.database_copies import copies_until

router = ClassRouter("/classes/{class_id:int}", "Settings")


class SettingsForm(ClassForm):
    """The settings of a class."""

    name: str = ""
    zone: str = ""
    pseudonyms: str = ""


class ArchiveForm(ClassForm):
    """Whether a class is to be archived."""

    archived: str = ""


class SureForm(ClassForm):
    """The name of what is to be deleted, typed to confirm."""

    sure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsPage:
    """The settings of a class, as they are or as they were sent."""

    form: SettingsForm
    zones: tuple[str, ...]
    copies: str  # the day on which the last copy of the database is removed


@router.page("/settings", "settings", noted("Settings of {name}"))
def settings_page(visit: ClassVisit, sent: SettingsForm | None = None) -> SettingsPage:
    """The settings of a class."""
    row = visit.row
    form = sent or SettingsForm(name=row.name, zone=row.zone, pseudonyms="yes" if row.pseudonyms else "")
    return SettingsPage(form=form, zones=time_zones(), copies=copies_until(visit.site.settings.database))


@router.form("/settings", settings_page)
def change_settings(visit: ClassVisit, sent: SettingsForm) -> str:
    """Change the settings of a class."""
    change_class(visit.session, visit.row, sent.name, sent.zone, pseudonyms=bool(sent.pseudonyms))
    return visit.class_href


@router.form("/archive", settings_page, archived=True)
def post_archive(visit: ClassVisit, sent: ArchiveForm) -> str:
    """Archive a class, or take it out of the archive."""
    change = set_archived if sent.archived == "yes" else take_out_of_archive
    change(visit.session, visit.row)
    return visit.class_href


@router.form("/delete", settings_page, archived=True)
def delete_class_for_good(visit: ClassVisit, sent: SureForm) -> str:
    """Delete a class with everything in it, once its name is typed."""
    refuse_other_name(sent.sure, visit.row.name)
    delete_class(visit.session, visit.row)
    return "/classes"
