"""`wallclock regrade`: judge stored answers again after an exercise was mended."""

import asyncio
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable

from app.classes.people import regrade_run
from app.classes.people.classes import number_of
from app.commands.people import OpenDatabase, class_called, open_database
from app.course.content.catalog import Catalog
from app.course.content.course import read_course
from app.course.sandbox.runner import Runner


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock regrade`."""
    parser.add_argument("exercise", nargs="*", metavar="EXERCISE", help="IDs (default: all that have changed)")
    parser.add_argument("--class", dest="class_called", default="", metavar="CLASS", help="a class (default: all)")
    parser.add_argument("--dry-run", action="store_true", help="list what would change, no more")
    parser.add_argument("--lower", action="store_true", help="also lower scores; otherwise they only rise")
    parser.add_argument("--json", action="store_true", help="print JSON, one object per change")


def run(arguments: Namespace) -> int:
    """Judge the answers of one class or of all, and list the scores that change."""
    with open_database() as here:
        catalog, called = read_course(here.settings), arguments.class_called
        names = {catalog.exercise(name).id for name in arguments.exercise}
        one = number_of(class_called(here.session, called)) if called else None
        for class_id in [one] if one is not None else regrade_run.classes_with_assignments(here.session):
            stale = list(regrade_run.stale_answers(here.session, here.secret, catalog, class_id, names))
            here.session.rollback()  # the next class is read with what was stored of this one
            found = asyncio.run(_regraded(here, stale, catalog, arguments))
            _list(class_id, found.changes, arguments.json)
            sys.stderr.write(f"class {class_id}: {_summary(found, arguments.dry_run)}\n")
    return 0


async def _regraded(
    here: OpenDatabase, stale: list[regrade_run.StaleAnswer], catalog: Catalog, arguments: Namespace
) -> regrade_run.RegradeResult:
    runner = Runner(here.settings)
    starts = any(catalog.exercise(name).runs_code for name in {one.exercise for one in stale})
    if starts:
        await runner.start()
        await runner.ready()
    try:
        return await regrade_run.regrade_answers(
            here.engine, stale, catalog, runner, lower=arguments.lower, store=not arguments.dry_run
        )
    finally:
        if starts:
            await runner.close()


def _list(class_id: int, changes: Iterable[regrade_run.NewJudgment], as_json: bool) -> None:
    for one in changes:
        row = {
            "class": class_id,
            "person": one.stale.member.person,
            "name": one.stale.member.name,
            "exercise": one.stale.exercise,
            "seed": one.stale.seed,
            "before": one.stale.before,
            "after": one.score,
        }
        text = json.dumps(row) if as_json else "\t".join(map(str, row.values()))
        sys.stdout.write(f"{text}\n")


def _summary(found: regrade_run.RegradeResult, dry: bool) -> str:
    would = "would be " if dry else ""
    answers = "answer" if found.judged == 1 else "answers"
    return (
        f"{found.judged:,} {answers} judged again, {found.raised:,} {would}raised, "
        f"{found.lowered:,} {would}lowered, {len(found.kept):,} keep their score"
    )
