"""The search for a better layout, bounded whatever is asked, and one page for all about layouts."""

import asyncio
import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from starlette.exceptions import HTTPException

from app.core.searching import SearchResult, Space
from app.course.explorers import EXPLORERS, Values, open_explorer, read_controls
from app.main import create_app
from app.server.config import Settings
from app.site.web.explore.layout_searches import layout_searches, search_layouts
from app.site.web.explore.layouts import FIT, space_of
from tests.client import Client

BETTER = "/explore/fit/better"
SMALL = f"{BETTER}?model=Llama-3-8B&gpus=16&batch=64"


def small() -> Space:
    given = {"model": "Llama-3-8B", "gpus": "16", "batch": "64", "tensor": "2"}
    return space_of(Values(read_controls(FIT.controls, given)[0]), ["tensor"])


async def search_small() -> SearchResult | str:
    return await search_layouts(small)


def refused() -> None:
    raise HTTPException(429)


def test_the_best_layouts_are_shown_with_links_to_the_explorer(client: Client) -> None:
    page = client.get(f"{BETTER}?recompute=selective&hold=recompute").text
    page = page[page.index('id="better"') :]
    assert "tensor\N{NO-BREAK SPACE}8, pipeline\N{NO-BREAK SPACE}16" in page  # as trained
    assert "tensor parallelism divides the heads" in page
    links = re.findall(r'href="(/explore/fit\?[^"]*)".*?</th>\s*<td>([^<]*)</td>', page, re.S)
    assert len(links) > 10
    for href, step in links[:3]:
        state = dict(parse_qsl(unescape(href).partition("?")[2]))
        shown = open_explorer(EXPLORERS, "fit", state).shown
        assert shown.notice == ""
        assert shown.verdict
        assert shown.verdict.good
        assert shown.facts[1].value == step.replace("\N{NO-BREAK SPACE}", " ")


def test_the_figure_can_be_downloaded(client: Client) -> None:
    assert client.get(f"{BETTER}/0.svg", params=SMALL.partition("?")[2]).text.startswith("<svg")
    rows = client.get(f"{BETTER}/0.csv?{SMALL.partition('?')[2]}").text.splitlines()
    assert rows[0].startswith("memory of the fullest GPU,")
    assert len(rows) > 5
    assert client.get(f"{BETTER}/1.svg?{SMALL.partition('?')[2]}").status_code == 404
    assert client.get(f"{BETTER}/0.svg?tensor=16&gpus=8&hold=tensor").status_code == 422


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("gpus=8&batch=8", "0 of 2,272 layouts fit. The smallest needs"),
        ("gpus=8&tensor=16&hold=tensor", "ensor is fixed at 16, which does not divide the 8 GPUs"),
        ("gpus=many", "cannot read &#39;many&#39;: write a number, such as 12.5; using 16384"),
        ("precision=3", "is not an option; using"),
        ("model=Mixtral-8x7B&gpus=27720&batch=55440", "and a search takes at most 2,000,000; fix"),
    ],
)
def test_what_cannot_be_searched_is_said(client: Client, query: str, says: str) -> None:
    found = client.get(f"{BETTER}?{query}")
    assert found.status_code == 200
    assert says in found.text


def test_a_search_begins_at_the_run_that_is_shown(client: Client) -> None:
    page = client.get("/explore/fit?gpus=64&batch=128&model=Llama-3-8B").text
    form = page[page.index(f'action="{BETTER}#better"') :]
    for name, value in (("gpus", "64"), ("batch", "128"), ("model", "Llama-3-8B")):
        assert f'name="{name}" value="{value}"' in form
    assert "A better layout" in client.get(SMALL).text
    assert "Find a better one" not in client.get("/explore/ring?show=1").text


