"""An address that is gone leads to the nearest page, at once."""

from fastapi.testclient import TestClient

from app.course.content.catalog import Catalog
from app.site.web.frame.assets import asset_url
from app.site.web.frame.static import FORMER
from tests.each import each

# Addresses that people may have stored, and where they lead now.
LED = {
    "/guess": "/",
    "/map?route=serve": "/",
    "/measured/traces": "/measured",
    "/map/start?route=serve": "/",
    "/guess/2026-03-01": "/",
    "/progress/goal.ics": "/progress",
    "/explore/comb?stall=b": "/exercises/diagnosis/gaps-in-a-comb",
    "/explore/loss-scale": "/formulas/precision.loss_scale",
    "/explore/tolls?technique=zero": "/chapters/diagnosis",
    "/explore/fit/better": "/explore/fit",
    "/explore/fit/better/0.svg": "/explore/fit",
    "/layouts?gpus=16": "/explore/fit?gpus=16",
    "/layouts/0.csv": "/explore/fit",
    "/exercises/puzzles/room-for-four/board": "/exercises/puzzles/room-for-four",
    "/labs/algorithms/board?hardware=H100": "/labs/algorithms",
    "/labs/algorithms/board/0.svg": "/labs/algorithms",
    "/pictures/explore/ring.png?ranks=12": asset_url("social.png"),
    "/pictures/labs/algorithms/board.png": asset_url("social.png"),
}


@each("address", list(LED))
def test_an_address_that_is_gone_leads_to_a_page(client: TestClient, address: str) -> None:
    answer = client.get(address, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (308, LED[address])
    assert client.get(LED[address], follow_redirects=False).status_code == 200


def test_a_chapter_that_has_become_part_of_another_leads_there(client: TestClient, catalog: Catalog) -> None:
    joined = {name: topic.id for topic in catalog.topics for name in topic.folders if name != topic.id}
    assert joined["kernels"] == "hardware"
    for name, topic in joined.items():
        answer = client.get(f"/chapters/{name}", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (308, f"/chapters/{topic}")


def test_every_address_that_is_gone_is_tried(client: TestClient) -> None:
    tried = {client.get(address, follow_redirects=False).headers["location"] for address in LED}
    assert len(LED) >= len(FORMER)
    assert tried == set(LED.values())
