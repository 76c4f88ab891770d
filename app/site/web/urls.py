"""The paths of the site's pages, and the seed in them."""

from collections.abc import Mapping
from urllib.parse import urlencode

from app.core.errors import NotFoundError
from app.core.translation import translate
from app.course.kinds import SEEDS


def exercise_url(exercise: str, seed: int = 0) -> str:
    """The page of the exercise with the id *exercise*, drawn with *seed*."""
    return f"/exercises/{exercise}" + (f"?seed={seed}" if seed else "")


def review_url(exercise: str, seed: int) -> str:
    """The page of an exercise, drawn with *seed*, as one of the reviews of the day."""
    address = exercise_url(exercise, seed)
    return f"{address}{'&' if seed else '?'}review=1"


def schedule_url(exercise: str, code: str) -> str:
    """The page of a schedule for an exercise, in short form."""
    return f"/exercises/{exercise}/schedule?of={code}"


def chapter_url(topic: str, seed: int = 0) -> str:
    """The page of a chapter; with *seed*, its parameters have the values that it draws."""
    return f"/chapters/{topic}" + (f"?seed={seed}" if seed else "")


def explorer_url(name: str, state: Mapping[str, str] | None = None) -> str:
    """The page of an explorer, with its controls set to *state*."""
    return f"/explore/{name}" + (f"?{urlencode(state)}" if state else "")


def formula_url(name: str) -> str:
    """The page of the formula called *name*, such as collectives.ring_all_reduce_time."""
    return f"/formulas/{name}"


def lab_url(name: str) -> str:
    """The page of a lab."""
    return f"/labs/{name}"


def run_url(lab: str, run: str) -> str:
    """The page of a run of a lab."""
    return f"/labs/{lab}/{run}"


def erratum_url(erratum: str) -> str:
    """The page of an erratum, such as E-01."""
    return f"/errata/{erratum}"


def path_inside(address: str) -> str:
    """*address*, if it is a path of this site with or without a query; empty if it is not.

    >>> path_inside("/labs?page=2"), path_inside("//evil.example"), path_inside("https://x.example")
    ('/labs?page=2', '', '')
    """
    is_path = address.startswith("/") and not address.startswith(("//", "/\\"))
    return address if is_path else ""


def seed_of(text: str) -> int:
    """The seed in an address.

    Raises:
        NotFoundError: it is not a seed.
    """
    is_short = text.isascii() and text.isdigit() and len(text) <= len(str(SEEDS))
    if not is_short or int(text) >= SEEDS:
        raise NotFoundError(
            translate("a seed is a whole number from 0 to {seeds}, not {text!r}", seeds=SEEDS - 1, text=text[:40])
        )
    return int(text)
