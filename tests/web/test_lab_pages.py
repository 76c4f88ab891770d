"""What the pages of labs say: verdicts on predictions, lists of runs, and facts of a machine."""

import json
from collections.abc import Iterator
from dataclasses import replace
from secrets import token_hex
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlmodel import delete

from app.core.errors import InputError, NotFoundError
from app.core.units import BYTE, SECOND
from app.labs.machines.machine import MachineFacts
from app.labs.results.analysis import shipped_runs
from app.labs.results.report import Measure, Report
from app.labs.spec import known_labs, lab_called
from app.server.db.run_state import RunState
from app.server.db.session import open_writing_session
from app.server.db.tables import LabRunRow
from app.site import Site
from app.site.web.labs.lab_list import _takes as takes
from app.site.web.labs.predictions import (
    axis_of,
    gap,
    guess_afterwards,
    guess_beside_run,
    guess_label,
    guess_verdict,
    machine_of,
    measured_beside_formula,
    measured_in_words,
    read_run_prediction,
    read_typed_parameter,
    recorded_run,
    size_label,
)
from app.site.web.labs.results import RunResult, list_finished_runs, report_called, run_called
from app.site.web.labs.run import run_page  # noqa: F401  # its nearest tests are here
from app.site.web.labs.tables import LabGuess, lab_figures, lab_table, what_matters
from tests.db.queue import run
from tests.each import each
from tests.labs.quiet_runs import quiet_run

LAB = lab_called("all-reduce")
REPORT = quiet_run("all-reduce")


def measure(held: float = 1.0, predicted: float | None = 1.0, name: str = "time", **more: Any) -> Measure:
    ratio = None if predicted is None else held / predicted
    given = {"where": {}, "samples": (held,), "held": held, "ratio": ratio, "predicted": predicted, "count": 1}
    return Measure(**{"name": name, "median": held, "least": held, "p90": held, **given, **more})


@each(
    ("ratio", "says"),
    [
        (1.049, "within 5 % of the formula"),
        (0.951, "within 5 % of the formula"),
        (1.051, "1.1× slower than the formula"),
        (3.0, "3× slower than the formula"),
        (0.25, "4× faster than the formula"),
        (0.0, ""),
        (-1.0, ""),
        (None, ""),
    ],
)
def test_a_time_is_slower_or_faster_than_its_formula(ratio: float | None, says: str) -> None:
    assert gap(LAB, measure(ratio=ratio)) == says


def test_what_is_no_time_is_so_many_times_its_formula_or_exactly_that() -> None:
    lab = lab_called("ring-bytes")
    name = next(name for name, one in lab.measures.items() if one.unit == "B")
    assert gap(lab, measure(3.0, name=name)) == "3× what the formula says"
    assert gap(lab, measure(0.5, name=name)) == "0.5× what the formula says"
    assert gap(lab, measure(1.0, name=name, right=True)) == "exactly the formula"


@each(
    ("guess", "says"),
    [
        (100.0, "Spot on"), (104.9, "within 5 %"), (95.1, "within 5 %"), (105.1, "5 % too high"), (94.0, "6 % too low"),
        (199.0, "99 % too high"), (200.0, "2× too high"), (50.0, "2× too low"), (51.0, "49 % too low"), (0.0, ""),
        (-1.0, ""),
    ],
)  # fmt: skip
def test_a_prediction_is_judged_by_how_far_it_was_off(guess: float, says: str) -> None:
    found = guess_verdict(guess, 100.0)
    assert says in found
    assert bool(found) == bool(says)
    assert guess_verdict(0.0, 0.0).startswith("Spot on")


@each(("text", "value"), [("", None), ("  ", None), ("1.5 ms", 0.0015), ("2", 2.0)])
def test_a_prediction_is_read_in_the_unit_of_its_measure(text: str, value: float | None) -> None:
    assert read_run_prediction(LAB, "time", text) == value


@each("text", ["much", "3 MB"])
def test_a_prediction_that_cannot_be_read_is_told(text: str) -> None:
    with pytest.raises(InputError, match="^your prediction: "):
        read_run_prediction(LAB, "time", text)