def test_what_is_left_as_it_is_stays_in_the_layouts_that_are_found(client: Client) -> None:
    page = client.get(f"{SMALL}&tensor=2&hold=tensor").text
    assert 'value="tensor" checked' in page
    names = re.findall(r'<th scope="row"><a href="/explore/fit[^"]*"[^>]*>([^<]*)', page)
    found = [one for one in names if "ZeRO\N{NO-BREAK SPACE}" in one]
    assert len(found) > 5
    assert all("tensor\N{NO-BREAK SPACE}2" in one for one in found)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/layouts?gpus=16&tensor=2&stage=", f"{BETTER}?gpus=16&tensor=2&hold=tensor"),
        (f"/layouts/0.csv?{SMALL.partition('?')[2]}", f"{BETTER}/0.csv?{SMALL.partition('?')[2]}"),
        ("/explore/layout?tensor=4&precision=8-bit", "/explore/fit?tensor=4&precision=8-bit"),
        ("/explore/layout?model=Megatron-LM+22B&gpu=GB200", "/explore/fit?model=Megatron-LM+22B&gpu=GB200"),
        ("/explore/run?parameters=70&tokens=2&mfu=40", "/explore/fit?model=Llama-3-70B&tokens=2"),
        ("/explore/run?days=78&electricity=9", "/explore/fit?electricity=9"),
        ("/explore/run", "/explore/fit?show=1"),
    ],
)
def test_pages_that_are_part_of_it_now_lead_there_with_their_state(client: Client, old: str, new: str) -> None:
    answer = client.get(old, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (308, new)
    page = client.get(new)
    assert page.status_code == 200
    assert "is not an option" not in page.text


def test_only_the_pages_are_one_and_figures_of_chapters_lead_to_it(client: Client) -> None:
    assert client.get("/explore/run/0.svg").status_code == 200
    chapter = client.get("/chapters/capstone").text
    assert "/explore/run?" not in chapter
    assert 'href="/explore/fit?' in chapter
    listed = client.get("/explore").text
    assert ['href="/explore/run"' in listed, 'href="/explore/fit"' in listed] == [False, True]


def test_every_preset_is_a_run_that_fits() -> None:
    for preset in FIT.presets:
        verdict = open_explorer(EXPLORERS, "fit", dict(preset.state)).shown.verdict
        assert verdict
        assert verdict.good, preset.name


def test_just_show_me_is_remembered_until_a_prediction_is_asked_for(client: Client) -> None:
    assert "Predict first" in client.get("/explore/fit").text
    link = re.findall(r'href="([^"]*)" data-turn[^>]*>Just show me', client.get("/explore/fit").text)
    assert "Predict first" not in client.get(unescape(link[0])).text
    assert "It fits" in client.get("/explore/fit").text
    assert "Predict first" in client.get("/explore/ring").text
    client.get("/explore/fit?predict=1")
    assert "Predict first" in client.get("/explore/fit").text


def test_searches_are_an_allowance_and_what_is_known_is_free(tmp_path: Path) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path / 'w.db'}", answers_allowed=100)
    with Client(create_app(settings)) as client:
        assert client.get(SMALL).status_code == 200
        refusal = client.get(f"{SMALL}&tensor=2&hold=tensor")
        assert refusal.status_code == 429
        assert "oo many searches" in refusal.text
        assert client.get(SMALL).status_code == 200


def test_a_search_is_run_once_and_never_for_long() -> None:
    async def tried() -> None:
        searches = layout_searches()
        same = [searches.result(("a",), search_small, lambda: None) for _ in range(3)]
        one, *others = await asyncio.gather(*same)
        assert isinstance(one, SearchResult)
        assert all(other is one for other in others)
        assert await searches.result(("a",), search_small, refused) is one  # remembered: no cost
        with pytest.raises(HTTPException):
            await searches.result(("b",), search_small, refused)
        many = [searches.result((str(n),), search_small, lambda: None) for n in range(9)]
        ends = await asyncio.gather(*many, return_exceptions=True)
        busy = [end for end in ends if isinstance(end, HTTPException)]
        assert [end.status_code for end in busy] == [503] * 3
        hurried = await search_layouts(small, seconds=0)
        assert "layouts had been searched; fix some" in str(hurried)

    asyncio.run(tried())
