"""Proof of one exercise: variants and its figure make sense, the answer is accepted, links lead somewhere."""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from app.authoring.texts import SEEDS, Script, distinct, drawn_values, written_numbers
from app.core.charts.axes import PAPERS
from app.core.charts.svg import to_svg
from app.core.errors import AppError, NotFoundError, nearest
from app.core.expressions import ExpressionError, Quantity, blank_slots
from app.core.folders import ROOT
from app.core.formulas import FORMULAS
from app.course.content.errata import errata, terms
from app.course.content.images import is_image, read_image
from app.course.content.translations import is_translation
from app.course.explorers import EXPLORERS
from app.course.explorers.base import open_explorer
from app.course.illustrations import ILLUSTRATIONS, Sketch, illustrate, listed_inputs
from app.course.kinds import Exercise, Finding, Where
from app.course.kinds.base import Answer, EmbeddedFigures, ExerciseFigure, single_text
from app.course.kinds.choice import LabExercise
from app.course.kinds.drawn_values import NOTHING_DRAWN, DrawError, corners, mixed_kinds
from app.course.kinds.numeric import ONLY, Numeric
from app.course.sandbox.runner import Runner
from app.labs.results.analysis import shipped_runs
from app.labs.spec import LabJob, lab_called, read_job
from app.site.labs.match import BORROWING, FITTED, find_result, is_of, is_same_job
from app.site.labs.nccl_tests import nccl_tests_runs
from app.site.markdown import MathematicsError, addresses, check_mathematics

_OPENAPI = "api/v1/openapi.json"
_ELSEWHERE = ("http", "https", "mailto")
_FIGURE = "put the image beside this file as .png, .jpg, .gif, .webp or .svg, and name it: ![...](a.png)"
_UNSAID = re.compile(r"!\[\s*\]\(")
_KNOWN = "link to an existing page, or to https://..."


@dataclass(frozen=True)
class Places:
    """The chapters and exercises in *folders*, as targets of links."""

    folders: Sequence[Path]

    @cached_property
    def exercises(self) -> frozenset[str]:
        """The ids of the exercises."""
        files = [file for folder in self.folders for file in folder.glob("*/*.yaml")]
        files = [file for file in files if not is_translation(file)]
        return frozenset(f"{file.parent.name}/{file.stem}" for file in files)

    @cached_property
    def chapters(self) -> frozenset[str]:
        """The names of the chapters."""
        return frozenset(name.partition("/")[0] for name in self.exercises)


def prove_addresses(where: Where, text: str, places: Places) -> Iterator[Finding]:
    """The broken images and links in the Markdown *text* at *where*."""
    if _UNSAID.search(text):
        cure = "say what it shows between the brackets, for those who cannot see it"
        yield Finding(where, "an image has no description", cure)
    for kind, address in addresses(text):
        if kind == "image":
            if says := _trouble_of_image(address, places):
                yield Finding(where, says, _FIGURE)
        elif says := _trouble_of_link(address, places):
            yield Finding(where, says, _KNOWN)


def _trouble_of_image(address: str, places: Places) -> str:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return f"the image {address} is on another site, which the security policy blocks"
    if parts.path.startswith("/static/") and (ROOT / parts.path[1:]).is_file():
        return ""
    if not parts.path.startswith("/images/"):
        return f"the image {address} does not exist"
    for folder in places.folders:
        path = folder / parts.path.removeprefix("/images/")
        if path.is_file() and is_image(path.name):
            try:
                read_image(path)
            except ValueError as error:
                return f"the image {path.name} {error}"
            return ""
    return f"the image {address} does not exist"


def _trouble_of_link(address: str, places: Places) -> str:
    parts = urlsplit(address)
    if parts.scheme in _ELSEWHERE or (not parts.scheme and parts.netloc):
        return ""
    if parts.scheme or not parts.path.startswith("/"):
        return f"the link {address} is broken: a link must begin with https:// or /"
    path = parts.path.strip("/")
    room, _, name = path.partition("/")
    if room in _ROOMS and name:
        return _ROOMS[room](name, dict(parse_qsl(parts.query)), places)
    if path in _ANCHORS and parts.fragment:
        return _unknown(f"entry of /{path}", parts.fragment, _ANCHORS[path]())
    pages = _pages()
    if path in pages or (room == "static" and (ROOT / path).is_file()):
        return ""
    return f"the link {address} is broken{nearest(path, pages - {''})}"