@each(
    ("name", "text", "read"),
    [
        ("operation", "all_reduce", "all_reduce"),
        ("sizes", "1 MiB,2MiB", "1 MiB,2MiB"),
        ("sizes", "4KiB..64MiB", "4KiB..64MiB"),
        ("ranks", "4", "4"),
        ("unknown", "4", "4"),
    ],
)
def test_a_parameter_is_read_as_it_is_typed(name: str, text: str, read: str) -> None:
    assert read_typed_parameter(LAB, name, text) == read


def test_the_machine_of_a_run_is_its_gpus_where_it_ran_on_them() -> None:
    facts = MachineFacts(processor="A processor", cores=8, gpus=("NVIDIA H100",) * 2)
    on_gpus = replace(REPORT, backend="nccl", ranks=2, machine=facts)
    assert "H100" in machine_of(on_gpus)
    assert machine_of(replace(on_gpus, backend="gloo", machine=replace(facts, gpus=()))) == "A processor, 8 cores"
    assert [size_label(replace(REPORT, ranks=ranks, nodes=nodes)) for ranks, nodes in ((1, 1), (4, 1), (4, 2))] == [
        "1 rank", "4 ranks", "4 ranks on 2 nodes",
    ]  # fmt: skip


def test_what_is_predicted_is_of_the_last_of_several_values() -> None:
    assert guess_label(LAB, "time") == f"{LAB.measures['time'].says}, at the last of the sizes"
    single = next(lab for lab in known_labs().values() if not any(one.several for one in lab.parameters.values()))
    name = next(iter(single.measures))
    assert guess_label(single, name) == single.measures[name].says


def test_an_axis_of_sizes_has_powers_of_two_where_they_are_written_so() -> None:
    assert [axis_of("x", BYTE, sizes).base for sizes in ((1024.0, 4096.0), (1000.0, 2000.0), ())] == [2, 10, 10]
    assert axis_of("x", SECOND, (1024.0,), log=True).base == 10


def test_what_a_run_measures_is_told_with_its_unit_if_this_version_knows_it() -> None:
    assert measured_in_words(LAB, {}) == f"Measured: {LAB.measures['time'].says}, in s."
    for lab in known_labs().values():
        assert measured_in_words(lab, {}).startswith("Measured: "), lab.name


def test_a_recorded_run_that_is_most_like_the_form_is_predicted() -> None:
    starts = dict(LAB.starts)
    like = replace(REPORT, id="like", given={**REPORT.given, **starts})
    other = replace(REPORT, id="other", given={**REPORT.given, "sizes": "1 KiB"})
    for reports in ([other, like], [like, other]):
        found = recorded_run(LAB, reports)
        assert found
        assert found.href == "/labs/all-reduce/like"
    assert found
    rows = dict(found.given)
    assert rows["ranks"] == str(REPORT.ranks)
    assert rows[LAB.parameters["operation"].says] == "all-reduce"
    assert "," not in rows[LAB.parameters["sizes"].says], "the last of the sizes"
    assert recorded_run(LAB, []) is None
    assert recorded_run(LAB, [replace(REPORT, measures=())]) is None
    alone = recorded_run(LAB, [replace(REPORT, ranks=1)])
    assert alone
    assert "ranks" not in dict(alone.given)


def test_a_list_of_runs_says_what_was_measured_last_beside_its_formula() -> None:
    first, last = (measure(held, predicted) for held, predicted in ((1.0, 2.0), (3.0, 4.0)))
    report = replace(REPORT, measures=(first, last), doubts=())
    assert measured_beside_formula(LAB, report) == "3 s, formula 4 s"
    assert measured_beside_formula(LAB, replace(report, measures=(measure(3.0, None),))) == "3 s"
    assert measured_beside_formula(LAB, replace(report, doubts=("noise",))) == ""
    assert measured_beside_formula(LAB, replace(report, measures=())) == ""


