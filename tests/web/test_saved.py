"""Measurements that are saved on request: private by their address, and their owner's to delete."""

import gzip
import html
import json
import re
from pathlib import Path
from secrets import token_hex

import pytest
from fastapi.testclient import TestClient
from sqlmodel import select

from app.core.measurements.file_reader import read_files, read_stored, report_values, saved_report
from app.core.measurements.published import SAMPLES, text_of
from app.core.measurements.trace.reader import read_trace
from app.server.db.learner_cookie import new_learner, sign
from app.server.db.measurements import MOST, MeasurementRow, save_measurement
from app.server.db.session import open_session
from app.site import Site
from app.site.web.frame.visitor import COOKIE

LAYOUT = {"model": "Llama-3.1-8B", "cluster": "DGX-H100 gpus=8", "layout": "data=8 zero_stage=3"}


def compare(client: TestClient, text: str, *files: tuple[str, bytes], **fields: str) -> str:
    sent = [("file", file) for file in files] or [("file", ("", b""))]
    return str(client.post("/measured", data={"text": text, **fields}, files=sent).text)


def seals(page: str) -> list[str]:
    return [html.unescape(seal) for seal in re.findall(r'name="seal" value="([^"]*)"', page)]


def saved(client: TestClient, seal: str, title: str = "") -> str:
    answer = client.post("/measured/save", data={"seal": seal, "title": title})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def another(client: TestClient) -> TestClient:
    return TestClient(client.app, follow_redirects=False)


def test_what_is_saved_is_shown_at_its_address_and_deleted_by_its_owner_alone(client: TestClient, site: Site) -> None:
    page = compare(client, text_of("torchtitan-8b-h100"), **LAYOUT)
    assert not client.cookies.get(COOKIE)  # nothing was stored, so there is nobody to know again
    address = saved(client, seals(page)[0], "My <b>run</b>")
    assert re.fullmatch("/measured/[0-9a-f]{32}", address)
    own, other = client.get(address), another(client).get(address)
    for shown in (own, other):
        assert "My &lt;b&gt;run&lt;/b&gt;" in shown.text
        assert "34.3 %" in shown.text
        assert "products reach" in shown.text  # with the layout that was given
        assert shown.headers["x-robots-tag"] == "noindex"
        assert shown.headers["cache-control"] == "no-store"
    assert "/delete" in own.text
    assert "/delete" not in other.text
    assert address in client.get("/measured").text
    assert address not in another(client).get("/measured").text
    assert another(client).post(f"{address}/delete").status_code == 404
    stranger = another(client)
    stranger.cookies.set(COOKIE, sign(new_learner(), site.secret))
    assert stranger.post(f"{address}/delete").status_code == 404
    assert client.get(address).status_code == 200
    assert client.post(f"{address}/delete").status_code == 303
    assert client.get(address).status_code == 404
    assert client.post(f"{address}/delete").status_code == 404


def test_a_saved_trace_has_its_tolls_and_not_the_name_of_its_file(client: TestClient) -> None:
    sample = SAMPLES[-1]
    page = compare(client, "", ("secret-host_4711.json.gz", sample.path.read_bytes()))
    assert "secret-host" in page
    address = saved(client, seals(page)[0])
    shown = client.get(address).text
    assert "What to try first" in shown
    assert "secret-host" not in shown
    assert "secret-host" not in client.get("/progress/export").text


def test_a_trace_that_was_saved_with_the_picture_of_a_step_is_read_without_it() -> None:
    (report,) = read_trace([SAMPLES[-1].path])
    stored = json.loads(saved_report(report))
    stored["report"]["comb"] = {
        "step": 1,
        "span": 1.0,
        "streams": ["7"],
        "names": ["gemm"],
        "works": [[0, 1, 0, 0, 0, 0]],
    }
    assert read_stored(json.dumps(stored)) == read_stored(saved_report(report))


def test_a_report_of_a_file_that_is_cut_off_does_not_name_it(tmp_path: Path) -> None:
    path = tmp_path / "secret-host.log"
    path.write_bytes(gzip.compress(text_of("h100-8-p5").encode())[:-20])
    (found,) = read_files([path])
    assert "the file is cut off" in saved_report(found)
    assert "secret-host" not in saved_report(found)


def test_what_is_saved_twice_is_stored_once(client: TestClient, site: Site) -> None:
    """Also without a cookie, by which each would be another visitor."""
    seal = seals(compare(client, text_of("h100-8-p5-one-row")))[0]
    head, _, signature = seal.rpartition(".")
    same = [seal, seal, f"{head}.{signature}=", f"{head}.{signature[:5]}!{signature[5:]}"]
    addresses: set[str] = set()
    for one in same:
        client.cookies.clear()
        answer = client.post("/measured/save", data={"seal": one, "title": "Another title"})
        addresses |= {answer.headers["location"]} if answer.status_code == 303 else set()
    assert len(addresses) == 1
    with open_session(site.engine) as session:
        name = min(addresses).rpartition("/")[2]
        rows = session.exec(select(MeasurementRow).where(MeasurementRow.title == "Another title"))
        assert [row.name for row in rows] == [name]
    page_again = seals(compare(client, text_of("h100-8-p5-one-row")))[0]
    assert saved(client, page_again) not in addresses, "another page is another measurement"