@cache
def _pages() -> frozenset[str]:
    """The pages of the site that have an address of their own."""
    from app.main import installed_parts  # here: few files have a link that needs them
    from app.site.web import fixed_addresses

    further = [page for part in installed_parts() for page in part.pages]
    return frozenset(address.strip("/") for address in fixed_addresses(further)) | {_OPENAPI}


def _unknown(what: str, name: str, known: Mapping[str, object] | frozenset[str]) -> str:
    return "" if name in known else f"no {what} is called {name!r}{nearest(name, known)}"


def _trouble_with(work: Callable[[], object]) -> str:
    """Why *work* cannot be done; empty where it can."""
    try:
        work()
    except (ValueError, NotFoundError) as error:
        return str(error)
    return ""


_ROOMS: Mapping[str, Callable[[str, Mapping[str, str], Places], str]] = {
    "formulas": lambda name, _, __: _unknown("formula", name, FORMULAS),
    "chapters": lambda name, _, places: _unknown("chapter", name, places.chapters),
    "exercises": lambda name, _, places: _unknown("exercise", name, places.exercises),
    "explore": lambda name, state, _: _trouble_with(lambda: open_explorer(EXPLORERS, name, state)),
    "labs": lambda name, _, __: _trouble_with(lambda: lab_called(name.partition("/")[0])),
    "errata": lambda name, _, __: _unknown("erratum", name, _ANCHORS["errata"]()),
}
_ANCHORS: Mapping[str, Callable[[], frozenset[str]]] = {
    "glossary": lambda: frozenset(terms()),
    "errata": lambda: frozenset(one.id for one in errata()),
}


_CODE_SEEDS = range(5)
_SAME = 1e-9  # of two ways to work out a number
_DRAWN = ("given", "cases", "from_chapter")
_ALIKE = "give all values of a name in one kind of unit: 1 GB, 4 GB"
_NUDGE = "say how to get there instead"


async def prove(exercise: Exercise, runner: Runner) -> list[Finding]:
    """Every problem of *exercise*, each reported once.

    Raises:
        UnavailableError: the sandbox cannot run its code.
    """
    findings: list[Finding] = []
    with suppress(ExpressionError):  # told of the drawing that it is in
        findings = [Finding(("given", name), says, _ALIKE) for name, says in mixed_kinds(exercise.given)]
    for seed in () if findings else _seeds(exercise):
        await asyncio.sleep(0)  # this work must not delay the results of other runs
        if findings := await _prove_seed(exercise, seed, runner):
            break  # other drawings would mostly say the same again
    if not findings and (alike := _always_alike(exercise)):
        findings.append(alike)
    return findings + await exercise.prove_code(_CODE_SEEDS, runner)


def _seeds(exercise: Exercise) -> Iterator[int]:
    """The seeds to prove: one of several that would make the same exercise."""
    seeds = (*SEEDS, *corners(exercise.chapter_parameters))
    if not exercise.only_draws:
        yield from seeds
        return
    try:
        yield from distinct(exercise, seeds)
    except ExpressionError:
        yield from seeds  # one of them cannot be drawn, and the proof says so


def prove_parts(exercise: Exercise, values: Mapping[str, object], places: Places) -> Iterator[Finding]:
    """What is wrong with what *exercise* uses, links to, shows and runs, before an answer is graded."""
    yield from prove_use(exercise, values)
    yield from prove_links(exercise, places)
    yield from prove_figures(exercise)
    yield from prove_illustration(exercise)
    yield from prove_lab(exercise)
    yield from prove_terms(exercise)


