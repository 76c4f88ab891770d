"""Two teachers who edit one assignment: what the first one stored while the second one typed.

The form of an assignment says, in a hidden field, what it was made from. With that, what both of
them changed is put together; where they changed the same field, the second one is asked.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace

from pydantic import TypeAdapter, ValidationError

from app.classes.pages.assignment_form import AssignmentForm
from app.classes.pages.exercise_picker import exercise_title
from app.core.errors import InputError
from app.core.translation import noted, translate
from app.course.content.catalog import Catalog

_FORM = TypeAdapter(AssignmentForm)
_APART = ("points", "unread")  # not compared as one text
_NAMES = {
    "title": noted("Title"),
    "opens": noted("Opens"),
    "due": noted("Due"),
    "closes": noted("Last date for late answers"),
    "after": noted("After the due date"),
    "late": noted("Percent lost per day"),
    "grace": noted("Minutes of grace"),
    "attempts": noted("Tries that count"),
    "variants": noted("Numbers in the exercises"),
    "hints": noted("Hints"),
    "hint_cost": noted("Cost of a hint"),
    "solution": noted("Worked solution"),
    "hides": noted("Hide points until due"),
    "exam": noted("Minutes of the exam"),
}
_WORDS = {
    ("after", "ends"): noted("practice"),
    ("after", "late"): noted("answers count"),
    ("variants", "own"): noted("own"),
    ("variants", "same"): noted("the same for all"),
    ("variants", "many"): noted("any"),
    ("hints", "free"): noted("free"),
    ("hints", "cost"): noted("at a cost"),
    ("hints", "off"): noted("none"),
    ("solution", "free"): noted("at any time"),
    ("solution", "due"): noted("after the due date"),
    ("solution", "off"): noted("never"),
    ("hides", "True"): noted("yes"),
    ("hides", "False"): noted("no"),
}


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """A change that was stored in the meantime; *yours*: what was typed in the same place."""

    what: str
    before: str
    now: str
    yours: str = ""


def seen_text(form: AssignmentForm) -> str:
    """A form as the text of a hidden field."""
    return json.dumps(asdict(form))


def seen_form(text: str) -> AssignmentForm:
    """The form that such a text is about.

    Raises:
        InputError: it is about none.
    """
    try:
        return _FORM.validate_json(text)
    except ValidationError:
        raise InputError(translate("this form is incomplete; open the assignment again")) from None


def same(one: AssignmentForm, other: AssignmentForm) -> bool:
    """Whether two forms say the same, the order of the exercises included."""
    return one == other and list(one.points) == list(other.points)


def merge_edits(seen: AssignmentForm, mine: AssignmentForm, now: AssignmentForm) -> AssignmentForm:
    """What was changed in *mine* and in *now* since *seen*; mine where both changed a field."""
    texts = {name: getattr(now if getattr(mine, name) == getattr(seen, name) else mine, name) for name in _plain()}
    points = {
        name: worth
        for name in _order(seen.points, mine, now)
        if (worth := _either(seen.points, mine.points, now.points, name)) is not None
    }
    return replace(mine, **texts, points=points)


def changes(catalog: Catalog, seen: AssignmentForm, mine: AssignmentForm, now: AssignmentForm) -> Iterator[Meanwhile]:
    """What was changed from *seen* to *now*, each with what *mine* says instead, if it does."""
    for name in _plain():
        before, stored, typed = (str(getattr(form, name)) for form in (seen, now, mine))
        if stored != before:
            yours = _shown_edit_conflicts(name, typed) if typed not in (before, stored) else ""
            yield Meanwhile(
                translate(_NAMES[name]), _shown_edit_conflicts(name, before), _shown_edit_conflicts(name, stored), yours
            )
    for exercise in dict.fromkeys((*seen.points, *now.points)):
        worth = [form.points.get(exercise) for form in (seen, now, mine)]
        if worth[0] != worth[1]:
            yours = _worth(worth[2]) if worth[2] not in worth[:2] else ""
            yield Meanwhile(exercise_title(catalog, exercise), _worth(worth[0]), _worth(worth[1]), yours)
    if _moved(list(seen.points), list(now.points)):
        yours = translate("another order") if _moved(list(seen.points), list(mine.points)) else ""
        yield Meanwhile(translate("Order"), translate("the order of the exercises"), translate("another one"), yours)


def _plain() -> Iterator[str]:
    return (one.name for one in fields(AssignmentForm) if one.name not in _APART)


def _shown_edit_conflicts(name: str, text: str) -> str:
    if (name, text) in _WORDS:
        return translate(_WORDS[name, text])
    if name in ("opens", "due", "closes"):
        return text.replace("T", " ")
    return text or translate("empty")


def _worth(points: str | None) -> str:
    return translate("not chosen") if points is None else translate("{points} pt", points=points)


def _either(seen: Mapping[str, str], mine: Mapping[str, str], now: Mapping[str, str], name: str) -> str | None:
    return now.get(name) if mine.get(name) == seen.get(name) else mine.get(name)


def _order(seen: Mapping[str, str], mine: AssignmentForm, now: AssignmentForm) -> Sequence[str]:
    """The order of mine if it was changed, else that of now; what only one has comes last."""
    kept = _moved(list(seen), list(mine.points))
    first, last = (mine.points, now.points) if kept else (now.points, mine.points)
    return list(dict.fromkeys((*first, *last)))


def _moved(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether what both have is in another order."""
    return [one for one in before if one in set(after)] != [one for one in after if one in set(before)]
