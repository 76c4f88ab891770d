"""Three questions about a run: what the address leaves open is searched, bounded whatever is asked."""

import asyncio
import re
from dataclasses import asdict
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from starlette.exceptions import HTTPException

from app.core.formulas.layout import step_time
from app.core.formulas.presets import Layout
from app.core.predicting.estimate import estimate
from app.core.predicting.reader import PredictionReader
from app.core.searching import SearchResult, Space
from app.core.units import SECOND, show
from app.course.explorers import EXPLORERS
from app.course.explorers.base import open_explorer
from app.course.explorers.placements import placement
from app.course.explorers.published_runs import RUNS
from app.course.explorers.run_fit import layout_words
from app.main import create_app
from app.server.config import Settings
from app.site.web.explore.layouts import layout_searches, open_plan, search_layouts, space_of
from tests.client import Client

PAGE = "/explore/fit"
SMALL = f"{PAGE}?model=Llama-3-8B&gpus=16&batch=64"


def small() -> Space:
    return space_of(open_plan({"model": "Llama-3-8B", "gpus": "16", "batch": "64", "tensor": "2"}))


async def search_small() -> SearchResult | str:
    return await search_layouts(small)


def refused() -> None:
    raise HTTPException(429)


def headline(page: str) -> str:
    (found,) = re.findall(r'(?s)<p class="feedback [a-z]+ answer-first">(.*?)</p>', page)
    return " ".join(unescape(re.sub(r"<[^>]*>", "", found)).split())


def labels(page: str) -> list[str]:
    """What the page asks before its doors."""
    return re.findall(r'<label class="label" for="c-(\w+)"', page[: page.index('<details class="door"')])


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("model=Llama 3.1 8B&gpu=RTX 4090&gpus=1", "No: 124 GB more than the 24 GB of a GPU. It fits on 8 of them: "),
        ("model=Qwen3-30B-A3B&gpu=H100&gpus=8", "Yes: "),
        ("model=gpt-oss-20b&gpu=L40S&gpus=2", "No: 142 GB more than the 48 GB of a GPU. It fits on 16 of them: "),
        ("model=Llama-3.1-70B&gpu=H200&gpus=64", "Yes: "),
        ("model=GPT-2&gpu=T4&gpus=1", "Yes: "),
        ("", "Yes: "),
    ],
)
def test_a_model_a_gpu_and_how_many_are_all_that_is_asked(client: Client, asked: str, says: str) -> None:
    page = client.get(PAGE, params=dict(parse_qsl(asked))).text
    assert headline(page).startswith(says)
    assert labels(page) == ["model", "gpu", "gpus"]
    assert "Predict first" not in page
    assert "is not an option" not in page
    assert page[: page.index('<details class="door"')].count("<figure") == 1


def test_the_step_is_said_with_its_range(client: Client) -> None:
    state = {"model": "GPT-2", "gpu": "T4", "gpus": "1", "micro": "8", "stage": "0", "recompute": "none"}
    plan = open_plan(state)
    values = open_explorer(EXPLORERS, "fit", dict(plan.state)).values
    placed = placement(values)
    line = {"model": "GPT-2", "cluster": "1 T4", "layout": asdict(placed.layout)}
    predicted = estimate(PredictionReader().asked(line))
    step = step_time(placed.model, placed.cluster, placed.layout).total
    low, high = min(predicted.low, step), max(predicted.high, step)
    assert low < high
    assert f"({show(low, SECOND, 3)} to {show(high, SECOND, 3)}) a step" in headline(
        client.get(PAGE, params=state).text
    )


def test_batch_and_lengths_follow_the_model_unless_they_are_told(client: Client) -> None:
    plan = open_plan({"model": "GPT-2", "gpus": "1"})
    assert (plan.state["sequence"], plan.state["tokens"]) == ("1024", "0.002489")  # 20 tokens a parameter
    large = open_plan({"model": "Llama-3.1-405B", "gpus": "16384"})
    assert int(large.state["batch"]) * int(large.state["sequence"]) == 2**24  # 16 M, as it was trained
    assert open_plan({"gpus": "12"}).state["batch"] == "1023"  # 12 is 4 times 3
    told = client.get(f"{PAGE}?model=GPT-2&gpus=1&batch=64&sequence=512").text
    assert "64 sequences of 512 tokens a step" in told
    assert re.search(r'name="batch"\s+value="64"', told)
    assert re.search(r'name="sequence"\s+value="512"', told)
    assert re.search(r'name="tensor"\s+placeholder="1"', told)