def prove_use(exercise: Exercise, values: Mapping[str, object]) -> Iterator[Finding]:
    """Values that are drawn or defined, and never used."""
    used = str({key: value for key, value in values.items() if key not in _DRAWN})
    names: dict[str, Where] = {name: ("given", name) for name in exercise.given}
    names |= dict.fromkeys(exercise.from_chapter, ("from_chapter",))
    names |= {name: ("cases", "0") for case in exercise.cases for name in case}
    for name, where in names.items():
        if not re.search(rf"\b{re.escape(name)}\b", used):
            says = f"{name} is drawn but never used"
            yield Finding(where, says, "use it in the prompt, or remove it")
    if isinstance(exercise, Numeric) and ONLY in exercise.asked and ONLY in names | exercise.let:
        where = names.get(ONLY, ("let", ONLY))
        yield Finding(where, f"{ONLY} is the name of the right answer", "call this value something else")
    for name in exercise.let:
        if len(re.findall(rf"\b{re.escape(name)}\b", used)) < len(("its name", "a use")):
            yield Finding(("let", name), "is defined but never used", "remove it")


def prove_links(exercise: Exercise, places: Places) -> Iterator[Finding]:
    """Broken links and images of variant 0."""
    for where, text in (*exercise.texts(), (("solution",), exercise.solution)):
        try:
            filled = exercise.fill(text, exercise.draw(0))
        except ExpressionError:  # names an answer, or is reported where it is proven
            filled = text
        yield from prove_addresses(where, filled, places)


def prove_figures(exercise: Exercise) -> Iterator[Finding]:
    """Figures of explorers that cannot be drawn with the values of some seed."""
    for index, figure in enumerate(exercise.figures):
        for seed in SEEDS:
            try:
                state = exercise.state_of(figure, seed)
            except ExpressionError as error:
                says = str(error)
            else:
                says = trouble_of_figure(figure, state)
            if says:
                yield Finding(("figures", index), f"seed {seed}: {says}")
                break


def trouble_of_chapter_figure(figure: EmbeddedFigures | ExerciseFigure) -> str:
    """Why *figure* of a chapter, whose state is fixed, cannot be drawn; empty where it can."""
    if isinstance(figure, EmbeddedFigures):
        return trouble_of_figure(figure, {name: str(text) for name, text in figure.state.items()})
    return _trouble_with(lambda: illustrate(figure, NOTHING_DRAWN))


def trouble_of_figure(figure: EmbeddedFigures, state: Mapping[str, str]) -> str:
    """Why *figure* cannot be drawn in *state*; empty where it can."""
    try:
        shown = open_explorer(EXPLORERS, figure.explorer, state).shown
    except ValueError as error:
        return str(error)
    if figure.figure is not None and figure.figure >= len(shown.figures):
        return f"{figure.explorer} has figures 0 to {len(shown.figures) - 1}, not {figure.figure}"
    return ""


def prove_lab(exercise: Exercise) -> Iterator[Finding]:
    """An unknown lab, predictions that differ from the lab's own, and missing recordings."""
    if not isinstance(exercise, LabExercise):
        return
    for seed in SEEDS:
        try:
            lab = lab_called(exercise.lab).on(exercise.backend)
            job = read_job(lab, exercise.parameters(seed))
            findings = list(_prove_runs(exercise, seed, job))
        except AppError as error:
            findings = [Finding(("run",), str(error))]
        except ExpressionError:
            return  # reported where the expression is
        if findings:
            yield from (Finding(f.where, f"seed {seed}: {f.says}", f.cure) for f in findings)
            return


def _prove_runs(exercise: LabExercise, seed: int, job: LabJob) -> Iterator[Finding]:
    """Each prediction is in a run at hand, where it is what the lab itself predicts."""
    runs = [report for report in shipped_runs() if is_of(report, job)]
    if job.lab.name == BORROWING:
        published = nccl_tests_runs().values()
        runs += [run for run in published if is_same_job(run, job, any_ranks=exercise.any_ranks)]
    for name, key in exercise.keys(seed).items():
        measured, places = exercise.predict[name].measured, exercise.places(name, seed)
        where = ("predict", name, "measured")
        if measured.partition("/")[0] not in job.lab.measures:
            near = nearest(measured, job.lab.measures)
            yield Finding(where, f"{job.lab.name} does not measure {measured!r}{near}")
            continue
        found = [one for report in runs if (one := find_result(report, measured, *places))]
        is_fit = measured.partition("/")[2] in FITTED  # of a line, which no run has that something disturbed
        if not found and not (is_fit and any(report.doubts for report in runs)):
            says = f"no recorded run measures {measured} at this place"
            yield Finding(where, says, f"record one: {job.command} --json")
        for one in found:
            known = one.value if job.lab.links == "counted" else one.predicted
            if known is not None and abs(known / key.right - 1) > _SAME:
                says = f"the lab says {key.asked.shown(known)}"
                yield Finding(("predict", name, "answer"), says, "predict the same value")
                break


