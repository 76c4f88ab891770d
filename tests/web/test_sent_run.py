import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import delete

from app.core.units import SECOND, show
from app.labs.results.analysis import shipped_runs
from app.labs.results.report import Report
from app.server.db.tables import LabRunRow
from app.site import Site

Change = Callable[[dict[str, Any]], object]


@pytest.fixture(autouse=True)
def _nothing_is_sent_in_yet(site: Site) -> None:
    with site.engine.begin() as connection:
        connection.execute(delete(LabRunRow))


def sent(**machine: object) -> dict[str, Any]:
    """A run of another machine, as its JSON says."""
    report = next(one for one in shipped_runs() if one.lab == "algorithms" and "=tree" in one.command)
    plain: dict[str, Any] = json.loads(report.as_json())
    plain["machine"].update(load=0.1, **machine)
    return plain


def send(client: TestClient, run: object, lab: str = "algorithms") -> Any:
    text = run if isinstance(run, str) else json.dumps(run)
    return client.post(f"/labs/{lab}/board", files={"run": ("run.json", text)})


def test_the_page_of_a_lab_lists_what_each_machine_measured_beside_the_formula(client: TestClient) -> None:
    answer = send(client, sent(processor="A faster one", cores=64))
    assert answer.status_code == 303
    run = answer.headers["location"]
    assert "A faster one, 64 cores" in client.get(run).text
    listed = runs_on_page(client, "algorithms")
    assert "A faster one, 64 cores: " in listed[run]
    assert "sent in" in listed[run]
    assert sum("recorded" in row for row in listed.values()) == len(listed) - 1
    report = client.get(f"{run}/samples.json").json()
    one = report["measures"][-1]
    for value in (one["held"], one["predicted"]):
        assert show(value, SECOND) in listed[run]
    assert listed[run].index(show(one["held"], SECOND)) < listed[run].index(", formula ")


def test_nobody_who_is_to_predict_sees_what_was_measured_before_asking_for_it(client: TestClient) -> None:
    for lab in {report.lab for report in shipped_runs()}:
        page = client.get(f"/labs/{lab}").text
        assert ", formula " not in re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL), lab
    assert ", formula " in client.get("/labs/algorithms").text


def test_a_disturbed_run_is_listed_without_what_it_measured(client: TestClient) -> None:
    for report in shipped_runs():
        row = runs_on_page(client, report.lab)[f"/labs/{report.lab}/{report.id}"]
        assert (", formula " in row) <= (not report.doubts), report.id
        assert (f"{report.machine.cores} cores: " in row) <= (not report.doubts), report.id


def runs_on_page(client: TestClient, lab: str) -> dict[str, str]:
    """The rows of the list of runs, by address."""
    page = client.get(f"/labs/{lab}").text
    rows = re.findall(r'<li><a href="(/labs/[\w-]+/[\w.-]+)">(.*?)</li>', page, re.DOTALL)
    return {address: re.sub(r"<[^>]*>", " ", row) for address, row in rows}


def test_what_follows_from_samples_is_worked_out_anew(client: TestClient) -> None:
    def lie(one: Mapping[str, Any]) -> dict[str, Any]:
        return {**one, "median": 1e-9, "least": 1e-9, "predicted": 1e-9, "ratio": 1.0, "count": 9}

    run = sent(processor="A liar", cores=1)
    run["measures"] = [lie(one) for one in run["measures"]]
    run["links"] = "real"
    page = client.get(send(client, run).headers["location"])
    assert "1 ns" not in page.text
    assert "an emulated link" in page.text


def without_given(run: dict[str, Any]) -> dict[str, Any]:
    """As earlier versions print it: the parameters are in the command alone."""
    run.pop("given")
    for one in run["measures"]:
        one.pop("held")
    return run


def command(run: dict[str, Any], old: str, new: str) -> None:
    """Another command, in a run of an earlier version."""
    without_given(run).update(command=run["command"].replace(old, new))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda run: run.update(state="failed"), "only a finished run can be compared"),
        (lambda run: run.update(command="rm -rf /"), "does not run algorithms with its parameters"),
        (lambda run: run["given"].update(algorithm="oak"), "algorithm must be"),
        (lambda run: run["given"].update(algorithm="ring"), "does not run algorithms with"),
        (lambda run: run["given"].update(x="1"), "has no &#39;x&#39;"),
        (lambda run: command(run, "tree", "oak"), "algorithm must be"),
        (lambda run: command(run, "ranks", "x=1 ranks"), "has no &#39;x&#39;"),
        (lambda run: run.update(ranks=8), "this run had 8 ranks, but its command has 4"),
        (lambda run: run.update(checks={"sums": False}), "did not find its data right"),
        (lambda run: run.update(checks={}), "did not find its data right"),
        (lambda run: run.update(measures=[]), "measures: has 0 entries, and at least 1 are"),
        (lambda run: run["measures"][0].update(samples=[-1.0]), "these are not measurements"),
        (lambda run: run["measures"][0].update(samples=[math.inf]), "these are not measurements"),
        (lambda run: run["measures"][0].update(samples=[math.nan]), "these are not measurements"),
        (lambda run: run["measures"][0].update(samples=[]), "these are not measurements"),
        (lambda run: run["measures"][0].update(name="tame"), "has no measure called &#39;tame"),
        (lambda run: run.pop("machine"), "machine: is missing"),
        (lambda run: run.update(at="yesterday"), "at: "),
        (lambda run: run.update(lab="ring-bytes"), "ring-bytes has no"),
    ],
)
def test_what_is_no_run_is_told(client: TestClient, change: Change, says: str) -> None:
    run = sent()
    change(run)
    answer = send(client, run)
    assert answer.status_code == 422
    assert says.casefold() in answer.text.casefold()


def test_a_run_of_an_earlier_version_is_taken(client: TestClient) -> None:
    assert send(client, without_given(sent(processor="Old", cores=3))).status_code == 303


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "\x00"])
def test_a_file_that_is_something_else_is_told(client: TestClient, text: str) -> None:
    assert send(client, text).status_code == 422


def test_a_run_of_another_lab_is_told(client: TestClient) -> None:
    answer = send(client, sent(), lab="ring-bytes")
    assert answer.status_code == 422
    assert "this is a run of algorithms" in answer.text.replace("This", "this")


def test_words_from_elsewhere_are_no_markup(client: TestClient) -> None:
    run = sent(processor="<script>alert(1)</script>" + "x" * 9000, cores=2)
    page = client.get(send(client, run).headers["location"]).text
    assert "<script>alert" not in page
    assert "x" * 300 not in page


SIZES = re.compile(r"[\d.]+\xa0? ?([kMG]B|[KMG]iB)\b(?!/)")


@pytest.mark.parametrize("run", shipped_runs(), ids=lambda run: f"{run.lab}-{run.id[-6:]}")
def test_sizes_of_a_run_are_in_one_kind_of_unit(client: TestClient, run: Report) -> None:
    page = client.get(f"/labs/{run.lab}/{run.id}").text
    shown, _, _ = page.partition("Where it ran")  # the memory of the machine is said in GB
    kinds = {unit[1:] for unit in SIZES.findall(shown.partition("<main")[2])}
    assert kinds <= {"iB"} or kinds <= {"B"}, kinds
