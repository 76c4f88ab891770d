"""Points in the files of other systems: titles of columns, and cells, as people write them."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.classes.people.csv_text import in_ascii_digits
from app.classes.people.csv_titles import plain_head

# What other systems add to the title of a column: a number of theirs, the most points, the scale.
_ADDED = re.compile(
    r"(?:(?<!\s)\s++)?+(?:\(\d+\)|\|\s*\d*|<(?P<d2l>[^<>]*)>|\[(?P<square>[^\[\]]*)\]|/\s*(?P<out>\d+(?:[.,]\d+)?)"
    r"|\bpoints grade|\((?P<round>[^()]*)\))$"
)
_SCALE = re.compile(
    r"reale?|reell|brute?|valeur réelle|(?:up to )?\d+(?:[.,]\d+)?(?: ?(?:pts?|points?|punkte?))?"
    r"|pts?|points?|punkte?|puntos?|punti|pontos|punten|score|实数|实际值|点数|分数|得点"
    r"|(?:total pts|gesamtpunktzahl|total de puntos|nombre total de points): ?[^%]*"
    r"|numeric maxpoints:.*"
)
_OTHER_SCALE = re.compile(
    r"percent|prozent|pourcent|porcent|procent|百分|パーセン|%|letter|buchstab|lettre|\bletra|字母"
    r"|feedback|rückmeldung|retour|comment|kommentar|comentario|反馈|评语|(?<!points )grade symbol"
)
_MOST = re.compile(r"(?:maxpoints:|(?:pts|punktzahl|puntos|points):? (?:up to )?|^)(\d+(?:[.,]\d+)?)")
_COMPANION = re.compile(r"\A(.+) - max points")  # Gradescope
_MOST_PARTS = 4  # that are taken off a title
_THOUSANDS = re.compile(r"(?<=\d)[\s'’٬](?=\d{3}(?!\d))")
_SIGNS = str.maketrans({"٫": ".", "−": "-", "–": "-", "—": "-", "－": "-"})
_NUMBER = re.compile(r"[+-]?(?:\d{1,9}(?:[.,]\d{0,12})?|[.,]\d{1,12})", re.ASCII)
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:[.,]\d{3})+", re.ASCII)


@dataclass(frozen=True, slots=True)
class PointsTitle:
    """A title of a column of points, and without what its system adds, piece by piece.

    *names* have the most points that the pieces taken off say, if they do; the longest comes first.
    """

    names: Mapping[str, float | None]
    other_scale: bool = False  # percent, letters or a comment

    @classmethod
    def read(cls, cell: str) -> "PointsTitle":
        """What a title says.

        >>> PointsTitle.read("Week 1 [Total Pts: 10 Score] |574283").names["week 1"]
        10.0
        >>> list(PointsTitle.read("Aufgabe: Week 1 (Punkte)").names)
        ['aufgabe: week 1 (punkte)', 'aufgabe: week 1', 'week 1 (punkte)', 'week 1']
        """
        text, most, other = plain_head(cell), None, False
        names: dict[str, float | None] = {text: None}
        for _ in range(_MOST_PARTS):
            if not (added := _ADDED.search(text)):
                break
            says = next((part for part in added.groups() if part is not None), "").strip()
            other = other or bool(_OTHER_SCALE.search(says))
            if says and not other and not _SCALE.fullmatch(says):
                break
            if (found := _MOST.search(says)) and most is None:
                most = float(found[1].replace(",", "."))
            text = text[: added.start()].strip()
            names[text] = most
        kind, colon, _ = text.partition(":")
        if colon:
            other = other or bool(_OTHER_SCALE.search(kind))
            names |= {name.partition(":")[2].strip(): found for name, found in names.items()}
        return cls(names, other)


def maximum_of(cell: str) -> str:
    """The title of the column whose most points the column *cell* has; empty for another column."""
    found = _COMPANION.fullmatch(plain_head(cell))
    return found[1] if found else ""


def decimal_sign(cells: Iterable[str]) -> str:
    """What precedes the decimals in *cells*: a point or a comma; empty if nothing tells."""
    signs = set()
    for cell in map(_plain_number, cells):
        found = re.findall("[.,]", cell)
        if found and not _NUMBER.fullmatch(cell) and _is_mixed(cell):
            signs.add(found[-1])
        elif len(found) == 1 and _NUMBER.fullmatch(cell) and not _GROUPED.fullmatch(cell):
            signs.add(found[0])
    return signs.pop() if len(signs) == 1 else ""


def _is_mixed(cell: str) -> bool:
    return bool(re.fullmatch(r"[+-]?\d{1,3}(?:,\d{3})+\.\d*|[+-]?\d{1,3}(?:\.\d{3})+,\d*", cell))


def is_blank(cell: str) -> bool:
    """Whether a cell says nothing, as one with Moodle's hyphen."""
    return cell.translate(_SIGNS) in ("", "-")


def plain_points(cell: str, sign: str) -> str:
    """*cell* as a number in ASCII, where *sign* precedes decimals; empty if it is not one number.

    A comma and three digits may be a thousand: without a *sign*, it is neither.

    >>> plain_points("7,5", ""), plain_points("1.007,5", ","), plain_points("1,007", "")
    ('7.5', '1007.5', '')
    """
    text = _plain_number(cell)
    if sign and _is_mixed(text):
        text = text.replace(".,"[sign == "."], "")
    elif _GROUPED.fullmatch(text) and sign and sign not in text:
        text = re.sub("[.,]", "", text)
    elif _GROUPED.fullmatch(text) and "," in text and not sign:
        return ""
    return text.replace(",", ".") if _NUMBER.fullmatch(text) else ""


def _plain_number(cell: str) -> str:
    """*cell* with digits and signs of ASCII, without spaces between thousands."""
    if cell.isascii() and " " not in cell and "'" not in cell:
        return cell
    text = unicodedata.normalize("NFKC", cell.translate(_SIGNS))
    return _THOUSANDS.sub("", in_ascii_digits(text))


def points_columns(
    titles: Sequence[PointsTitle], known: Collection[str], columns: Sequence[Sequence[str]]
) -> dict[int, str]:
    """The columns of points by place, with their names of those that are *known*.

    Of several of one name, the one whose title says least besides is read, or whose cells alone
    are numbers; the error is left to the caller, who sees the name twice.
    """
    names = {plain_head(name): name for name in known}
    found: dict[str, list[tuple[int, int]]] = {}
    for place, title in enumerate(titles):
        near = next((at for at, name in enumerate(title.names) if name in names), None)
        if near is not None and (near == 0 or not title.other_scale):
            found.setdefault(names[list(title.names)[near]], []).append((near, place))
    return {place: name for name, places in found.items() for place in _nearest_places(places, columns)}


def _nearest_places(places: Sequence[tuple[int, int]], columns: Sequence[Sequence[str]]) -> Sequence[int]:
    """Of *places* with what their titles say besides, those of numbers that say least."""
    numeric = [one for one in places if any(map(is_number, columns[one[1]]))]
    least = min(places)[0]
    if numeric and least:
        places, least = numeric, min(numeric)[0]
    best = [place for near, place in places if near == least]
    return [place for near, place in numeric if place in best] or best


def is_number(cell: str) -> bool:
    """Whether *cell* is a number, whatever precedes its decimals."""
    return bool(plain_points(cell, ".") or plain_points(cell, ","))