def test_a_prediction_stands_beside_the_formula_and_the_measurement() -> None:
    report = replace(REPORT, measures=(measure(9.0), measure(4.0, 2.0, least=4.0, p90=5.0)), doubts=())
    table = guess_afterwards(LAB, RunResult(report), "8 s")
    assert table
    assert [cell for cell in table.cells if cell.endswith(" s")] == ["8 s", "2 s", "4 s"]
    assert "2× too high" in table.verdict
    assert guess_afterwards(LAB, RunResult(report), " ") is None
    assert guess_afterwards(LAB, RunResult(replace(report, state=RunState.FAILED)), "8 s") is None
    assert guess_afterwards(LAB, RunResult(None), "8 s") is None
    assert guess_afterwards(LAB, RunResult(replace(report, measures=())), "8 s") is None
    doubted = guess_afterwards(LAB, RunResult(replace(report, doubts=("noise",))), "8 s")
    assert doubted
    assert "too high" not in doubted.verdict
    given = json.dumps(dict(report.given))
    row = run(lab="all-reduce", predicted=8.0, state=RunState.DONE, given=given)
    beside = guess_beside_run(LAB, RunResult(report, row))
    assert beside
    assert beside.cells == table.cells
    assert guess_beside_run(LAB, RunResult(report, run(lab="all-reduce", given=given))) is None
    assert guess_beside_run(LAB, RunResult(None, row)) is None


@pytest.fixture
def stored(site: Site) -> Iterator[Any]:
    """Stores runs of the queue; a run that is over has a report."""
    names: list[str] = []

    def store(**changes: Any) -> str:
        name = f"20260101-000000-all-reduce-{token_hex(4)}"
        text = replace(REPORT, id=name).as_json()
        row = run(
            **{"name": name, "lab": "all-reduce", "state": RunState.DONE, "report": text, "pool": name, **changes}
        )
        names.append(row.name)
        with open_writing_session(site.engine) as session:
            session.add(row)
            session.commit()
        return names[-1]

    yield store
    with open_writing_session(site.engine) as session:
        session.connection().execute(delete(LabRunRow).where(LabRunRow.name.in_(names)))  # type: ignore[attr-defined]
        session.commit()


def test_a_run_is_found_by_its_name_in_its_own_lab(site: Site, stored: Any) -> None:
    name = stored()
    found = run_called(site, "all-reduce", name)
    assert (found.state, found.origin, found.cause) == (RunState.DONE, "this server", "")
    assert report_called(site, "all-reduce", name).id == name
    recorded = shipped_runs()[0]
    assert run_called(site, recorded.lab, recorded.id).origin == "recorded"
    for lab, other in (("ring-bytes", name), ("all-reduce", "x" * 101), ("all-reduce", "a/b"), ("ring-bytes", "none")):
        with pytest.raises(NotFoundError, match="has no run"):
            run_called(site, lab, other)


def test_a_run_without_results_has_its_state_and_its_cause(site: Site, stored: Any) -> None:
    name = stored(state=RunState.FAILED, report="", says="why", log="printed")
    found = run_called(site, "all-reduce", name)
    assert (found.state, found.cause, found.log, found.report) == (RunState.FAILED, "why", "printed", None)
    with pytest.raises(NotFoundError, match="has not measured anything"):
        report_called(site, "all-reduce", name)
    assert RunResult(None).state is RunState.LOST
    assert RunResult(replace(REPORT, state=RunState.TIMEOUT, cause="late")).cause == "late"


def test_a_run_that_was_sent_in_is_read_by_todays_rules(site: Site, stored: Any) -> None:
    name = stored(host="sent in")
    assert run_called(site, "all-reduce", name).origin == "sent in"
    broken = stored(host="sent in", report="{}")
    with pytest.raises(NotFoundError, match="was sent in, and cannot be shown here"):
        run_called(site, "all-reduce", broken)
    assert broken not in [one.report.id for one in list_finished_runs(site, "all-reduce") if one.report]


