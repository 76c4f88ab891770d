"""The pages of `wallclock preview`, with a form for those who have never seen YAML."""

import asyncio
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import Annotated
from unicodedata import category
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, FastAPI, Header, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from app.authoring.lint import LintReport
from app.authoring.preview.workbench import (
    AuthoringPreview,
    ChangedFileError,
    Proof,
    files_in,
    files_of,
    read_text,
    save_text,
    stamp_of,
)
from app.authoring.starters import exercise_schema, write_missing_topic, write_new
from app.core.errors import ContentError, InputError, Problem
from app.core.expressions import ExpressionError, parse_expression
from app.core.yaml_file import LARGEST, parse_document
from app.course.content.course import PACK_FILE
from app.course.content.outline import COURSE_FILE
from app.course.content.topic_file import TOPIC_FILE
from app.course.content.translations import topic_of
from app.course.kinds.answer_key import AskedQuantity
from app.course.kinds.drawn_values import mixed_kinds
from app.course.kinds.schema_errors import cure_of_unit
from app.site import Site
from app.site.web.frame.renderer import frame, render

_WIDTH = 98  # of a folded text, which is indented by two
_LONG = 80  # characters from which on a text gets lines of its own
_ESCAPES = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\t"): "\\t"}
_TEXTS = ("title", "level", "prompt", "answer", "unit", "tolerance", "solution")
_UNSEEN = {"Cc", "Cn", "Co", "Cs", "Zl", "Zp"}  # control characters, line separators, none at all
_PLAIN = re.compile(r"[\w$.][\w $%./^*()²³·µ-]*(?<! )|-[\d.]+[\w $%./^²³·µ-]*(?<! )")
_NO_TEXTS = {"true", "false", "null", "Null", "NULL", "..."}
_PLACE = Path("form.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericDraft:
    """What an author has filled in for one number: rows without a name are left out."""

    title: str
    level: str
    prompt: str
    answer: str
    unit: str
    tolerance: str
    solution: str
    given: tuple[tuple[str, str], ...]  # a name, and values with commas between them
    mistakes: tuple[tuple[str, str], ...]  # a wrong value, and what to say of it
    hints: tuple[str, ...]
    sources: tuple[str, ...]

    @classmethod
    def of(cls, sent: Mapping[str, Sequence[str]]) -> "NumericDraft":
        """The form in what a page has *sent*."""
        values = {name: [_cleaned(text) for text in texts] for name, texts in sent.items()}

        def rows(first: str, second: str) -> tuple[tuple[str, str], ...]:
            pairs = zip_longest(values.get(first, ()), values.get(second, ()), fillvalue="")
            return tuple(pair for pair in pairs if pair[0])

        return cls(
            **{name: next(iter(values.get(name, ())), "") for name in _TEXTS},
            given=rows("given", "values"),
            mistakes=rows("mistakes", "says"),
            hints=tuple(text for text in values.get("hints", ()) if text),
            sources=tuple(text for text in values.get("sources", ()) if text),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProblem(Problem):
    """What is wrong in a *field* of the form."""

    field: str


_SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_COMMA = re.compile(r"\d,\d")
_RANGE = re.compile(r"(?<!\d)(\d++)\s*+(?:\.{2,3}|…)\s*(\d+)")
_STAND_IN = "7.13 * answer"  # a wrong answer that nobody has typed
_STAND_INS: Mapping[str, str] = {"title": "Untitled", "tolerance": "1 %", "solution": "It is {answer}."}
_LEAST = 2  # hints, and wrong answers
_TITLE = 3, 80  # characters
_ADDRESS = re.compile(r"https?://[^\s/]+\.")


def field_problems(form: NumericDraft) -> Iterator[tuple[str, str]]:
    """What each field of *form* lacks, by itself: the name of the field, and a sentence in words of its label."""
    least, most = _TITLE
    if not least <= len(form.title) <= most:
        yield "title", f"The title has {least} to {most} characters."
    yield from (("given", says) for says in _problems_of_values(form))
    if not form.prompt:
        yield "prompt", "Write the question."
    if says := _problem_of_expression(form.answer, [name for name, _ in form.given]):
        yield "answer", says
    yield from _problems_of_unit(form)
    yield from (("mistakes", says) for says in _problems_of_mistakes(form))
    if len(form.hints) < _LEAST:
        yield "hints", "Give at least two hints, from a nudge to nearly all."
    if not form.solution:
        yield "solution", "Write the solution, step by step."
    yield from (("sources", says) for says in _problems_of_sources(form))


def _problems_of_sources(form: NumericDraft) -> Iterator[str]:
    if not form.sources:
        yield "Give the address of a page that shows where it comes from: https://..."
    for source in form.sources:
        if not _ADDRESS.match(source):
            yield f"{source[:60]} is not the address of a page: write it in full, https://..."


def _problems_of_mistakes(form: NumericDraft) -> Iterator[str]:
    """What is wrong with the wrong answers that are foreseen."""
    for wrong, told in form.mistakes:
        if says := _problem_of_expression(wrong, [*(name for name, _ in form.given), "answer"]):
            yield f"{wrong}: {says}"
        if not told:
            yield f"{wrong}: write what to say to those who give it."
    if len(form.mistakes) < _LEAST:
        yield "Foresee at least two wrong answers."


def _problems_of_values(form: NumericDraft) -> Iterator[str]:
    """What is wrong with the values that vary."""
    seen = set[str]()
    for name, text in form.given:
        if not _SYMBOL.fullmatch(name):
            yield f"{name} cannot be a name in an expression: write one word of letters, digits and _, such as size."
        elif name == "answer":
            yield "answer is the name of the right answer: call the value something else."
        elif name in seen:
            yield f"{name} is there twice."
        seen.add(name)
        yield from _problems_of_list(name, text)


def _problems_of_list(name: str, text: str) -> Iterator[str]:
    """What is wrong with the values of one name."""
    values = [part.strip() for part in text.split(",") if part.strip()]
    if not values:
        yield f"{name} has no values: write some with commas between them, such as 1 GB, 4 GB."
    elif found := _RANGE.search(text):
        yield f"{name}: {found[0]} is not a value: write each one, such as {found[1]}, {found[2]}."
    elif _COMMA.search(text):
        yield (
            f"{name}: {text[:60]} is not clear: write decimals with a point, as in 1.5 GB, "
            "and a space after the comma between two values."
        )
    else:
        try:
            yield from (f"{name} {says}." for _, says in mixed_kinds({name: list(map(_number_or_text, values))}))
        except ExpressionError as error:
            yield f"{error}."


def _number_or_text(text: str) -> float | str:
    """*text* as the file has it: without a unit it is a number."""
    try:
        return float(text)
    except ValueError:
        return text


def _problem_of_expression(text: str, symbols: Sequence[str]) -> str:
    """Why *text* is not an expression or the name of a formula; empty where it is."""
    try:
        parse_expression(text, symbols)
    except ExpressionError as error:
        return f"{error}." if text else "Write an expression of the values, such as size / bandwidth."
    return ""


def _problems_of_unit(form: NumericDraft) -> Iterator[tuple[str, str]]:
    try:
        AskedQuantity(answer="1", unit=form.unit)
    except ValueError:
        yield "unit", f"{form.unit} is not a unit here. {cure_of_unit(form.unit)}"
    try:
        AskedQuantity(answer="1", tolerance=form.tolerance or "1 %")
    except ValueError:
        yield "tolerance", "Write the tolerance as 1 %, 0.3 points or exact; it is less than 50 %."


def provable(form: NumericDraft, faulty: Collection[str]) -> NumericDraft | None:
    """*form* with something to stand in for each of the *faulty* fields, so that the others can be proven.

    None if nothing can be worked out without them.
    """
    if {"given", "answer", "unit"} & set(faulty):
        return None
    symbols = [name for name, _ in form.given]
    mistakes = [
        (wrong, told)
        for wrong, told in form.mistakes
        if told and not _problem_of_expression(wrong, [*symbols, "answer"])
    ]
    mistakes += [(f"{_STAND_IN} * {n}", "Wrong.") for n in range(1, 1 + _LEAST - len(mistakes))]
    asks = "How much is it, given " + ", ".join(f"{{{name}}}" for name in symbols) + "?"
    stand_ins = {**_STAND_INS, "prompt": asks}
    texts = {name: text if name in faulty else getattr(form, name) for name, text in stand_ins.items()}
    return replace(
        form,
        mistakes=tuple(mistakes),
        hints=("Think.", "Think again.") if "hints" in faulty else form.hints,
        sources=("https://example.org/",) if "sources" in faulty else form.sources,
        title=texts["title"],
        prompt=texts["prompt"],
        tolerance=texts["tolerance"],
        solution=texts["solution"],
    )


_DRAWN = re.compile(r"seed \d+(?: \((?P<values>.*?)\))?: ")
_LABELS: Mapping[str, str] = {"`unit`": "the unit of the answer", "under mistakes": "to the wrong answers"}


def in_words_of_the_form(problem: Problem, text: str) -> FieldProblem | None:
    """The *problem* of the file *text* at the field that makes it; None, if it is about what stands in for one."""
    lines = text.split("\n")[: problem.line]
    top = next((line for line in reversed(lines) if re.match(r"\w++:", line)), "")
    field = top.partition(":")[0]
    if field == "mistakes" and _STAND_IN in f"{lines[-1]}{problem.says}":
        return None
    says = problem.says.removeprefix(field)
    entry, says = says.removeprefix(".").split(": ", 1) if says.startswith(".") else ("", says.removeprefix(": "))
    if field in ("hints", "sources") and entry.isdigit():
        entry = f"{field[:-1].capitalize()} {int(entry) + 1}"
    says = _DRAWN.sub(lambda found: f"with {found['values']}: " if found["values"] else "", says)
    cure = problem.cure
    for key, label in _LABELS.items():
        cure = cure.replace(key, label)
    return FieldProblem(
        path=problem.path, line=problem.line, says=f"{entry}: {says}" if entry else says, cure=cure, field=field
    )


async def form_proof(preview: AuthoringPreview, path: Path, form: NumericDraft, name: str, page: str) -> Proof:
    """What is wrong in each field of *form*, judged by itself, and the proof of what can be proven."""
    found = [("name", _NAME_CURE)] if not is_exercise_name(name) else []
    if (preview.folder / f"{name}.yaml").exists() and not found:
        found.append(("name", f"{name}.yaml exists already: choose another name, or edit that file."))
    found += field_problems(form)
    faulty = {field for field, _ in found}
    problems = [FieldProblem(path=path, line=1, says=says, field=field) for field, says in found]
    whole = provable(form, faulty)
    if whole is None:
        return Proof(LintReport(1, tuple(problems), ()), (), shown=False)
    text = numeric_text(whole)
    proof = await preview.proof(path, text.encode(), page)
    more = (in_words_of_the_form(one, text) for one in proof.linted.problems)
    problems += [one for one in more if one is not None and (one.field not in faulty or one.field == "mistakes")]
    notes = tuple(replace(note, line=0) for note in proof.linted.notes) if not problems else ()
    answers = () if "mistakes" in faulty else proof.answers
    return Proof(LintReport(1, tuple(problems), notes), answers, proof.shown)


def numeric_text(form: NumericDraft) -> str:
    """The file of the exercise in *form*, in the order and the style of the course."""
    return "\n".join(_lines(form)) + "\n"


def _lines(form: NumericDraft) -> Iterator[str]:
    yield "kind: numeric"
    yield _entry("title", form.title)
    yield f"level: {form.level}" if form.level.isdigit() else _entry("level", form.level)
    yield _entry("prompt", form.prompt)
    if form.given:
        yield "given:"
        for name, texts in form.given:
            values = ", ".join(_list_value(text.strip()) for text in texts.split(",") if text.strip())
            yield f"  {_yaml_key(name)}: [{values}]"
    for name in ("answer", "unit", "tolerance"):
        if text := getattr(form, name):
            yield _entry(name, text)
    if not form.unit:
        yield "quantity: number"  # of which feedback supposes the least
    if form.mistakes:
        yield "mistakes:"
        for wrong, says in form.mistakes:
            yield f"  {_yaml_key(wrong)}: {_scalar(says)}"
    yield from _items("hints", form.hints)
    yield _entry("solution", form.solution)
    yield from _items("sources", form.sources)


def _items(key: str, texts: Sequence[str]) -> Iterator[str]:
    if texts:
        yield f"{key}:"
        yield from (f"  - {_scalar(text)}" for text in texts)


def _entry(key: str, text: str) -> str:
    """`key: text`, on lines of its own where it is long or has several."""
    if len(text) > _LONG or "\n" in text:
        lines = text.split("\n") if "\n" in text else wrap(text, _WIDTH, break_long_words=False)
        sign = "|" if "\n" in text else ">"
        block = "\n".join([f"{key}: {sign}", *(f"  {line}" if line else "" for line in lines)])
        if _read(f"{block}\n") == {key: f"{text}\n"}:
            return block
    return f"{key}: {_scalar(text)}"


def _scalar(text: str) -> str:
    """*text* as a value, in quotes where YAML would read something else."""
    return text if _read(f"a: {text}") == {"a": text} else _quoted(text)


def _yaml_key(text: str) -> str:
    return text if _read(f"{text}: a") == {text: "a"} else _quoted(text)


def _list_value(text: str) -> str:
    """One value of a list in brackets: a number, or a text with a unit."""
    return text if _PLAIN.fullmatch(text) and text not in _NO_TEXTS else _quoted(text)


def _read(text: str) -> Mapping[str, object] | None:
    try:
        return parse_document(_PLACE, text.encode()).values
    except ContentError:
        return None


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _cleaned(text: str) -> str:
    """*text* as a person means it: without what cannot be seen, and without spaces around it."""
    seen = "".join(c for c in text.replace("\r\n", "\n") if c == "\n" or category(c) not in _UNSEEN)
    return "\n".join(line.rstrip() for line in seen.strip().split("\n"))


_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
_NOT_NAMED = "new-exercise"
_OTHERS = (TOPIC_FILE, PACK_FILE, COURSE_FILE)
_NAME_CURE = "Name the file in lowercase letters, digits and hyphens, not topic, pack or course."


@dataclass(frozen=True, slots=True)
class NewExercisePage:
    """An empty form for a file of *folder*."""

    folder: str
    name: str


@dataclass(frozen=True, slots=True)
class FormDraft:
    """The file that a form makes, its proof, and the address of its exercise."""

    address: str
    text: str
    proof: Proof


def is_exercise_name(name: str) -> bool:
    """Whether *name*.yaml may be the file of an exercise."""
    return _NAME.fullmatch(name) is not None and f"{name}.yaml" not in _OTHERS


def form_routes(preview: AuthoringPreview) -> APIRouter:
    """What makes new files; only a page that has the key may send a form."""
    router = APIRouter(prefix="/preview/new")

    @router.get("")
    def empty(request: Request, name: str = "") -> Response:
        around = replace(frame(request, "New exercise"), arrives=False)
        page = NewExercisePage(str(preview.folder), name if is_exercise_name(name) else "")
        return render("authoring/new.html", around, page)

    @router.post("/draft", dependencies=[Depends(preview.admit)])
    async def draft(request: Request, page: str = "") -> Response:
        sent = await _form(request)
        path, form = _draft_path(preview, sent), NumericDraft.of(sent)
        proof = await form_proof(preview, path, form, next(iter(sent.get("name", [""]))), page)
        address = f"/exercises/{topic_of(path)}/{path.stem}"
        found = FormDraft(address, numeric_text(form), proof)
        return render("authoring/draft.html", frame(request, "Proof"), found)

    @router.post("", dependencies=[Depends(preview.admit)])
    async def create(request: Request) -> Response:
        sent = await _form(request)
        return await asyncio.to_thread(_created, preview, sent)

    return router


async def _form(request: Request) -> Mapping[str, Sequence[str]]:
    text = (await request.body()).decode("utf-8", errors="replace")
    return parse_qs(text, keep_blank_values=True)


def _draft_path(preview: AuthoringPreview, sent: Mapping[str, Sequence[str]]) -> Path:
    """Where the file would be; elsewhere if its name is none yet, or that of another."""
    [name, *_] = sent.get("name", [""])
    is_free = is_exercise_name(name) and not (preview.folder / f"{name}.yaml").exists()
    return preview.folder / f"{name if is_free else _NOT_NAMED}.yaml"


def _created(preview: AuthoringPreview, sent: Mapping[str, Sequence[str]]) -> Response:
    """Write the file of the form, and say where it is edited."""
    [name, *_] = sent.get("name", [""])
    if not is_exercise_name(name):
        return _form_refusal(_NAME_CURE)
    try:
        path = write_new(preview.folder / f"{name}.yaml", numeric_text(NumericDraft.of(sent)))
        write_missing_topic(preview.folder)
    except InputError as error:
        return _form_refusal(str(error))
    preview.files[path.stem] = path
    return Response(name, HTTPStatus.CREATED, media_type="text/plain")


def _form_refusal(says: str) -> Response:
    return Response(says, HTTPStatus.UNPROCESSABLE_ENTITY, media_type="text/plain")


_CHANGED = "another program, or another page, has changed the file since this page read it"


def preview_app(path: Path, site: Site, key: str, *, new: bool = False, locked: bool = False) -> FastAPI:
    """The site, with /preview for the exercise files at *path*; the *key* lets a page edit them.

    If they are *locked*, it takes the key to read them, too. With *new*, the file at *path* does not exist yet, and the
    other files of its folder are shown.

    Raises:
        InputError: no exercise file was found.
    """
    if new:
        folder, files = path.parent, files_in(path.parent)
    else:
        folder, files = path if path.is_dir() else path.parent, files_of(path)
    preview = AuthoringPreview(folder, files, site, key, locked=locked)
    for routes in (_reading_routes, _writing_routes, form_routes):
        preview.app.include_router(routes(preview))
    return preview.app


def _reading_routes(preview: AuthoringPreview) -> APIRouter:
    router = APIRouter(prefix="/preview")

    @router.get("")
    def show(request: Request, name: str = "") -> Response:
        page = preview.page(name)
        around = replace(frame(request, f"Preview of {page.name}"), arrives=False)
        return render("authoring/preview.html", around, page)

    @router.get("/stamp")
    def stamp(name: str = "") -> Response:
        return Response(stamp_of(preview.file(name)), media_type="text/plain")

    @router.get("/text", dependencies=[Depends(preview.admit_reader)])
    def text(name: str = "") -> Response:
        found = read_text(preview.file(name))
        if found.trouble:
            return _routes_refusal(found.trouble)
        return Response(found.text, headers={"ETag": f'"{found.stamp}"'}, media_type="text/plain")

    @router.get("/schema")
    def schema() -> Response:
        return JSONResponse(exercise_schema())

    @router.get("/proof", dependencies=[Depends(preview.admit_reader)])
    async def proof(request: Request, name: str = "") -> Response:
        found = await preview.stored_proof(name)
        return render("authoring/proof.html", frame(request, "Proof"), found)

    return router


def _writing_routes(preview: AuthoringPreview) -> APIRouter:
    """What only the page may send that has the key."""
    router = APIRouter(prefix="/preview", dependencies=[Depends(preview.admit)])

    @router.post("/draft")
    async def draft(request: Request, name: str = "", page: str = "") -> Response:
        found = await preview.proof(preview.file(name), await _text_of(request), page)
        return render("authoring/proof.html", frame(request, "Proof"), found)

    @router.put("/text")
    async def save(request: Request, name: str = "", if_match: Annotated[str, Header()] = "") -> Response:
        path, source = preview.file(name), await _text_of(request)
        return await asyncio.to_thread(_save, path, source, if_match.strip('"'))

    return router


def _save(path: Path, source: bytes, seen: str) -> Response:
    try:
        stamp = save_text(path, source.decode(), seen)
    except ChangedFileError:
        return _routes_refusal(_CHANGED, HTTPStatus.PRECONDITION_FAILED)
    except UnicodeDecodeError:
        return _routes_refusal("The text is not UTF-8.")
    except InputError as error:
        return _routes_refusal(str(error))
    return Response(stamp, media_type="text/plain")


def _routes_refusal(says: str, status: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY) -> Response:
    return Response(says, status, media_type="text/plain")


async def _text_of(request: Request) -> bytes:
    """The text that a page sends.

    Raises:
        HTTPException: 413.
    """
    source = await request.body()
    if len(source) > LARGEST:
        says = f"the text has {len(source):,} bytes, and at most {LARGEST:,} are read"
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, says)
    return source
