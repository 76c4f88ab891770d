"""The list of labs: in the order of the chapters, with the facts for a choice."""

import re

from fastapi.testclient import TestClient

from app.labs.spec import known_labs
from tests.web.test_sent_run import send, sent


def cards(client: TestClient, query: str = "") -> dict[str, str]:
    text = client.get(f"/labs{query}").text
    return dict(re.findall(r'class="card" href="/labs/([\w-]+)">(.*?)</a>', text, re.DOTALL))


def test_labs_are_in_the_order_of_the_chapters_that_use_them(client: TestClient) -> None:
    listed = cards(client)
    assert set(listed) == set(known_labs())
    assert list(listed)[:3] == ["all-reduce", "algorithms", "ring-bytes"]  # by title, in the first chapter that has any
    assert "CPUs or GPUs" in listed["all-reduce"]
    for name, lab in known_labs().items():
        assert ("CPUs or GPUs" in listed[name]) == (lab.gpu is not None), name


def test_a_filter_of_an_earlier_version_is_no_error(client: TestClient) -> None:
    assert list(cards(client, "?chapter=collectives&needs=gpu&order=time")) == list(cards(client))


def test_the_list_knows_what_this_learner_has_run_or_sent_in(client: TestClient) -> None:
    done = "✓ run by you"
    assert not any(done in card for card in cards(client).values())
    assert send(client, sent()).status_code == 303
    assert [name for name, card in cards(client).items() if done in card] == ["algorithms"]
    client.cookies.clear()
    assert not any(done in card for card in cards(client).values())
