"""The checks of `wallclock doctor` that open the database, the course and the sandbox."""

import asyncio
from collections.abc import Iterator

from app.commands.doctor_machine import Check, missing, note, ok
from app.core.errors import AppError, ContentError, UnavailableError
from app.course.content.course import read_course
from app.course.sandbox.component import component_file
from app.course.sandbox.remote import RemotePool
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from app.server.db.migrations import standing
from app.server.db.session import database_file

_SHOWN = 5  # problems of the course
_TRIAL = "def answer():\n    return 42\n"


def checked_database(settings: Settings) -> Check:
    """Whether the database can be used, and what the next start would change in it."""
    try:
        file = database_file(settings.database)
        if file is not None and not file.exists():
            return ok("database", f"{file} does not exist yet; the first start creates it")
        migrations = standing(settings.database)
    except UnavailableError as error:
        cause = f" ({' '.join(error.cause.split())})" if error.cause else ""
        return missing("database", f"{error}{cause}", "")
    except AppError as error:
        return missing("database", str(error), "")
    where = str(file) if file else "PostgreSQL"
    if migrations:
        count = f"{migrations} migration{'s' if migrations > 1 else ''}"
        return note("database", f"{where}: the next start applies {count}", "back it up first")
    return ok("database", where)


def checked_course(settings: Settings) -> Iterator[Check]:
    """The chapters and exercises, with every problem of their files."""
    try:
        catalog = read_course(settings)
    except ContentError as error:
        for problem in error.problems[:_SHOWN]:
            where = f"{problem.path}:{problem.line}"
            yield missing("course", f"{where}: {problem.says}", problem.cure)
        if len(error.problems) > _SHOWN:
            says = f"{len(error.problems) - _SHOWN} more problems"
            yield missing("course", says, "wallclock lint lists them")
        return
    except AppError as error:
        yield missing("course", str(error), "")
        return
    says = f"{len(catalog.exercises)} exercises in {len(catalog.topics)} chapters"
    yield ok("course", says)


def checked_sandbox(settings: Settings) -> Check:
    """Whether programs of learners run; a sandbox that is not built yet is not built here."""
    if not settings.sandbox_at and not component_file(settings.cache).exists():
        says = "not built yet: the first start builds it, in about half a minute"
        return note("sandbox", says, "nothing to do; only programs wait for it")
    try:
        return asyncio.run(_tried(settings.model_copy(update={"sandbox_workers": 1})))
    except AppError as error:
        return missing("sandbox", str(error), "")


async def _tried(settings: Settings) -> Check:
    runner = Runner(settings)
    await runner.start()
    try:
        health = await runner.ready()
        if health.state != "ready":
            return missing("sandbox", health.cause or health.says, "")
        pool = runner.pool
        servers = pool.servers if isinstance(pool, RemotePool) else {}
        absent = [one.cause or one.says for one in servers.values() if one.state != "ready"]
        if absent:
            return missing("sandbox", "; ".join(absent), "")
        ran = await runner.run(_TRIAL, "answer", [[]])
    finally:
        await runner.close()
    where = f" at {' or '.join(servers)}" if servers else ""
    return ok("sandbox", f"a program ran{where} in {ran.seconds * 1000:.0f} ms of processor time")
