import re

from fastapi.testclient import TestClient

from app.core.expressions import PAD_LIMIT

RING = "/exercises/collectives/ring-all-reduce-time"


def test_a_pad_is_beside_the_exercise_and_folded(client: TestClient) -> None:
    page = client.get(RING).text
    assert '<details class="pad"><summary>Scratch pad</summary>' in page
    assert 'action="/scratch" data-pad' in page


def test_the_pad_works_without_scripts(client: TestClient) -> None:
    answer = client.post("/scratch", data={"text": "S = 2 GB\r\nS / (50 GB/s)"})
    assert answer.status_code == 200
    assert "<b>= 40 ms</b>" in answer.text
    assert re.search(r"<textarea[^>]*>\s*S = 2 GB\nS / \(50 GB/s\)</textarea>", answer.text)
    assert "set-cookie" not in answer.headers


def test_a_script_gets_the_results_alone(client: TestClient) -> None:
    part = client.post("/scratch", data={"text": "2 * 35 ms"}, headers={"X-Fragment": "1"}).text
    assert part.lstrip().startswith('<ol class="worked">')
    assert "= 70 ms" in part


def test_what_is_typed_into_a_pad_comes_back_as_text(client: TestClient) -> None:
    page = client.post("/scratch", data={"text": "</textarea><script>alert(1)</script> 2"}).text
    assert "<script>alert" not in page


def test_a_pad_of_another_site_is_refused_and_a_long_one_cut(client: TestClient) -> None:
    foreign = client.post("/scratch", data={"text": "1"}, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    page = client.post("/scratch", data={"text": "1\n" * PAD_LIMIT})
    assert page.status_code == 200
    assert page.text.count("<li>") == 41


def test_only_the_neighbors_on_a_long_path_are_listed(client: TestClient) -> None:
    page = client.get("/exercises/kernels/feed-the-node").text
    path = page[page.index('id="path"') :]
    assert path.count("<li>") == 7
    assert '<ol class="list" start="3">' in path
    first = client.get("/exercises/hardware/ridge-point").text
    assert first[first.index('id="path"') :].count("<li>") == 7
    extra = client.get("/exercises/sharding/flat-traffic").text
    assert extra[extra.index('id="path"') :].count("<li>") == 4
    assert "aria-current" not in extra[extra.index('id="path"') :]