async def _prove_seed(exercise: Exercise, seed: int, runner: Runner) -> list[Finding]:
    try:
        drawn = exercise.draw(seed)
    except ExpressionError as error:
        where = error.where if isinstance(error, DrawError) else ("given",)
        return [Finding(where, f"seed {seed}: {error}")]
    findings = [*_prove_texts(exercise, seed), *exercise.prove(drawn)]
    try:
        check_mathematics(exercise.fill(exercise.solution, exercise.solved(drawn)))
    except (ExpressionError, MathematicsError) as error:
        # A wrong key is reported where it is written; its use in the solution adds nothing.
        if str(error) not in {finding.says for finding in findings}:
            findings.append(Finding(("solution",), str(error)))
    if not findings:
        findings += _prove_hints(exercise, seed)
    if not findings and not exercise.runs_code:  # prove_code grades those, and once is enough
        findings += await _prove_answers(exercise, seed, runner)
    seen = drawn_values(drawn)
    return [Finding(f.where, f"seed {seed}{seen}: {f.says}", f.cure) for f in findings]


def _always_alike(exercise: Exercise) -> Finding | None:
    """A finding if there are values to choose from, and all seeds draw the same."""
    choices = [len(values) for values in exercise.given.values()] + [len(exercise.cases)]
    drawn = {tuple(exercise.draw(seed).shown.items()) for seed in SEEDS}
    if max(choices) > 1 and len(drawn) == 1:
        says = f"{len(SEEDS)} seeds draw the same values"
        return Finding(("where",), says, "loosen `where`, so that more than one variant is drawn")
    return None


def _prove_texts(exercise: Exercise, seed: int) -> Iterator[Finding]:
    drawn = exercise.draw(seed)
    for where, text in exercise.texts():
        if "mistakes" in where:  # filled with the answers when the mistakes are proven
            continue
        try:
            check_mathematics(exercise.fill(text, drawn))
        except (ExpressionError, MathematicsError) as error:
            yield Finding(where, str(error))


def _prove_hints(exercise: Exercise, seed: int) -> Iterator[Finding]:
    """No hint contains the answer."""
    variant = exercise.variant(seed)
    for index, hint in enumerate(variant.hints):
        for text in exercise.telling(seed):
            if _mentions(hint, text) and not _mentions(variant.prompt, text):
                yield Finding(("hints", index), f"gives the answer away: {text}", _NUDGE)


def _mentions(hint: str, text: str) -> bool:
    return re.search(rf"(?<![\w.,]){re.escape(text)}(?![\d]|[.,]\d)", hint) is not None


async def _prove_answers(exercise: Exercise, seed: int, runner: Runner) -> list[Finding]:
    findings = []
    right = exercise.right_answer(seed)
    try:
        if not (await exercise.grade(seed, right, runner)).correct:
            findings.append(Finding((), f"does not accept its own answer {_short(right)}"))
        for answer, says in exercise.mistakes(seed):
            verdict = await exercise.grade(seed, answer, runner)
            if verdict.correct:
                findings.append(Finding((), f"accepts the mistake {_short(answer)}"))
            elif not any(says in sentence for sentence in verdict.feedback):
                findings.append(Finding((), f"the mistake {_short(answer)} does not get its feedback: {says}"))
    except AppError as error:
        findings.append(Finding((), str(error)))
    return findings


def _short(answer: Answer) -> str:
    return repr(single_text(answer) if isinstance(answer, str) else answer)[:100]


