"""/pictures: the picture of a page, drawn from the same words and figures, as PNG."""

from collections.abc import Callable

from fastapi import Request, Response

from app.aside import aside
from app.charts.card import PictureCard, card_svg
from app.content.errata import erratum_called
from app.explorers import Explorer, Values
from app.labs.spec import lab_called
from app.network.routes import Router
from app.site import Here, Site
from app.web.course.chapter_view import chapter_card
from app.web.exercise.card import exercise_card
from app.web.exercise.routes import draw_aside
from app.web.exercise.schedule_picture import schedule_card, schedule_exercise, shared_schedule
from app.web.explore.card import explorer_card
from app.web.explore.state import control_values, explored, explorer_called, url_state, waits
from app.web.frame.visitor import spend
from app.web.labs.cards import board_card, lab_card, run_card
from app.web.labs.results import report_called
from app.web.labs.run_comparison import groups_of
from app.web.reference.cards import erratum_card, formula_card
from app.web.reference.formula_view import calculated, formula_called
from app.web.share.studio import Key, Studio
from app.web.urls import seed_of

router = Router(prefix="/pictures")
_KEEP = "public, max-age=86400"


@router.get("/explore/{name}.png")
async def of_explorer(request: Request, site: Here, name: str) -> Response:
    """An explorer in the state of the address, or in the nearest that there is."""
    explorer = explorer_called(name)
    values, _ = control_values(explorer, request.query_params)
    hidden = waits(explorer, request.query_params)
    key = ("explore", name, str(hidden), *url_state(explorer, values).values())
    return await _sent(request, site, key, lambda: _explorer(site, explorer, values, hidden))


@router.get("/errata/{name}.png")
async def of_erratum(request: Request, site: Here, name: str) -> Response:
    """An erratum."""
    erratum = erratum_called(name)
    return await _sent(request, site, ("errata", erratum.id), lambda: erratum_card(erratum))


@router.get("/formulas/{name}.png")
async def of_formula(request: Request, site: Here, name: str) -> Response:
    """A formula, and its result for the arguments in the address."""
    formula = formula_called(name)
    given, result = await aside(calculated, formula, request.query_params)
    key = ("formulas", formula.name, result, *given.values())
    return await _sent(request, site, key, lambda: formula_card(formula, given, result))


@router.get("/labs/{name}.png")
async def of_lab(request: Request, site: Here, name: str) -> Response:
    """A lab, before its measurement."""
    lab = lab_called(name)
    return await _sent(request, site, ("labs", lab.name), lambda: lab_card(lab))


@router.get("/labs/{name}/board.png")
async def of_board(request: Request, site: Here, name: str) -> Response:
    """A lab on every machine that has run it."""
    lab = lab_called(name)
    groups = await aside(groups_of, site, lab)
    run = [one.report.id for group in groups[:1] for one in group.runs]
    return await _sent(request, site, ("boards", lab.name, *run), lambda: board_card(lab, groups))


@router.get("/labs/{name}/{run}.png")
async def of_run(request: Request, site: Here, name: str, run: str) -> Response:
    """A run of a lab that has measured something."""
    lab = lab_called(name)
    report = await aside(report_called, site, lab.name, run)
    key = ("runs", lab.name, run, str(len(report.measures)))
    return await _sent(request, site, key, lambda: run_card(lab, report))


@router.get("/exercises/{topic}/{slug}.png")
async def exercise_picture(request: Request, site: Here, topic: str, slug: str, seed: str = "0") -> Response:
    """The question of an exercise, as a seed draws it."""
    exercise, drawn = site.catalog.exercise(f"{topic}/{slug}"), seed_of(seed)
    await draw_aside(exercise, drawn)
    card = exercise_card(exercise, site.catalog.topic_of(exercise).title, drawn)
    return await _sent(request, site, ("exercises", exercise.id, card.says), lambda: card)


@router.get("/exercises/{topic}/{slug}/schedule.png")
async def of_schedule(request: Request, site: Here, topic: str, slug: str, of: str = "") -> Response:
    """The schedule in the address."""
    exercise = schedule_exercise(site.catalog, f"{topic}/{slug}")
    chapter = site.catalog.topic_of(exercise).title
    played = await aside(shared_schedule, exercise, of)
    key = ("schedules", exercise.id, exercise.digest, of)
    return await _sent(request, site, key, lambda: schedule_card(exercise, chapter, played))


@router.get("/chapters/{name}.png")
async def of_chapter(request: Request, site: Here, name: str) -> Response:
    """A chapter."""
    topic = site.catalog.topic(name)
    return await _sent(request, site, ("chapters", topic.id), lambda: chapter_card(topic))


def _explorer(site: Site, explorer: Explorer, values: Values, hidden: bool) -> PictureCard:
    shown, _ = explored(explorer, values)
    chapter = site.catalog.topic(explorer.chapter).title
    return explorer_card(explorer, chapter, values, shown, hidden=hidden)


async def _sent(request: Request, site: Site, key: Key, card: Callable[[], PictureCard]) -> Response:
    """The picture of *key*, with what *card* returns on it."""
    studio: Studio = request.app.state.studio
    picture = await studio.picture(
        key, lambda: card_svg(card()), lambda: spend(request, site.allowances.pictures, "pictures")
    )
    headers = {"Cache-Control": _KEEP, "ETag": f'"{picture.tag}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(picture.png, media_type="image/png", headers=headers)
