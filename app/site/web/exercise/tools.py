"""What the form and the buttons of a kind use of the server, for one learner: `KindTools`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.course.sandbox.pool import SandboxHealth
from app.course.sandbox.runner import Runner
from app.labs.results.report import Report
from app.server.aside import aside
from app.server.aside.fair_queue import Client
from app.server.db.tables import Prediction
from app.site import Site
from app.site.web.exercise.lab_tests import tests_to_take
from app.site.web.labs.results import RunResult, finished
from app.site.web.standing.records import open_records


@dataclass(frozen=True, slots=True)
class ServerTools:
    """Those of a server; programs run on behalf of *client*."""

    site: Site
    learner: str
    client: Client

    @property
    def answer_limit(self) -> int:
        """Characters of an answer."""
        return self.site.settings.answer_limit

    @property
    def health(self) -> SandboxHealth:
        """Whether programs can run."""
        return self.site.runner.health

    @property
    def runner(self) -> Runner:
        """Runs programs."""
        return self.site.runner.on_behalf_of(self.client)

    @property
    def lab_trouble(self) -> str:
        """Why labs do not run; empty if they do."""
        return self.site.labs.trouble

    @property
    def gpus(self) -> int:
        """The GPUs that labs can use."""
        return self.site.labs.devices().usable

    def runs(self, lab: str) -> Sequence[RunResult]:
        """The runs of a lab that are finished."""
        return finished(self.site, lab)

    def tests(self) -> Mapping[str, tuple[Report, str, str]]:
        """Tests that may be taken for a measurement: by name, as runs, what they are, and whose."""
        return tests_to_take(self.site, self.learner)

    def prediction(self, exercise: str, seed: int) -> str | None:
        """The prediction of the learner for a drawing, as JSON."""
        if not self.learner:
            return None
        with open_records(self.site, self.learner) as records:
            return records.prediction(exercise, seed)

    async def replace_prediction(self, exercise: str, seed: int, gone: str, answer: str) -> None:
        """Store the prediction *answer*; an earlier one stays, unless it is the one that is *gone*.

        Raises:
            UnavailableError: it cannot be stored.
        """
        if gone:
            await aside(self._forget, exercise, seed, gone)
        row = Prediction(learner=self.learner, exercise=exercise, seed=seed, answer=answer)
        await self.site.writer.put(row)

    def _forget(self, exercise: str, seed: int, answer: str) -> None:
        with open_records(self.site, self.learner) as records:
            records.forget_prediction(exercise, seed, answer)