def test_what_is_told_is_held_and_the_rest_is_found(client: Client) -> None:
    page = client.get(f"{SMALL}&tensor=2").text
    assert "tensor 2" in headline(page)
    names = re.findall(r'<th scope="row"><a href="/explore/fit[^"]*"[^>]*>([^<]*)', page)
    found = [one for one in names if "ZeRO\N{NO-BREAK SPACE}" in one]
    assert len(found) > 5
    assert all("tensor\N{NO-BREAK SPACE}2" in one for one in found)
    assert "tensor" not in headline(client.get(SMALL).text)


def test_the_fastest_layouts_are_links_to_themselves(client: Client) -> None:
    page = client.get(f"{PAGE}?model=Llama-3.1-405B&gpus=16384&batch=2048&sequence=8192").text
    assert "tensor 8 × pipeline 16 × data 128, 8 pipeline chunks, ZeRO 2." in headline(page)  # as trained
    page = page[page.index("<summary>The fastest layouts") :]
    links = re.findall(r'href="(/explore/fit\?[^"]*)".*?</th>\s*<td>([^<]*)</td>', page, re.S)
    assert len(links) > 10
    for href, step in links[:3]:
        state = dict(parse_qsl(unescape(href).partition("?")[2]))
        state.pop("was")
        shown = open_explorer(EXPLORERS, "fit", state).shown
        assert shown.notice == ""
        assert shown.verdict
        assert shown.verdict.good
        assert shown.facts[1].value == step.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("gpus=8&tensor=16", "ensor is fixed at 16, which does not divide the 8 GPUs"),
        ("gpus=many", "annot read &#39;many&#39;: write a number, such as 12.5; using 8"),
        ("model=nobodys-model", "is not an option; using Llama-3.1-8B"),
        ("gpu=H1000", "is not an option; using H100"),
        ("precision=3", "is not an option; using"),
        ("model=Mixtral-8x7B&gpus=27720&batch=55440", "and a search takes at most 2,000,000; fix"),
    ],
)
def test_what_cannot_be_searched_is_said_under_the_headline(client: Client, query: str, says: str) -> None:
    found = client.get(f"{PAGE}?{query}")
    assert found.status_code == 200
    (doubts,) = re.findall(r'(?s)<ul class="doubts">.*?</ul>', found.text)
    assert says in doubts
    assert found.text.index("answer-first") < found.text.index('class="doubts"')


def test_what_barely_fits_is_doubted(client: Client) -> None:
    tight = "an allocator may hold 5 % more"
    assert tight in headline(client.get(f"{PAGE}?model=Llama-3.1-70B&gpu=H200&gpus=64").text)
    assert tight not in headline(client.get(f"{PAGE}?model=Qwen3-30B-A3B&gpus=16").text)


def test_a_layout_is_named_by_what_it_divides() -> None:
    space = "\N{NO-BREAK SPACE}"
    assert layout_words(Layout()) == "one GPU"
    assert layout_words(Layout(tensor=4, data=4, zero_stage=2)) == f"tensor{space}4 × data{space}4, ZeRO{space}2"
    chunked = layout_words(Layout(pipeline=2, virtual=3, microbatches=8, recompute="full"))
    assert chunked == f"pipeline{space}2, 3 pipeline chunks, full recomputation"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/layouts?gpus=16&tensor=2&stage=", "/explore/fit?gpus=16&tensor=2&stage="),
        ("/layouts/0.csv?model=Llama-3-8B", "/explore/fit?model=Llama-3-8B"),
        ("/explore/fit/better?gpus=16&tensor=2", "/explore/fit?gpus=16&tensor=2"),
        ("/explore/fit/better/0.svg?gpus=16&tensor=2", "/explore/fit?gpus=16&tensor=2"),
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


def test_every_published_run_is_a_state_of_the_page(client: Client) -> None:
    for run in RUNS:
        assert client.get(PAGE, params=run.state).text.count(run.name) > 1


def test_searches_are_an_allowance_and_the_page_comes_without_one(tmp_path: Path) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path / 'w.db'}", answers_allowed=30)
    with Client(create_app(settings)) as client:
        best = headline(client.get(SMALL).text)
        refused = client.get(f"{SMALL}&tensor=2")
        assert refused.status_code == 200
        assert "oo many searches" in refused.text
        assert "tensor 2 × data 8" in headline(refused.text)
        known = client.get(SMALL).text  # what is known is free
        assert "oo many searches" not in known
        assert headline(known) == best


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