def test_the_last_title_that_its_owner_gives_counts(client: TestClient) -> None:
    seal = seals(compare(client, text_of("h100-8-p5-one-row")))[0]
    address = saved(client, seal)
    for title in ("A second title", "A third title"):
        again = client.post("/measured/save", data={"seal": seal, "title": title})
        assert (again.status_code, again.headers["location"]) == (303, address)
        assert f"<h1>{title}</h1>" in client.get(address).text
    client.cookies.clear()
    stranger = client.post("/measured/save", data={"seal": seal, "title": "A stranger's"})
    assert (stranger.status_code, stranger.headers["location"]) == (303, address)
    assert "A third title" in client.get(address).text


@pytest.mark.parametrize("seal", ["", "x", "WyJhIiwgMSwge31d.aaaaaa.bbbbbbbbbbbbbbbbbbbbbbb"])
def test_what_no_page_has_sealed_is_not_stored(client: TestClient, seal: str) -> None:
    answer = client.post("/measured/save", data={"seal": seal})
    assert answer.status_code == 422
    assert "read the file again, then save it" in answer.text
    assert not client.cookies.get(COOKIE)


def test_a_form_of_another_site_saves_and_deletes_nothing(client: TestClient) -> None:
    foreign = {"origin": "https://example.com"}
    for path in ("/measured/save", f"/measured/{token_hex(16)}/delete"):
        assert client.post(path, data={"seal": "x"}, headers=foreign).status_code == 403


def test_a_learner_has_a_bounded_number(client: TestClient, site: Site) -> None:
    first, another = (seals(compare(client, text_of("h100-8-p5-one-row")))[0] for _ in range(2))
    saved(client, first)
    learner = client.cookies[COOKIE].rpartition(".")[0]
    for _ in range(MOST - 1):
        row = MeasurementRow(name=token_hex(16), learner=learner, title="t", report="{}")
        save_measurement(site.engine, row)
    answer = client.post("/measured/save", data={"seal": another})
    assert answer.status_code == 422
    assert "delete one first" in answer.text
    # One that no version can show is no fault of the server.
    assert client.get(f"/measured/{row.name}").status_code == 404


def test_it_is_in_the_export_comes_back_from_it_and_goes_with_its_learner(client: TestClient) -> None:
    address = saved(client, seals(compare(client, text_of("h100-8-p5")))[0])
    exported = client.get("/progress/export").content
    (row,) = json.loads(exported)["measurements"]
    assert row["title"] == "All-reduce on 8 ranks"
    assert client.post("/progress/delete", data={"sure": "yes"}).status_code == 303
    assert client.get(address).status_code == 404
    answer = another(client).post("/progress/import", files={"file": ("w.json", exported)})
    assert "added=1&known=0&left=0" in answer.headers["location"]
    assert "All-reduce on 8 ranks" in client.get(address).text


def test_what_was_written_by_hand_is_left_out_of_an_import(client: TestClient, tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text(text_of("h100-8-p5"))
    good = report_values(read_files([path])[0])
    row = {"name": "0" * 32, "title": "t", "given": "{}", "at": "2026-03-01T00:00:00Z"}

    def report(**changes: object) -> str:
        return json.dumps({**good, "report": {**good["report"], **changes}})  # type: ignore[dict-item]

    size = {"size": 1e300, "time": 1, "algbw": 1, "busbw": 1, "rounding": 0}
    none = {"size": 0, "time": 0, "algbw": 0, "busbw": 0, "rounding": 0}
    wrong: list[dict[str, object]] = [
        {**row, "name": "../../x", "report": report()},
        {**row, "name": "h100-8-p5", "report": report()},
        {**row, "report": "[" * 100_000},
        {**row, "report": report(rows=[size])},
        {**row, "report": report(rows=[none])},
        {**row, "report": report(ranks="many")},
        {**row, "report": "{}"},
        {**row, "report": json.dumps({**good, "kind": "Path"})},
        {**row, "report": report(), "given": "[]"},
        {**row, "report": report(), "at": "yesterday"},
    ]
    content = json.dumps({"measurements": wrong}).encode()
    answer = client.post("/progress/import", files={"file": ("w.json", content)})
    assert answer.headers["location"].startswith("/progress?added=0&known=0&left=10")


def test_reports_come_back_as_they_were(tmp_path: Path) -> None:
    paths = [tmp_path / "test", tmp_path / "log", SAMPLES[0].path]
    paths[0].write_text(text_of("h100-16-p5"))
    paths[1].write_text(text_of("torchtitan-8b-h100"))
    for one in read_files(paths):
        assert read_stored(saved_report(one)).record() == one.record()
