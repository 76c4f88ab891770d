"""Nodes in the form of a lab: where a cluster has several."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.main import create_app
from app.server.config import Settings
from app.server.db.session import open_session
from app.server.db.tables import LabRunRow


@contextmanager
def _site(tmp_path: Path, **more: object) -> Iterator[TestClient]:
    """The site of a cluster; its queue is not served, so that runs stay in it."""
    settings = Settings(
        database=f"sqlite:///{tmp_path}/w.db",
        runs=tmp_path / "runs",
        sandbox_workers=1,
        **more,  # type: ignore[arg-type]
    )
    with TestClient(create_app(settings), follow_redirects=False) as client:
        client.app.state.site.labs.close()  # type: ignore[attr-defined]
        yield client


@pytest.fixture(scope="module")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Two nodes of four GPUs, as the settings say; Slurm is never asked."""
    folder = tmp_path_factory.mktemp("cluster")
    for name in ("sbatch", "squeue", "scancel"):
        (folder / name).write_text("#!/bin/sh\nexit 1\n")
        (folder / name).chmod(0o755)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATH", str(folder), prepend=":")
        with _site(folder, lab_launcher="slurm", slurm_nodes=2, slurm_gpus=4) as client:
            yield client


@pytest.fixture
def cluster(_cluster: TestClient) -> TestClient:
    _cluster.cookies.clear()  # a learner may have few runs in the queue
    return _cluster


def text_of(client: TestClient, address: str) -> str:
    return " ".join(client.get(address).text.split())


def given_of(client: TestClient, **fields: str) -> str:
    """The parameters of the run that is asked for."""
    answer = client.post("/labs/all-reduce", data=fields)
    assert answer.status_code == 303, re.findall(r'role="alert">.*', answer.text)
    with open_session(client.app.state.site.engine) as session:  # type: ignore[attr-defined]
        return session.scalars(select(LabRunRow).order_by("id")).all()[-1].given


def test_the_form_offers_nodes_where_a_run_may_take_several(cluster: TestClient) -> None:
    page = text_of(cluster, "/labs/all-reduce")
    assert 'name="run.nodes" value=""' in page
    assert "1 to 2; empty: as few as have room for the ranks" in page
    assert 'name="run.ranks" value="4"' in page  # the GPUs of a node
    assert "2 to 8</p>" in page


@pytest.mark.parametrize("lab", ["algorithms", "bf16-sum"])
def test_a_lab_that_runs_on_one_node_has_no_such_field(cluster: TestClient, lab: str) -> None:
    assert "run.nodes" not in text_of(cluster, f"/labs/{lab}")


def test_one_machine_has_no_such_field(tmp_path: Path) -> None:
    with _site(tmp_path) as client:
        assert "run.nodes" not in text_of(client, "/labs/all-reduce")


def test_a_run_is_stored_with_the_nodes_that_it_takes(cluster: TestClient) -> None:
    assert '"nodes": "2"' in given_of(cluster, **{"run.ranks": "4", "run.nodes": "2"})
    assert '"nodes": "2"' in given_of(cluster, **{"run.ranks": "8", "run.nodes": ""})
    assert "nodes" not in given_of(cluster, **{"run.ranks": "4", "run.nodes": ""})


@pytest.mark.parametrize(
    ("ranks", "nodes", "says"),
    [
        ("4", "4", "4 ranks on 4 nodes: a run may take 2 nodes here"),
        ("8", "1", "8 ranks on 1 node need 8 GPUs per node, and a node has 4"),
        ("4", "3", "4 ranks cannot be spread evenly over 3 nodes"),
    ],
)
def test_nodes_that_cannot_be_are_refused_with_the_form_as_it_was(
    cluster: TestClient, ranks: str, nodes: str, says: str
) -> None:
    fields = {"run.ranks": ranks, "run.nodes": nodes, "backend": "nccl"}
    answer = cluster.post("/labs/all-reduce", data=fields)
    assert answer.status_code == 422
    assert says in answer.text
    assert f'name="run.nodes" value="{nodes}"' in " ".join(answer.text.split())
