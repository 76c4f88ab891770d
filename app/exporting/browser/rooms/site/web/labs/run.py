"""In place of the page of a run, which is exported: a prediction beside what the run measured."""

from dataclasses import dataclass

from fastapi import Request, Response

from app.core.errors import InputError, NotFoundError, sentence
from app.labs.spec import Lab, lab_called
from app.server.network.routes import Router
from app.site import Here
from app.site.labs.words import translate_lab
from app.site.web.frame.renderer import render_part
from app.site.web.labs.predictions import GuessTable, guess_afterwards
from app.site.web.labs.results import RunResult, list_finished_runs

router = Router(prefix="/labs")
_LONGEST = 200  # characters of a prediction


@dataclass(frozen=True, slots=True)
class ComparedPrediction:
    """A prediction beside what was measured, or the *problem* with it."""

    compared: GuessTable | None
    problem: str


@router.get("/{name}/{run}")
async def run_page(request: Request, site: Here, name: str, run: str) -> Response:
    """What the page of a run shows for the prediction in its address."""
    lab = translate_lab(lab_called(name))
    found = (one for one in list_finished_runs(site, lab.name) if one.report and one.report.id == run)
    result = next(found, None)
    if result is None:
        raise NotFoundError(f"no run is called {run[:60]!r}")
    guess = request.query_params.get("guess", "")[:_LONGEST]
    response = render_part("exported/compared.html", _compared(lab, result, guess))
    response.headers["x-part"] = "#run"
    return response


def _compared(lab: Lab, result: RunResult, guess: str) -> ComparedPrediction:
    """The prediction beside the measurement, or what is wrong with it."""
    try:
        return ComparedPrediction(guess_afterwards(lab, result, guess), "")
    except InputError as error:
        return ComparedPrediction(None, sentence(str(error)))
