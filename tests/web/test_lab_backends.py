"""Processors or GPUs, from the browser: offered where there is a choice, explained where not."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.labs import spec
from app.labs.machines import devices
from app.labs.machines.devices import NO_DEVICES, Devices, join_sources
from app.labs.results.analysis import shipped_runs
from app.labs.spec import known_labs, lab_called
from app.main import create_app
from app.server.config import Settings
from app.server.db.session import open_session
from app.server.db.tables import LabRunRow
from app.site import Site
from app.site.labs.queue import Dispatcher
from tests.labs.gpus import H100, TOO_OLD, faulty, known, listing, machine, plain, seen
from tests.labs.test_upload import of_nodes, sent

OLD_DRIVER = join_sources(seen(error=TOO_OLD), listing(), {})
REDUCE = "/labs/all-reduce"
Machine = Callable[[Devices | None], None]


@pytest.fixture
def this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Gives this machine GPUs, or a trace of some."""
    return lambda found: known(monkeypatch, tmp_path, found)


@pytest.fixture(scope="module")
def _stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The app; its queue is not served, so that runs stay in it."""
    folder = tmp_path_factory.mktemp("backends")
    settings = Settings(database=f"sqlite:///{folder}/w.db", runs=folder / "runs", sandbox_workers=1, lab_queue=999)
    with TestClient(create_app(settings), follow_redirects=False) as client:
        client.app.state.site.labs.close()  # type: ignore[attr-defined]
        yield client


@pytest.fixture
def client(_stopped: TestClient) -> TestClient:
    _stopped.cookies.clear()  # a learner may have few runs in the queue
    return _stopped


def rows(client: TestClient) -> list[LabRunRow]:
    with open_session(client.app.state.site.engine) as session:  # type: ignore[attr-defined]
        return list(session.scalars(select(LabRunRow).order_by("id")))


def posted(client: TestClient, lab: str = "all-reduce", **fields: str) -> LabRunRow:
    """The row of a run that is asked for."""
    answer = client.post(f"/labs/{lab}", data=fields)
    assert answer.status_code == 303, re.findall(r'role="alert">.*', answer.text)
    return rows(client)[-1]


def value_of(page: str, name: str) -> str:
    found = re.search(rf'name="{re.escape(name)}" value="([^"]*)"', page)
    return found[1] if found else ""


def text_of(client: TestClient, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return " ".join(answer.text.split())


def main_of(client: TestClient, address: str) -> str:
    """What a page says about its lab, without its runs."""
    return text_of(client, address).partition("<main")[2].partition("<h2>Runs</h2>")[0]


@pytest.mark.parametrize("name", known_labs())
def test_on_a_plain_machine_nothing_is_said_of_gpus(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    plain(monkeypatch)
    page = main_of(client, f"/labs/{name}")
    assert 'name="backend"' not in page
    assert "over gloo" not in page
    assert "over NCCL" not in page
    assert page == main_of(client, f"/labs/{name}?backend=nccl")


def test_where_there_are_gpus_the_form_is_for_them(client: TestClient, this_machine: Machine) -> None:
    this_machine(machine(8))
    form = lab_called("all-reduce").on("nccl")
    page = text_of(client, REDUCE)
    most = min(8, form.ranks[1])
    assert f'href="{REDUCE}?backend=nccl" aria-current="true">Up to {most} GPUs, over NCCL</a>' in page
    assert f'href="{REDUCE}?backend=gloo">Processors, over gloo</a>' in page
    assert value_of(page, "backend") == "nccl"
    assert value_of(page, "run.ranks") == str(most)
    assert value_of(page, "run.sizes") == form.starts["sizes"]
    assert f"{form.ranks[0]} to {most}</p>" in page
    assert "wallclock lab run all-reduce</code>" in page


def test_the_form_for_processors_is_one_link_away(client: TestClient, this_machine: Machine) -> None:
    this_machine(machine(8))
    lab = lab_called("all-reduce")
    page = text_of(client, f"{REDUCE}?backend=gloo")
    assert f'href="{REDUCE}?backend=gloo" aria-current="true"' in page
    assert value_of(page, "backend") == "gloo"
    assert value_of(page, "run.ranks") == str(lab.ranks[2])
    assert value_of(page, "run.sizes") == lab.starts["sizes"]
    assert "wallclock lab run all-reduce --backend gloo</code>" in page


def test_a_lab_of_one_rank_offers_every_gpu(client: TestClient, this_machine: Machine) -> None:
    this_machine(machine(8))
    assert ">Up to 8 GPUs, over NCCL</a>" in text_of(client, "/labs/matrix-product")


@pytest.mark.parametrize(
    ("found", "note"),
    [
        (OLD_DRIVER, f"cannot use this machine&#39;s 8 × {H100}: The NVIDIA driver on your system is"),
        (machine(1), "NCCL needs one GPU per rank: 2 ranks, and there is 1 GPU."),
    ],
)
def test_where_gpus_cannot_be_used_the_page_says_why(
    client: TestClient, this_machine: Machine, found: Devices, note: str
) -> None:
    this_machine(found)
    page = text_of(client, REDUCE)
    assert "On processors, over gloo: " in page
    assert note in page
    assert 'name="backend"' not in page
    row = posted(client, guess="1 s")
    assert (row.backend, row.pool.rpartition(":")[2]) == ("gloo", "cpu")
    assert note.replace("&#39;", "'") in row.sentences[0]
    assert note in text_of(client, f"{REDUCE}/{row.name}")  # already while it waits


def test_a_lab_that_uses_no_gpu_says_so_where_there_are_some(client: TestClient, this_machine: Machine) -> None:
    this_machine(machine(8))
    for name, lab in known_labs().items():
        says = f"On processors, over gloo: {lab.why_processors}."
        assert (says in text_of(client, f"/labs/{name}")) == (lab.gpu is None)


@pytest.mark.parametrize(
    ("fields", "backend", "ranks"),
    [
        ({"backend": "nccl", "run.ranks": "4"}, "nccl", "4"),
        ({"backend": "nccl"}, "nccl", ""),
        ({"backend": "gloo"}, "gloo", "2"),
        ({"backend": "gloo", "run.ranks": "3"}, "gloo", "3"),
        ({}, "nccl", ""),
        ({"run.ranks": "4"}, "nccl", "4"),
    ],
)
def test_what_is_asked_for_is_what_is_queued(
    client: TestClient, this_machine: Machine, fields: dict[str, str], backend: str, ranks: str
) -> None:
    this_machine(machine(8))
    row = posted(client, **fields, guess="1 s")
    lab = lab_called("all-reduce").on(backend)
    assert (row.backend, row.sentences) == (backend, ())
    assert row.pool.rpartition(":")[2] == ("gpu" if backend == "nccl" else "cpu")
    assert row.parameters["ranks"] == (ranks or str(min(8, lab.ranks[1])))
    assert row.parameters["sizes"] == lab.starts["sizes"]
    again = re.search(r'href="([^"]*backend=[^"]*)">Set it up again', text_of(client, f"{REDUCE}/{row.name}"))
    assert again is None  # it still waits
    assert row.backend in text_of(client, f"{REDUCE}?backend={backend}")


@pytest.mark.parametrize(
    ("found", "lab", "fields", "says"),
    [
        (machine(2), "all-reduce", {"backend": "nccl", "run.ranks": "4"}, "4 ranks, and there are 2 GPUs; take fewer"),
        (NO_DEVICES, "all-reduce", {"backend": "nccl"}, "there is none; take gloo"),
        (
            machine(8),
            "ring-bytes",
            {"backend": "nccl"},
            "Ring-bytes runs on processors only, over gloo: what it counts",
        ),
        (machine(8), "all-reduce", {"backend": "cuda"}, "No backend is called &#39;cuda&#39;; there are nccl and gloo"),
        (machine(8), "all-reduce", {"backend": "gloo", "run.sizes": "9 TiB"}, "not 9 TiB"),
    ],
)
def test_what_cannot_be_run_is_refused_and_what_was_typed_stays(
    client: TestClient, this_machine: Machine, found: Devices, lab: str, fields: dict[str, str], says: str
) -> None:
    this_machine(found)
    before = len(rows(client))
    answer = client.post(f"/labs/{lab}", data={**fields, "guess": "1 s"})
    assert answer.status_code == 422
    assert says in answer.text
    assert len(rows(client)) == before
    if fields["backend"] == "gloo":
        assert value_of(answer.text, "backend") == "gloo"
        assert value_of(answer.text, "run.sizes") == "9 TiB"


def test_a_gpu_that_fails_is_told_before_a_run(client: TestClient, this_machine: Machine) -> None:
    this_machine(join_sources(faulty(seen(range(8)), 4), listing(), {}))
    page = text_of(client, REDUCE)
    assert "GPU 4, failed (CUDA error: no kernel image" in page
    assert value_of(page, "run.ranks") == "4"


def test_while_gpus_are_looked_for_a_page_does_not_wait_long(client: TestClient, this_machine: Machine) -> None:
    site: Site = client.app.state.site  # type: ignore[attr-defined]
    this_machine(None)
    impatient = Dispatcher(site.settings, site.engine, asking=0.01)
    page = " ".join(TestClient(create_app(site.settings, replace(site, labs=impatient))).get(REDUCE).text.split())
    assert "this machine has not said yet which GPUs it has; reload the page." in page


def test_gpus_are_asked_for_beside_the_event_loop(
    client: TestClient, this_machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, find = [], devices.find_devices

    def noted(*arguments: Any) -> Devices:
        threads.append(threading.current_thread().name.partition("_")[0])
        return find(*arguments)

    this_machine(machine(8))
    monkeypatch.setattr("app.labs.launch.local.find_devices", noted)
    text_of(client, REDUCE)
    posted(client, guess="1 s")
    client.post(REDUCE, data={"guess": "nothing"})
    assert threads == ["aside"] * 4  # a refusal shows the form again


def test_a_run_over_nccl_is_shown_with_what_matters_of_its_machine(client: TestClient) -> None:
    report = sent("all-reduce", "nccl", of_nodes())
    answer = client.post(f"{REDUCE}/board", files={"run": ("run.json", report.as_json())})
    page = client.get(answer.headers["location"]).text
    facts = " ".join(page.partition("Where it ran")[2].split())
    for name, value in (
        ("machine", f"2 × {H100} on 2 nodes"),
        ("driver", "580.65.06"),
        ("power limit", "700 W"),
        ("sharing", "shared node"),
        ("others on the GPUs", "2 processes, 31 GB"),
        ("nodes", "2"),
    ):
        assert f"<dt>{name}</dt><dd>{value}</dd>" in facts
    assert "NCCL_ALGO=Ring" in facts
    for text in ("generation 5, 16 lanes", "GPU-00000007-aaaa", "GPU1\tNV18"):
        assert text not in facts, "its JSON has that"


def test_a_run_on_processors_says_as_much_as_before(client: TestClient) -> None:
    report = next(one for one in shipped_runs() if one.lab == "algorithms")
    page = " ".join(client.get(f"/labs/algorithms/{report.id}").text.split())
    names = re.findall(r"<dt>([^<]*)</dt>", page.partition("More about")[0])
    assert names == ["machine", "backend", "system", "torch", "load before the run"]


def test_an_exercise_about_what_is_counted_stays_on_processors(
    client: TestClient, this_machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    this_machine(machine(8))
    ring = "/exercises/collectives/count-the-ring?seed=3"
    known_ring = lab_called("ring-bytes")
    predict = {"action": "predict", "answer.bytes": "1 MiB", "answer.messages": "6"}
    page = client.post(ring, data=predict)
    page = client.get(page.headers["location"]) if page.status_code == 303 else page
    assert 'name="backend"' not in page.text
    counted = known_ring.model_copy(update={"gpu": known_ring})
    monkeypatch.setattr(spec, "known_labs", lambda: {**known_labs(), "ring-bytes": counted})
    again = client.get(ring).text
    assert re.search(r'name="backend" value="gloo"', again)


def test_notes_are_stored_as_json(client: TestClient, this_machine: Machine) -> None:
    this_machine(OLD_DRIVER)
    assert json.loads(posted(client, guess="1 s").notes)[0].startswith("On processors")
