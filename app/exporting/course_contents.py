"""What the desk in a browser gets as it was read at export: the course and everything in files."""

import copyreg
import io
import json
import pickle
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pydantic import AnyUrl, BaseModel

from app.core.expressions import ExpressionError
from app.core.formulas import FORMULAS
from app.core.published.sources import sources
from app.core.translation import LANGUAGES, language
from app.core.translation.languages import catalog as sentences
from app.course.content.catalog import Catalog
from app.course.content.course import PACKAGE
from app.course.content.errata import errata, question_file, terms
from app.course.content.topic_file import opening_parts
from app.course.kinds import Exercise
from app.course.kinds.base import ValueCache
from app.course.kinds.design import Design, RunRequest, fastest_step
from app.course.kinds.drawn_values import Draw
from app.exporting.omissions import ExportedPages
from app.exporting.skeletons import NUMBER, SLOT, skeleton
from app.labs.evidence.faults import known_faults
from app.labs.results.analysis import shipped_runs
from app.labs.spec import known_labs
from app.site import markdown
from app.site.markdown import MathematicsError, mathml
from app.site.web.exercise.lab_tests import nccl_tests_on_file
from app.site.web.frame.assets import assets
from app.site.web.reference.formulas import document_formula
from app.site.web.search.entries import entries

SERVER = "/server"  # the page about what an export has not
TROUBLE = "they need a server"  # of labs, on their pages
_RUNS = 200  # drawings whose training runs are searched, each of them once
_SEEDS = 24  # drawings whose mathematics is converted
_PROTOCOL = 4


def resolve_objects(catalog: Catalog, pages: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """Every object that the desk loads, by name, pickled."""
    found: Mapping[str, Callable[[], object]] = {
        "catalog": lambda: replace(catalog, images={}, translations={}),
        "language": lambda: (language(), LANGUAGES[language()], sentences(language())),
        "borrowed": nccl_tests_on_file,
        "packs": of_packs,
        "labs": known_labs,
        "faults": known_faults,
        "errata": errata,
        "terms": terms,
        "sources": sources,
        "runs": lambda: [report.without_samples() for report in shipped_runs()],
        "entries": lambda: (list(entries(catalog)), dict(question_file().words)),
        "assets": lambda: {name: asset.hashed for name, asset in assets().items()},
        "trouble": lambda: TROUBLE,
        "fastest": lambda: fastest_steps(catalog),
        "pages": lambda: ExportedPages(sorted(pages), SERVER),
    }
    for name, value in found.items():
        file = io.BytesIO()
        _Pickler(file, _PROTOCOL).dump(value())
        yield name, file.getvalue()


def fastest_steps(catalog: Catalog) -> Mapping[RunRequest, float]:
    """Seconds of the fastest layout of every training run that an exercise draws: a browser cannot search for it."""
    found: dict[RunRequest, float] = {}
    for exercise in catalog.exercises:
        if isinstance(exercise, Design) and exercise.run:
            drawn = (exercise.draw(seed).names for seed in range(_RUNS))
            found |= {asked: fastest_step(asked) for asked in map(exercise.run.request, drawn)}
    return found


def of_packs() -> Mapping[str, tuple[str, str]]:
    """The formulas of course packs: where each of them is, as its module and its own name."""
    found = {name: formula.function for name, formula in FORMULAS.items()}
    return {
        name: (one.__module__, one.__name__) for name, one in found.items() if one.__module__.startswith(f"{PACKAGE}.")
    }


class _Pickler(pickle.Pickler):
    """Pickles without what objects work out again, and addresses as texts."""

    def reducer_override(self, one: Any) -> Any:
        if isinstance(one, BaseModel):
            return copyreg.__newobj__, (type(one),), _state(one)  # type: ignore[attr-defined]
        if isinstance(one, AnyUrl):
            return str, (str(one),)
        return NotImplemented


def _state(model: BaseModel) -> dict[str, Any]:
    """The state of *model*, as pydantic restores it, without what is worked out again."""
    fields = {name: getattr(model, name) for name in type(model).model_fields}
    private = model.__pydantic_private__ or {}
    kept = {name: type(value)() if isinstance(value, ValueCache) else value for name, value in private.items()}
    return {
        "__dict__": fields,
        "__pydantic_extra__": None,
        "__pydantic_fields_set__": set(),
        "__pydantic_private__": kept or None,
    }


def mathematics(catalog: Catalog) -> bytes:
    """The conversions of the mathematics in every text, as JSON, with slots for numbers."""
    found: dict[str, str] = {}
    for latex, display in _equations(catalog):
        key = f"{int(display)}{skeleton(latex)}"
        if key not in found:
            found[key] = _slotted(latex, display=display)
    return json.dumps(found, ensure_ascii=False).encode()


def _slotted(latex: str, *, display: bool) -> str:
    """*latex* as MathML, with a slot for each of its numbers."""
    converted = str(mathml(latex, display=display))
    numbers = NUMBER.findall(latex)
    # Numbers of their own, to see where each of them goes.
    marks = [f"{9_000_001 + place}" for place in range(len(numbers))]
    rest = iter(marks)
    marked = NUMBER.sub(lambda _: next(rest), latex)
    try:
        other = str(mathml(marked, display=display))
    except MathematicsError:
        return converted
    for place, mark in enumerate(marks):
        other = other.replace(mark, f"{SLOT}{place};")
    return other


def _equations(catalog: Catalog) -> Iterator[tuple[str, bool]]:
    """The mathematics of every text that the desk may show; of texts that differ in numbers alone, of the first."""
    noted: dict[tuple[str, bool], None] = {}  # what is converted, and whether it stands on lines of its own
    texts: dict[str, str] = {}
    for text in _texts(catalog):
        if "$" in text:
            texts.setdefault(skeleton(text), text)
    converter = markdown.MATHEMATICS

    class Noting:
        def convert_with_local_state(self, latex: str, *, displaystyle: bool = False) -> str:
            noted[latex, displaystyle] = None
            return converter.convert_with_local_state(latex, displaystyle=displaystyle)

    markdown.MATHEMATICS = Noting()  # type: ignore[assignment]
    try:
        for formula in FORMULAS.values():
            document_formula(formula)
        for text in texts.values():
            markdown.html.__wrapped__(text)
    finally:
        markdown.MATHEMATICS = converter
    yield from noted


def _texts(catalog: Catalog) -> Iterator[str]:
    for topic in catalog.topics:
        yield from (part.text for part in opening_parts(topic.opening))
        yield topic.closing
        for question in topic.questions:
            yield from (question.prompt, question.says)
            yield from (mistake.says for mistake in question.mistakes.values())
    for exercise in catalog.exercises:
        seen: list[object] = []
        for seed in range(_SEEDS):
            drawn = exercise.draw(seed)
            values = (drawn.names, drawn.shown, drawn.listings)
            if values not in seen:  # five of six draw the values of an earlier one
                seen.append(values)
                yield from _texts_of(exercise, seed, exercise.solved(drawn))


def _texts_of(exercise: Exercise, seed: int, drawn: Draw) -> Iterator[str]:
    variant = exercise.variant(seed)
    yield from (variant.prompt, *variant.hints, variant.solution, exercise.reveal(seed))
    for _, text in exercise.texts():
        if "$" in text:
            with suppress(ExpressionError):
                yield exercise.fill(text, drawn)
