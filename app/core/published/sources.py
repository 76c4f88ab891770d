"""Published runs, read from their files, and what the formulas say of each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from app.core.errors import ContentError, NotFoundError, Problem, nearest
from app.core.formulas.presets import Cluster, Gpu, Layout, ModelShape, Recipe, Stack
from app.core.formulas.presets.stacks import stack_recipe
from app.core.predicting.estimate import PredictionRequest, estimate
from app.core.published.rows import MEASURES, PublishedMachine, PublishedRun, RowInFile, Source, SourceInFile
from app.core.units import BYTE_PER_SECOND, Bytes, Ratio, Seconds, parse
from app.core.validation import problem_text, problems_of
from app.core.yaml_file import KeyPath, YamlDocument, read_document

_HERE = Path(__file__).parent / "data"


@cache
def sources() -> Mapping[Source, tuple[PublishedRun, ...]]:
    """Every source and its rows.

    Raises:
        ContentError: a file is not valid; all problems are listed.
    """
    found: dict[Source, tuple[PublishedRun, ...]] = {}
    problems: list[Problem] = []
    for path in _files().values():
        try:
            source, rows = _known_source(path)
            found[source] = rows
        except ContentError as error:
            problems += error.problems
    if problems:
        raise ContentError(problems)
    return dict(sorted(found.items(), key=lambda pair: -len(pair[1])))


def _files() -> Mapping[str, Path]:
    """The file of each source; the ids of its rows begin with its name."""
    return {path.stem: path for path in sorted(_HERE.glob("*.yaml"))}


@cache
def _known_source(path: Path) -> tuple[Source, tuple[PublishedRun, ...]]:
    return read_source(path)


def published_runs() -> tuple[PublishedRun, ...]:
    """Every row of every source."""
    return tuple(run for rows in sources().values() for run in rows)


def published_run(name: str) -> PublishedRun:
    """The row with the id *name*, such as `llama-3 table row 2`.

    Raises:
        NotFoundError: there is none; the message offers the nearest.
    """
    path = _files().get(name.partition(" ")[0])
    if path:  # the others need not be read: explorers name five runs when they are imported
        known = {run.id: run for run in _known_source(path)[1]}
    if not path or name not in known:
        known = {run.id: run for run in published_runs()}
    if name not in known:
        raise NotFoundError(f"no published run is called {name[:60]!r}{nearest(name[:60], known)}")
    return known[name]


def read_source(path: Path) -> tuple[Source, tuple[PublishedRun, ...]]:
    """The source in the file at *path*, and its rows.

    Raises:
        ContentError: it is not valid; all problems are listed.
    """
    document = read_document(path)
    try:
        file = SourceInFile.model_validate(document.values)
    except ValidationError as error:
        raise ContentError(list(_problems(document, (), error))) from error
    reading = _Reading(document, file)
    rows = tuple(run for key in file.rows for run in reading.row(key))
    if reading.problems:
        raise ContentError(reading.problems)
    return reading.source, rows


class _Reading:
    """The rows of a file, and the problems found in them."""

    def __init__(self, document: YamlDocument, file: SourceInFile) -> None:
        self.document, self.file = document, file
        self.problems: list[Problem] = []
        self.source = Source(
            id=document.path.stem,
            title=file.title,
            about=file.about.strip(),
            license=file.license,
            assumes=tuple(says.strip() for says in file.assumes),
            recipe=self._recipe() if file.recipe else None,
            counts=file.counts,
        )

    def _recipe(self) -> Recipe:
        try:
            return Recipe.read(self.file.recipe)
        except ValueError as error:
            raise ContentError([self.document.problem(("recipe",), str(error))]) from error

    def row(self, key: str) -> Iterator[PublishedRun]:
        """The row called *key*; none if it has problems."""
        before = len(self.problems)
        row = self._values(key)
        if row is None or not self._refers(key, row):
            return
        try:
            text, cluster = self.file.models.get(row.model), self._cluster(row)
            shape = ModelShape.read(text) if text else None
            stack = Stack.read(f"{self.file.stack} {row.stack}")
        except ValueError as error:
            self._add(key, "model, machine or stack", str(error))
            return
        copies = self._copies(key, row)
        if len(self.problems) > before:
            return
        layout, unknown = self._laid_out(row, *copies)
        yield PublishedRun(
            id=f"{self.source.id} {key}",
            source=self.source,
            stack=stack,
            table=self.file.tables[key.split()[0]],
            place=key,
            model=row.model,
            shape=shape,
            machine=PublishedMachine(row.machine, cluster),
            layout=layout,
            precision=row.precision,
            release=row.release,
            note=row.note,
            batch=row.batch,
            sequence=row.sequence,
            printed=row.printed,
            apart=tuple(self.file.reasons[name].strip() for name in row.apart),
            unknown=unknown,
        )

    def _values(self, key: str) -> RowInFile | None:
        cells, columns = self.file.rows[key], self.file.columns
        if len(cells) != len(columns):
            says = f"has {len(cells)} values for the {len(columns)} columns"
            self._add(key, "", says)
            return None
        given = {name: cell for name, cell in zip(columns, cells, strict=True) if cell is not None}
        try:
            return RowInFile.model_validate({**self.file.common, **given})
        except ValidationError as error:
            self.problems += _problems(self.document, ("rows", key), error)
            return None

    def _refers(self, key: str, row: RowInFile) -> bool:
        """Whether everything that the row refers to is in the file."""
        before, file = len(self.problems), self.file
        known = (
            ("table", [key.split()[0]], file.tables),
            ("model", [row.model], {**file.models, **file.unknown}),
            ("machine", [row.machine], file.machines),
            ("apart", row.apart, file.reasons),
        )
        for column, names, among in known:
            for name in names:
                if name not in among:
                    self._add(key, column, f"{name!r} is not in this file{nearest(name, among)}")
        if not any(getattr(row, name) for name in MEASURES) and not (row.teraflops and file.counts):
            wanted = f"{', '.join(MEASURES)}, or teraflops in a file that says how it counts"
            self._add(key, "", f"tells no time of a step: it needs one of {wanted}")
        return len(self.problems) == before

    def _cluster(self, row: RowInFile) -> Cluster:
        machine = self.file.machines[row.machine]
        return Cluster(
            name=f"{row.gpus} of {row.machine}",
            gpu=Gpu.read(machine.gpu),
            gpus=row.gpus,
            gpus_per_node=machine.gpus_per_node,
            intra_bandwidth=parse(machine.intra_bandwidth, BYTE_PER_SECOND),
            inter_bandwidth=parse(machine.inter_bandwidth, BYTE_PER_SECOND),
        )

    def _copies(self, key: str, row: RowInFile) -> tuple[int, int]:
        copy = row.tensor * row.pipeline * row.context
        data, rest = divmod(row.gpus, copy)
        if rest:
            self._add(key, "gpus", f"{row.gpus} is not a multiple of the {copy} of a copy")
            return 1, 1
        count, rest = divmod(row.batch, data * row.micro_batch)
        if rest:
            says = f"{row.batch} does not divide over {data} ranks in micro-batches of"
            self._add(key, "batch", f"{says} {row.micro_batch}")
        return data, count

    def _laid_out(self, row: RowInFile, data: int, count: int) -> tuple[Layout | None, str]:
        if row.model in self.file.unknown:
            return None, self.file.unknown[row.model].strip()
        try:
            given = row.model_dump(include=_OF_LAYOUTS)
            return Layout(**given, data=data, microbatches=count, precision=row.operands), ""
        except ValueError as error:
            return None, str(error)

    def _add(self, key: str, column: str, says: str) -> None:
        place = f"row {key!r}, {column}" if column else f"row {key!r}"
        line = self.document.line(("rows", key))
        self.problems.append(Problem(self.document.path, line, f"{place}: {says}"))


_OF_LAYOUTS = {
    "tensor", "pipeline", "context", "context_by", "expert", "expert_tensor", "shard_ranks", "virtual", "micro_batch",
    "sequence", "zero_stage", "recompute", "sequence_parallel",
}  # fmt: skip


def _problems(document: YamlDocument, where: KeyPath, error: ValidationError) -> Iterator[Problem]:
    """What is wrong in the row or file at *where*."""
    row = f"row {where[-1]!r}, " if where else ""
    model = RowInFile if where else SourceInFile
    for inside, says in problems_of(error.errors(include_url=False), model):
        line = document.line(where or inside)
        yield Problem(document.path, line, row + problem_text(inside, says))


NEAR = 0.10  # a deviation up to here needs no reason


@dataclass(frozen=True, slots=True)
class StepPrediction:
    """The time of a step, from *low* to *high*, and what the fullest GPU's allocator reserves."""

    time: Seconds
    low: Seconds
    high: Seconds
    memory: Bytes
    fits: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run and its prediction; without one, *why* not."""

    run: PublishedRun
    prediction: StepPrediction | None
    why: str = ""

    @property
    def error(self) -> Ratio:
        """How much longer the predicted step is than the measured one; 0 without a prediction."""
        if self.prediction is None:
            return 0.0
        return self.prediction.time / self.run.step_time - 1

    @property
    def holds(self) -> bool:
        """Whether the measured time lies within the predicted interval."""
        found = self.prediction
        return found is not None and found.low <= self.run.step_time <= found.high

    @property
    def is_near(self) -> bool:
        """Whether the prediction is at most a tenth away, or its range holds the time."""
        return self.prediction is not None and (self.holds or abs(self.error) <= NEAR)

    @property
    def memory_error(self) -> Ratio | None:
        """How much more memory is predicted than was measured; None if it was not."""
        if self.prediction is None or not self.run.printed.memory:
            return None
        return self.prediction.memory / self.run.printed.memory - 1

    @property
    def reason(self) -> str:
        """Why time or memory is more than a tenth away, as far as the source tells."""
        near = self.is_near and abs(self.memory_error or 0.0) <= NEAR
        return "" if self.prediction is None or near else "; ".join(self.run.apart)


@dataclass(frozen=True, slots=True)
class PublishedAccuracy:
    """How near the predictions of some runs are, and of how many the range *held* the measurement.

    *error* is the mean of the absolute deviations, *bias* the mean with signs, *width* the mean of a range's high end
    over its low end; all are None if nothing is predicted.
    """

    rows: int
    predicted: int
    error: Ratio | None
    bias: Ratio | None
    held: int
    width: Ratio | None


def outcome(run: PublishedRun) -> Outcome:
    """What the formulas say of *run*."""
    if run.shape is None or run.layout is None:
        return Outcome(run, None, run.unknown)
    asked = PredictionRequest(
        model=run.shape,
        cluster=run.machine.cluster,
        layout=run.layout,
        recipe=stack_recipe(run.stack, run.source.recipe),
        stack=run.stack,
        is_named=True,
    )
    try:
        found = estimate(asked)
    except ValueError as error:
        return Outcome(run, None, f"the formulas refuse its layout: {error}")
    return Outcome(run, StepPrediction(found.total, found.low, found.high, found.reserved, found.fits))


@cache
def outcomes() -> tuple[Outcome, ...]:
    """What the formulas say of every row."""
    return tuple(outcome(run) for run in published_runs())


def accuracy(found: Iterable[Outcome]) -> PublishedAccuracy:
    """How near the predictions among *found* are."""
    every = tuple(found)
    predicted = [one for one in every if one.prediction]
    return PublishedAccuracy(
        rows=len(every),
        predicted=len(predicted),
        error=_mean([abs(one.error) for one in predicted]),
        bias=_mean([one.error for one in predicted]),
        held=sum(one.holds for one in predicted),
        width=_mean([one.prediction.high / one.prediction.low for one in predicted if one.prediction]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
