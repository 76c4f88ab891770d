"""The course: the chapters of every source, arranged as the packs among them say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FunctionType

from app.core.errors import ContentError, Problem, nearest
from app.core.formulas import FORMULAS
from app.course.content.catalog import Catalog, Topic
from app.course.content.pack_file import CoursePack
from app.course.content.pack_formulas import is_agreed, loaded, refused_formulas, sources_of
from app.course.content.packs import BUILT_IN, pack_folders, read_packs
from app.server.config import Settings


def read_course(settings: Settings) -> Catalog:
    """The catalog of this server; adds the formulas of packs that the operator agreed to.

    Raises:
        ContentError: with every problem of the files.
        InputError: an installed pack cannot be found.
    """
    packs = read_packs(pack_folders(settings))
    load_formulas(settings, packs)
    return arranged(Catalog.read([BUILT_IN, *(pack.chapters for pack in packs)]), packs)


def load_formulas(settings: Settings, packs: Sequence[CoursePack]) -> None:
    """Add the formulas of *packs*.

    Raises:
        ContentError: nobody agreed to them, or they cannot be loaded; none is added then.
    """
    problems: list[Problem] = []
    found: dict[str, FunctionType] = {}
    for pack in packs:
        try:
            found |= _agreed(settings, pack)
        except ContentError as error:
            problems += error.problems
    if problems:
        raise ContentError(problems)
    FORMULAS.add(found)


def _agreed(settings: Settings, pack: CoursePack) -> Mapping[str, FunctionType]:
    """The formulas of *pack*, to which the operator must have agreed."""
    files = sources_of(pack)
    if files and not is_agreed(settings, pack, files):
        raise ContentError([refused_formulas(pack, files)])
    return loaded(pack, files)


def arranged(catalog: Catalog, packs: Sequence[CoursePack]) -> Catalog:
    """*catalog* in the order, with the names and without the chapters that *packs* say.

    Raises:
        ContentError: a pack names a chapter or an exercise that there is not, two packs bring a
            front page, or nothing is left.
    """
    problems: list[Problem] = []
    for pack in packs:
        problems += _unknown(catalog, pack)
    fronts = [pack for pack in packs if pack.file and pack.file.home]
    for other in fronts[1:]:
        says = f"home: the pack in {fronts[0].folder} brings a front page as well"
        problems.append(other.problem(("home",), says, "remove `home` from one of them"))
    if problems:
        raise ContentError(problems)
    for pack in packs:
        catalog = _arranged_by(catalog, pack)
    if packs and not catalog.topics:
        cure = "hide fewer chapters, or add one"
        raise ContentError([packs[-1].problem(("hide",), "hide: no chapter is left", cure)])
    home = fronts[0].file.home if fronts and fronts[0].file else None
    return replace(catalog, front=(home.title, home.opening) if home else None)


def _unknown(catalog: Catalog, pack: CoursePack) -> Iterator[Problem]:
    """A problem for each chapter and exercise in the pack.yaml of *pack* that there is not."""
    if pack.file is None:
        return
    known = {topic.id: {one.id.partition("/")[2] for one in topic.exercises} for topic in catalog.topics}
    hidden = [] if pack.file.hide == "all" else pack.file.hide
    named = {"order": pack.file.order, "hide": hidden}
    places = [((key, n), name) for key, names in named.items() for n, name in enumerate(names)]
    places += [((key, name), name) for key in ("names", "pick") for name in getattr(pack.file, key)]
    for where, name in places:
        if name not in known:
            says = f"no chapter is called {name!r}{nearest(name, known)}"
            yield pack.problem(where, says, f"the chapters are {', '.join(known)}")
    for name, picked in pack.file.pick.items():
        for place, exercise in enumerate(picked):
            if exercise not in known.get(name, {exercise}):
                says = f"no exercise of it is called {exercise!r}{nearest(exercise, known[name])}"
                cure = "write its name without the chapter"
                yield pack.problem(("pick", name, place), says, cure)


def _arranged_by(catalog: Catalog, pack: CoursePack) -> Catalog:
    """*catalog* as the pack.yaml of *pack* alone says; to hide all is to hide the built-in ones."""
    if pack.file is None:
        return catalog
    hides = _chapters(BUILT_IN) if pack.file.hide == "all" else pack.file.hide
    listed, hidden = [], [*catalog.hidden]
    for topic in catalog.topics:
        picked = pack.file.pick.get(topic.id)
        if picked is not None:
            chosen = {f"{topic.id}/{name}" for name in picked}
            hidden.append(topic)
            topic = replace(topic, exercises=tuple(e for e in topic.exercises if e.id in chosen))
        elif topic.id in hides:
            hidden.append(topic)
            continue
        listed.append(_renamed(topic, pack.file.names))
    places = {name: place for place, name in enumerate(pack.file.order)}
    listed.sort(key=lambda topic: places.get(topic.id, len(places)))
    return replace(catalog, topics=tuple(listed), hidden=tuple(hidden))


def _chapters(folder: Path) -> frozenset[str]:
    return frozenset(file.parent.name for file in folder.glob("*/topic.yaml"))


def _renamed(topic: Topic, names: Mapping[str, str]) -> Topic:
    return replace(topic, title=names[topic.id]) if topic.id in names else topic
