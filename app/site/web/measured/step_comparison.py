"""A training log beside the prediction for its layout, and the way to the layout explorer."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from app.core.errors import sentence
from app.core.measurements.reports import TrainingLog
from app.core.measurements.step_prediction import RECORDS, guesses_of, predicted_step, records_of
from app.core.translation import localized, translate
from app.course.explorers.records import state_of_records
from app.site.web.urls import explorer_url, formula_url

__all__ = ["RECORDS", "StepComparison", "predict_log"]
_FORMULA = "layout.step_time"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepComparison:
    """The step as predicted and as measured; *problem* if a record cannot be read."""

    parts: tuple[tuple[str, ...], ...] = ()
    says: str = ""
    href: str = ""
    explorer: str = ""  # the address of the layout explorer in that state
    records: str = ""  # as they were given, or as the log says
    guessed: str = ""  # what of the records the log does not print
    differs: str = ""  # what of it the explorer cannot show
    problem: str = ""


def predict_log(log: TrainingLog, fields: Mapping[str, str]) -> StepComparison | None:
    """The prediction for the model, cluster and layout in *fields*, else for those of the log."""
    try:
        found = predicted_step(log, fields)
    except ValueError as error:
        return StepComparison(problem=sentence(localized(str(error))))
    except ArithmeticError:
        return StepComparison(problem=translate("The predicted time is too large for a number."))
    if found is None:
        return None
    given = records_of(log, fields)
    there = state_of_records(found.model, found.cluster, found.layout)
    return StepComparison(
        parts=found.parts,
        says=found.says,
        href=f"{formula_url(_FORMULA)}?{urlencode(given)}",
        explorer=explorer_url("fit", there.state) if there else "",
        records=", ".join(given.values()),
        guessed=", ".join(guesses_of(log, fields)),
        differs=f"It shows {', '.join(there.differs)}." if there and there.differs else "",
    )
