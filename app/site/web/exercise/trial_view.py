"""The visible examples of a function that were run, as a page shows them."""

from dataclasses import dataclass

from markupsafe import Markup

from app.course.kinds.code.feedback import Trial, TrialRun
from app.site.markdown import inline_html


@dataclass(frozen=True, slots=True)
class TrialRunView:
    """One visible example that was run."""

    run: TrialRun
    says: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialView:
    """The visible examples, after a run."""

    problem: Markup
    line: int | None
    printed: str
    runs: tuple[TrialRunView, ...]


def trial_view(trial: Trial) -> TrialView:
    """*trial* as its page shows it."""
    runs = tuple(TrialRunView(run, inline_html(run.says)) for run in trial.runs)
    problem = inline_html(trial.problem)
    return TrialView(problem=problem, line=trial.line, printed=trial.printed, runs=runs)
