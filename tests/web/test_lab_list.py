"""The list of labs: a filter and an order in its address, and the facts for a choice."""

import re

import pytest
from fastapi.testclient import TestClient

from app.labs.spec import known_labs
from tests.web.test_sent_run import send, sent


def listed(client: TestClient, query: str = "") -> list[str]:
    text = client.get(f"/labs{query}").text
    return re.findall(r'class="card" href="/labs/([\w-]+)"', text)


def test_a_filter_and_an_order_are_in_the_address(client: TestClient) -> None:
    everything = set(known_labs())
    assert set(listed(client)) == everything
    on_gpus = set(listed(client, "?needs=gpu"))
    assert on_gpus == {name for name, lab in known_labs().items() if lab.gpu}
    assert set(listed(client, "?needs=processor")) == everything - on_gpus
    chapter = listed(client, "?chapter=collectives&order=title")
    assert chapter == ["all-reduce", "algorithms", "ring-bytes"]
    assert listed(client)[:3] == chapter  # the first chapter that has any
    assert listed(client, "?order=time")[-1] == "pipeline"  # longest
    page = client.get("/labs?needs=gpu&order=time").text
    assert '<option value="gpu" selected>' in " ".join(page.split())
    assert '<option value="time" selected>' in " ".join(page.split())
    assert f"{len(on_gpus)} of {len(everything)} labs." in page


@pytest.mark.parametrize("query", ["?needs=nothing", "?order=-1", "?mine=x&order=time2"])
def test_what_is_unknown_filters_nothing(client: TestClient, query: str) -> None:
    assert set(listed(client, query)) == set(known_labs())


def test_a_chapter_without_labs_says_so_and_leads_back(client: TestClient) -> None:
    page = client.get("/labs?chapter=unknown").text
    assert "No lab matches." in page
    assert '<a href="/labs">Show all</a>' in page


def test_the_list_knows_what_this_learner_has_run_or_sent_in(client: TestClient) -> None:
    assert listed(client, "?mine=done") == []
    assert send(client, sent()).status_code == 303
    assert listed(client, "?mine=done") == ["algorithms"]
    assert set(listed(client, "?mine=new")) == set(known_labs()) - {"algorithms"}
    assert "✓ run by you" in client.get("/labs?mine=done").text
    client.cookies.clear()
    assert listed(client, "?mine=done") == []
