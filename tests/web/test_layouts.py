"""/layouts: the best layouts as a page, bounded whatever is asked, and the same as the explorer's."""

import asyncio
import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from starlette.exceptions import HTTPException

from app.config import Settings
from app.explorers import EXPLORERS, Values, open_explorer, read_controls
from app.main import create_app
from app.searching import SearchResult, Space
from app.web.explore.layout_searches import layout_searches, search_layouts
from app.web.explore.layouts import CONTROLS, space_of
from tests.client import Client

SMALL = "/layouts?model=Llama-3-8B&gpus=16&batch=64"


def small() -> Space:
    given = {"model": "Llama-3-8B", "gpus": "16", "batch": "64", "tensor": "2"}
    return space_of(Values(read_controls(CONTROLS, given)[0]))


async def search_small() -> SearchResult | str:
    return await search_layouts(small)


def refused() -> None:
    raise HTTPException(429)


def test_the_best_layouts_are_shown_with_links_to_the_explorer(client: Client) -> None:
    page = client.get("/layouts?recompute=selective").text
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
    assert client.get("/layouts/0.svg", params=SMALL.partition("?")[2]).text.startswith("<svg")
    rows = client.get(f"/layouts/0.csv?{SMALL.partition('?')[2]}").text.splitlines()
    assert rows[0].startswith("memory of the fullest GPU,")
    assert len(rows) > 5
    assert client.get(f"/layouts/1.svg?{SMALL.partition('?')[2]}").status_code == 404
    assert client.get("/layouts/0.svg?tensor=16&gpus=8").status_code == 422


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("gpus=8&batch=8", "0 of 2,272 layouts fit. The smallest needs"),
        ("gpus=8&tensor=16", "ensor is fixed at 16, which does not divide the 8 GPUs"),
        ("gpus=many", "&#39;many&#39; is not a number; using 16384"),
        ("tensor=3", "is not an option; using"),
        ("model=Mixtral-8x7B&gpus=27720&batch=55440", "and a search takes at most 2,000,000; fix"),
    ],
)
def test_what_cannot_be_searched_is_said(client: Client, query: str, says: str) -> None:
    found = client.get(f"/layouts?{query}")
    assert found.status_code == 200
    assert says in found.text


def test_a_search_leads_from_the_explorer_of_one_layout(client: Client) -> None:
    page = unescape(client.get("/explore/fit?gpus=64&batch=128&model=Llama-3-8B").text)
    assert "/layouts?model=Llama-3-8B&gpu=H100&gpus=64&network=50+GB%2Fs&batch=128" in page
    assert "The best layout" in unescape(client.get("/search?q=best+layout").text)


def test_searches_are_an_allowance_and_what_is_known_is_free(tmp_path: Path) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path / 'w.db'}", answers_allowed=100)
    with Client(create_app(settings)) as client:
        assert client.get(SMALL).status_code == 200
        refusal = client.get(f"{SMALL}&tensor=2")
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
