"""One exported course for every test of exports: a few pages, and two exercises of each kind."""

import dataclasses
import io
import lzma
import re
import zipfile
from collections.abc import Mapping
from importlib import import_module
from itertools import groupby, islice
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from app.core.folders import ROOT
from app.core.formulas import FORMULAS
from app.core.translation import speaking
from app.course.content.catalog import Catalog
from app.course.content.course import CoursePack, load_pack_formulas, read_pack, sources_of
from app.course.kinds import Exercise
from app.exporting import course
from app.exporting.course_contents import SERVER
from app.exporting.pages import Page
from app.exporting.python import WHEELS, Compiler, browser_python
from app.server.config import Settings

PLANNED = "capstone/a-layout-for-gpt-3"  # whose best layout is searched for
CAPSTONE = "capstone/days-of-the-run"  # of the chapter of *Will my run fit?*
OWN = "your-cluster/hide-the-weights"  # of a chapter whose numbers a learner sets
NUMBER, CODE = "collectives/ring-all-reduce-time", "collectives/write-ring-time"
RUN = "/labs/ring-bytes/20261121-212810-ring-bytes-cd4c7a"  # a recorded one
PATHS = (
    "/", f"/exercises/{NUMBER}", f"/exercises/{CODE}", "/explore/ring", "/explore/fit",
    "/errata", "/search", "/reference", "/labs/ring-bytes", RUN,
    "/glossary", "/chapters/your-cluster",
)  # fmt: skip
FORMULA = '''
from app.core.units import Bytes, BytesPerSecond, Seconds

def sent_time(size: Bytes, bandwidth: BytesPerSecond) -> Seconds:
    """Time to send."""
    return size / bandwidth
'''


class Nothing(Compiler):
    """No Node: modules stay as they are."""

    def compiled(self, archive: bytes) -> bytes:
        return archive


@pytest.fixture(scope="session")
def chosen(catalog: Catalog) -> list[Exercise]:
    """Two exercises of each kind, and those with pages of their own."""
    ordered = sorted(catalog.exercises, key=lambda one: (one.kind, one.id not in (NUMBER, CODE)))
    kinds = groupby(ordered, key=lambda one: one.kind)
    two = [exercise for _, found in kinds for exercise in islice(found, 2)]
    return [*two, catalog.exercise(OWN), catalog.exercise(PLANNED), catalog.exercise(CAPSTONE)]


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory) -> CoursePack:
    """A pack with a formula."""
    folder = tmp_path_factory.mktemp("pack")
    (folder / "exercises").mkdir()
    (folder / "formulas").mkdir()
    (folder / "formulas" / "links.py").write_text(FORMULA)
    (folder / "pack.yaml").write_text('name: mine\ntitle: Mine\nversion: "1"\n')
    return read_pack(folder)


@pytest.fixture(scope="session")
def files(catalog: Catalog, chosen: list[Exercise], pack: CoursePack, _client: TestClient) -> Mapping[str, bytes]:
    """Every file of the course, by its path."""
    return written(small(catalog, chosen), pack, _client)


@pytest.fixture(scope="session")
def desk(files: Mapping[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a browser unpacks of the course, in a folder."""
    return unpacked(files, tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="session")
def german_desk(
    catalog: Catalog,
    chosen: list[Exercise],
    pack: CoursePack,
    _client: TestClient,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """What it unpacks of the same course, in German."""
    with speaking("de"):
        german = written(small(catalog, chosen), pack, _client, {"Accept-Language": "de"})
    return unpacked(german, tmp_path_factory.mktemp("german_desk"))


def small(catalog: Catalog, chosen: list[Exercise]) -> Catalog:
    """A catalog of the *chosen* exercises, with a picture."""
    ids = {one.id for one in chosen}
    topics = tuple(topic for topic in catalog.topics if ids & {e.id for e in topic.exercises})
    image = ROOT / "templates" / "starters" / "pack" / "exercises" / "link.svg"
    return Catalog(topics, {one.id: one for one in chosen}, images={"mine/link.svg": image})


def written(
    catalog: Catalog, pack: CoursePack, client: TestClient, headers: Mapping[str, str] | None = None
) -> Mapping[str, bytes]:
    """Every file of the course in the current language, by its path."""
    client.cookies.clear()  # the last visitor may have signed in
    pages = [Page(path, client.get(path, headers=headers).text) for path in PATHS]
    pages += [Page(path, pages[0].html) for path in (SERVER, "/formulas/mine.sent_time")]
    python = browser_python(Settings().cache)
    plain = dataclasses.replace(python, compiler=Nothing({}, Settings().cache))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(course, "EFFORT", 0)
        patch.setattr(FORMULAS, "_functions", dict(FORMULAS._functions))
        FORMULAS.add(load_pack_formulas(pack, sources_of(pack)))
        return dict(course.course_files(catalog, plain, pages))


def unpacked(files: Mapping[str, bytes], made: Path) -> Path:
    """What a browser unpacks of *files*, in the folder *made*."""
    for name, folder in (("packages", "course"), ("course", "course"), ("program", "program")):
        (packed,) = (c for n, c in files.items() if re.fullmatch(rf"course/{name}\.\w+\.bin", n))
        zipfile.ZipFile(io.BytesIO(lzma.decompress(packed))).extractall(made / folder)
    (made / "here").mkdir()
    for wheel in WHEELS:  # one of them is compiled for browsers
        installed = import_module(wheel.partition("-")[0])
        path = Path(str(installed.__file__))
        place = path.parent if path.name == "__init__.py" else path
        (made / "here" / place.name).symlink_to(place)
    return made