_TEXT = re.compile(r'>([^<>]+)<|(?:aria-label|data-says|data-names)="([^"]*)"')
_CURE = "leave that input out, or choose another figure"


def prove_illustration(exercise: Exercise) -> Iterator[Finding]:
    """A figure that cannot be drawn with the values of some seed, or that shows the answer."""
    if exercise.figure is None:
        return
    try:
        for seed in distinct(exercise, SEEDS):
            if found := _trouble(exercise, exercise.figure, seed):
                yield found
                return
    except ExpressionError:  # reported where the expression is
        return


def _trouble(exercise: Exercise, figure: ExerciseFigure, seed: int) -> Finding | None:
    """What is wrong with *figure* as *seed* draws it."""
    try:
        told = _told_answer(exercise, figure, seed)
    except ExpressionError:
        raise
    except ValueError as error:
        cure = f"the figures are {', '.join(sorted(ILLUSTRATIONS))}"
        if figure.draws in ILLUSTRATIONS:
            cure = f"{figure.draws} is drawn from {listed_inputs(ILLUSTRATIONS[figure.draws])}"
        return Finding(("figure",), f"seed {seed}: {error}", cure)
    if told:
        return Finding(("figure",), f"seed {seed}: shows {told}, which is the answer", _CURE)
    return None


_COUNTED = re.compile(r"(?<![\d.,/])(\d[\d,]*)\**[ -](?:[a-z]+(?:-[a-z]+)? )??(rank|GPU|worker|process)(?:e?s)?\b")
_WORKER = re.compile(r"\b(?<!loader )(?<!rollout )workers?\b(?! of a loader)", re.IGNORECASE)
_ONE_WORD = "a rank sends and receives, a GPU computes and has memory, a worker loads samples or writes rollouts"


def prove_terms(exercise: Exercise) -> Iterator[Finding]:
    """A rank that is called a worker, and a count that is one of ranks here and one of GPUs there, or in the figure."""
    for where, text in Script(exercise).texts:
        if found := _WORKER.search(blank_slots(text)):
            yield Finding(where, f"calls a rank or a GPU {found[0]!r}", _ONE_WORD)
    try:
        for seed in distinct(exercise, SEEDS):
            if says := _called_twice(exercise, seed):
                yield Finding(("prompt",), f"seed {seed}: {says}", _ONE_WORD)
                return
    except (ExpressionError, ValueError):  # reported where the value is
        return


def _called_twice(exercise: Exercise, seed: int) -> str:
    """A number of ranks that is also one of GPUs, in words; empty if there is none."""
    drawn = exercise.solved(exercise.draw(seed))
    texts = [exercise.fill(text, drawn) for _, text in Script(exercise).texts]
    if exercise.figure is not None:
        texts += figure_texts(illustrate(exercise.figure, drawn))
    words: dict[str, str] = {}
    for number, word in (found for text in texts for found in _COUNTED.findall(text)):
        if (other := words.setdefault(number, word)) != word:
            return f"{number} is a count of {other}s and of {word}s"
    return ""


def figure_texts(figure: Sketch) -> Sequence[str]:
    """Every text of *figure*, on every paper, for readers and for screen readers."""
    drawn = "".join(to_svg(figure, alone=False, paper=paper) for paper in PAPERS.values())
    found = {unescape(" ".join(match).strip()) for match in _TEXT.findall(drawn)}
    return sorted({figure.title, *found} - {""})


def _told_answer(exercise: Exercise, figure: ExerciseFigure, seed: int) -> str:
    """A number that the figure shows and that is an answer; empty if there is none."""
    keys = Script(exercise).keys(exercise.draw(seed))
    rights = [Quantity(key.right, key.asked.scale.unit.dimension) for key in keys.values()]
    asked = list(written_numbers(exercise.variant(seed).prompt))
    hidden = [right for right in rights if not any(one.equals(right) for one in asked)]
    for text in figure_texts(illustrate(figure, exercise.draw(seed))):
        for written in written_numbers(text):
            if (written.has_unit or written.is_distinctive) and any(map(written.equals, hidden)):
                return written.text
    return ""
