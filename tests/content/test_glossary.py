import re

import pytest
from fastapi.testclient import TestClient
from markupsafe import Markup

from app.course.content.catalog import Catalog
from app.course.content.errata import mark, terms
from tests.each import each


def test_every_term_belongs_to_a_chapter(catalog: Catalog) -> None:
    chapters = {name for topic in catalog.topics for name in topic.folders}
    assert {term.chapter for term in terms().values()} <= chapters
    spellings = [s.casefold() for t in terms().values() for s in (t.term, *t.also)]
    assert len(spellings) == len(set(spellings))


def test_the_words_of_a_diagnosis_are_there() -> None:
    known = {spelling for term in terms().values() for spelling in (term.term, *term.also)}
    assert {
        "model state", "activation memory", "exposed communication", "memory bandwidth",
        "data parallelism", "pipeline parallelism",
        "tensor parallelism", "sharding", "activation checkpointing", "bubble", "utilization",
        "high-bandwidth memory",
    } <= known  # fmt: skip


def test_a_term_is_marked_where_it_occurs_first() -> None:
    marked = mark(Markup("<p>A bubble, another Bubble and the HBM.</p>"))
    assert marked.count('href="/glossary#bubble"') == 1
    assert ">bubble</a>, another Bubble and the <a" in marked
    assert 'aria-description="' in marked
    again = mark(Markup("<p>A BUBBLE.</p><p>And a bubble.</p>"))
    assert ">BUBBLE</a>.</p><p>And a bubble." in again  # as it is written


@each(
    "text",
    [
        "<code>bubble</code>", "<a href='/x'>bubble</a>", "<pre><span>bubble</span></pre>",
        "<h2>bubble</h2>", "<math><mi>bubble</mi></math>", "<p>bubbles, mybubble, bubble-wrap</p>",
        '<p title="bubble">x</p>', "<p>split and copy</p>",
    ],
)  # fmt: skip
def test_text_that_is_not_prose_stays_as_it_is(text: str) -> None:
    assert mark(Markup(text)) == text


def test_marking_goes_on_after_code() -> None:
    assert 'glossary#zero"' in mark(Markup("<p><code>bubble</code> under ZeRO</p>"))
    assert mark(Markup("<p>a &lt;bubble&gt; &amp; <br/> MFU</p>")).count("term") == 2


def test_terms_are_explained_on_pages(client: TestClient) -> None:
    page = client.get("/glossary").text
    for key in terms():
        assert f'id="{key}"' in page
    chapter = client.get("/chapters/pipelines").text
    assert 'class="term" href="/glossary#bubble"' in chapter
    assert 'class="term"' in client.get("/exercises/memory/the-three-stages").text


# What the course names (and what its sources plainly imply), each in a chapter or an exercise.
NAMED = (
    "naive", "ring all-reduce", "double tree", "hierarch", "SHARP", "reduce-scatter", "all-gather",
    "broadcast", "all-to-all", "bus bandwidth", "data parallelism", "bucket", "accumulat", "ZeRO",
    "stage 3", "FSDP", "HSDP", "prefetch", "naive pipeline", "GPipe", "1F1B", "PipeDream-Flush",
    "interleav", "ZB-H1", "ZB-H2", "ZB-V", "ZB1P", "DualPipe", "column", "grouped-query",
    "sequence parallelism", "context parallelism", "ring attention", "activation checkpointing",
    "selective", "expert parallelism", "node-limited", "latent attention", "mixed precision",
    "master copy", "GradScaler", "E4M3", "E5M2", "AdamW", "linear", "square-root", "warm-up",
    "cosine", "ramp", "critical batch", "Young", "Daly", "sharded checkpoint", "elastic", "spare",
    "MFU", "HFU", "streaming multiprocessor", "CUDA core", "tensor core", "roofline",
    "arithmetic intensity", "NVLink", "NVSwitch", "InfiniBand", "RoCE", "fat tree", "Clos",
    "Rail-optimized", "TPU v5p", "ICI", "auto-parallelism", "FlashAttention", "cache", "Chinchilla",
    "SSD", "T²", "MAST", "Tectonic", "NCCLX", "Minipack2", "Megatron",
    "Transformer Engine", "4D", "Depth-first", "breadth-first",
)  # fmt: skip


def test_every_system_is_named_somewhere(catalog: Catalog) -> None:
    texts = [f"{t.summary} {t.opening} {t.closing}" for t in catalog.topics]
    for exercise in catalog.exercises:
        said = exercise.model_dump()
        texts.append(str({key: said[key] for key in said if key not in ("digest", "id")}))
    whole = " ".join(" ".join(texts).split())
    assert [name for name in NAMED if name not in whole] == []


@pytest.mark.parametrize(
    ("exercise", "term"),
    [
        ("memory/fsdp-default", "fsdp"),
        ("pipelines/does-1f1b-help", "one-f-one-b"),
        ("pipelines/does-1f1b-help", "gpipe"),
        ("pipelines/who-found-it", "zero-bubble"),
        ("tensor/sequence-or-context", "sequence-parallelism"),
        ("tensor/sequence-or-context", "context-parallelism"),
        ("accumulation/larger-micro-batch", "activation-checkpointing"),
        ("checkpoints/size", "checkpoint"),
        ("memory/kept-for-the-backward-pass", "checkpoint"),
    ],
)
def test_a_tooltip_that_would_be_the_answer_is_not_there(client: TestClient, exercise: str, term: str) -> None:
    page = client.get(f"/exercises/{exercise}").text
    assert f'class="term" href="/glossary#{term}"' not in page


def test_terms_are_left_unmarked_in_any_of_their_spellings() -> None:
    html = Markup("<p>Recomputation, then a bubble.</p>")
    assert re.findall('href="/glossary#([^"]+)"', mark(html)) == ["activation-checkpointing", "bubble"]
    assert re.findall('href="/glossary#([^"]+)"', mark(html, ("activation checkpointing",))) == ["bubble"]