def test_finished_runs_are_those_of_this_server_before_the_recorded_ones(site: Site, stored: Any) -> None:
    older, newer, failed = (
        stored(),
        stored(name=f"20270101-000000-all-reduce-{token_hex(4)}"),
        stored(state=RunState.FAILED),
    )
    found = list_finished_runs(site, "all-reduce")
    names = [one.row.name for one in found if one.row]
    assert [name for name in names if name in (older, newer, failed)] == [newer, older]
    recorded = [one.is_recorded for one in found]
    assert recorded == sorted(recorded)
    assert all(one.report and one.report.lab == "all-reduce" for one in found)


def test_only_who_started_a_run_may_cancel_it(client: TestClient, stored: Any) -> None:
    name = stored(state=RunState.QUEUED, report="", learner="")
    origin = {"Origin": "http://testserver"}
    assert client.post(f"/labs/all-reduce/{name}/cancel", headers=origin).status_code == 404
    page = client.get(f"/labs/all-reduce/{name}").text
    assert 'data-state="queued"' in page
    fragment = client.get(f"/labs/all-reduce/{name}", headers={"X-Fragment": "1"}).text
    assert fragment.lstrip().startswith('<div id="run"')


@each(
    ("seconds", "says"),
    [
        (0.4, "1 s"),
        (1.0, "1 s"),
        (9.5, "10 s"),
        (10.0, "10 s"),
        (10.5, "20 s"),
        (120.0, "120 s"),
        (121.0, "3 min"),
        (180.0, "3 min"),
    ],
)
def test_a_time_for_people_who_choose_is_rounded_up(seconds: float, says: str) -> None:
    assert takes(seconds) == says


def test_facts_that_are_known_are_told_and_others_are_not() -> None:
    facts = MachineFacts(processor="A processor", cores=8, gpus=(), memory_bytes=64e9, nodes=1, load=0.5)
    report = replace(REPORT, machine=facts, versions={"torch": "2.13.0"})
    rows = dict(what_matters(report))
    assert (rows["machine"], rows["torch"], rows["load before the run"]) == ("A processor, 8 cores", "2.13.0", "0.5")
    assert "nodes" not in rows
    assert dict(what_matters(replace(report, machine=replace(facts, nodes=2))))["nodes"] == "2"
    variables = "Variables that change what is measured"
    assert variables not in rows
    named = replace(facts, variables=("A=1", "B=2"))
    assert dict(what_matters(replace(report, machine=named)))[variables] == "A=1, B=2"


def curves(report: Report, guess: LabGuess | None = None) -> Any:
    (figure,) = lab_figures(LAB, report, guess)
    return figure


def test_a_figure_has_the_median_the_spread_the_formula_and_where_a_prediction_was() -> None:
    sizes = (1024.0, 4096.0)
    made = tuple(
        measure(size / 1e3, size / 2e3, where={"size": size}, least=size / 2e3, p90=size / 5e2) for size in sizes
    )
    report = replace(REPORT, measures=made, line=None, lines=())
    figure = curves(report)
    assert [one.name for one in figure.series] == ["median", "min", "p90", "formula"]
    assert figure.series[0].points == ((1024.0, 1.024), (4096.0, 4.096))
    assert figure.series[3].points[1] == (4096.0, 2.048)
    assert [(one.x, one.y) for one in figure.marks] == [(4096.0, 4.096)]
    guessed = curves(report, LabGuess("time", 3.0))
    assert [(one.x, one.y) for one in guessed.marks][-1] == (4096.0, 3.0)
    assert len(curves(report, LabGuess("time", 0.0)).marks) == 1
    unknown = curves(replace(report, measures=(made[0], replace(made[1], predicted=None, ratio=None))))
    assert "formula" not in [one.name for one in unknown.series]
    (bars,) = lab_figures(LAB, replace(report, measures=made[:1]), LabGuess("time", 3.0))
    assert [bar.name for bar in bars.bars] == ["formula", "measured", "yours"]  # type: ignore[union-attr]


def test_a_table_has_a_row_for_each_place_and_a_ratio_where_there_is_a_formula() -> None:
    rows = list(lab_table(LAB, REPORT))
    assert len(rows) == 1 + len(REPORT.measures)
    assert len({len(row) for row in rows}) == 1
