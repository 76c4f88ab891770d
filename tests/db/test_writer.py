import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from app.core.errors import InputError, UnavailableError
from app.server.db.backup import backup
from app.server.db.migrations import migrate, probe
from app.server.db.session import open_session
from app.server.db.stored_records import StoredRecords
from app.server.db.tables import Attempt
from app.server.db.writer import Writer
from tests.db.test_rows import attempt
from tests.waiting import HANGS


def answers(engine: Engine) -> list[str]:
    with open_session(engine) as session:
        return [row.answer for row in StoredRecords(session, "l").latest_attempts(limit=1_000_000)][::-1]


def written(engine: Engine, rows: list[Attempt]) -> list[BaseException | None]:
    async def write() -> list[BaseException | None]:
        writer = Writer(engine)
        writer.start()
        puts = await asyncio.gather(*map(writer.put, rows), return_exceptions=True)
        await writer.close()
        return puts

    return asyncio.run(write())


def test_rows_are_stored_in_order(engine: Engine) -> None:
    texts = [str(n) for n in range(500)]
    assert written(engine, [attempt(answer=text) for text in texts]) == [None] * 500
    assert answers(engine) == texts


def test_a_commit_is_on_the_disk_and_the_file_is_its_owners(engine: Engine, tmp_path: Path) -> None:
    with engine.connect() as connection:
        found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("synchronous", "foreign_keys")]
    assert found == [2, 1]
    assert (tmp_path / "wallclock.db").stat().st_mode & 0o777 == 0o600


def test_rows_that_arrive_together_share_a_commit(engine: Engine) -> None:
    async def put(writer: Writer, turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        await writer.put(attempt())

    async def write() -> None:
        writer = Writer(engine)
        writer.start()
        await asyncio.gather(*(put(writer, turns) for turns in range(3)))
        await writer.close()

    commits: list[object] = []
    event.listen(engine, "commit", commits.append)
    asyncio.run(write())
    assert len(commits) == 1


def test_a_bad_row_does_not_sink_its_neighbors(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER picky BEFORE INSERT ON attempt WHEN NEW.answer = 'bad' "
            "BEGIN SELECT RAISE(ABORT, 'picky'); END"
        )
    first, bad, last = written(engine, [attempt(answer=a) for a in ("good", "bad", "fine")])
    assert (first, last) == (None, None)
    assert isinstance(bad, ValueError)
    assert answers(engine) == ["good", "fine"]


def test_a_canceled_caller_affects_no_other(engine: Engine) -> None:
    async def write() -> None:
        writer = Writer(engine)
        writer.start()
        waiting = [asyncio.create_task(writer.put(attempt(answer=str(n)))) for n in range(50)]
        await asyncio.sleep(0)
        waiting[7].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await writer.close()

    asyncio.run(write())
    assert {str(n) for n in range(50)} - set(answers(engine)) <= {"7"}


def test_too_many_waiting_rows_are_refused(engine: Engine) -> None:
    async def write() -> list[BaseException | None]:
        writer = Writer(engine, capacity=10)
        writer.start()
        puts = [writer.put(attempt()) for _ in range(100)]
        results = await asyncio.gather(*puts, return_exceptions=True)
        await writer.close()
        return results

    results = asyncio.run(write())
    refused = [isinstance(result, UnavailableError) for result in results]
    assert refused == [False] * 10 + [True] * 90
    assert len(answers(engine)) == 10


def test_a_closed_writer_refuses(engine: Engine) -> None:
    with pytest.raises(UnavailableError):
        asyncio.run(Writer(engine).put(attempt()))


def test_a_locked_database_is_reported_until_it_is_unlocked(impatient: Engine, tmp_path: Path) -> None:
    lock = sqlite3.connect(tmp_path / "wallclock.db", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    (error,) = written(impatient, [attempt()])
    assert isinstance(error, UnavailableError)
    assert "locked" in str(error)
    with pytest.raises(UnavailableError, match="locked"):
        probe(impatient)
    lock.execute("ROLLBACK")
    lock.close()
    assert written(impatient, [attempt()]) == [None]
    probe(impatient)


def test_a_read_only_database_is_reported(engine: Engine) -> None:
    def read_only(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA query_only = ON")

    engine.dispose()
    event.listen(engine, "connect", read_only)
    (error,) = written(engine, [attempt()])
    assert isinstance(error, UnavailableError)
    assert "read-only" in str(error)
    event.remove(engine, "connect", read_only)
    engine.dispose()
    assert written(engine, [attempt()]) == [None]


WRITE_UNTIL_KILLED = """
import asyncio, sys
from app.server.db.session import connect
from app.server.db.writer import Writer
from tests.db.test_rows import attempt

async def one(writer, name):
    for n in range(10**6):
        await writer.put(attempt(answer=f"{name} {n}"))
        sys.stdout.write(f"{name} {n}\\n")
        sys.stdout.flush()

async def main():
    writer = Writer(connect(sys.argv[1]))
    writer.start()
    await asyncio.gather(*(one(writer, f"{sys.argv[2]}.{n}") for n in range(16)))

asyncio.run(main())
"""


@pytest.mark.slow(35)
def test_no_acknowledged_row_is_missing_after_a_kill_at_any_moment(engine: Engine, database: str) -> None:
    source = random.Random(1)
    acknowledged: set[str] = set()
    for turn in range(8):
        command = [sys.executable, "-c", WRITE_UNTIL_KILLED, database, str(turn)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        acknowledged.add(process.stdout.readline().strip())
        time.sleep(source.uniform(0.01, 0.25))
        process.send_signal(signal.SIGKILL)
        acknowledged |= {line.strip() for line in process.stdout if line.endswith("\n")}
        process.wait()
        process.stdout.close()
    assert len(acknowledged) > 200
    assert acknowledged <= set(answers(engine))


def test_a_backup_taken_under_load_is_whole(engine: Engine, database: str, tmp_path: Path) -> None:
    async def write_and_copy() -> None:
        writer = Writer(engine)
        writer.start()
        puts = [asyncio.create_task(writer.put(attempt(answer=str(n)))) for n in range(2_000)]
        await asyncio.to_thread(backup, database, tmp_path / "copy.db")
        await asyncio.gather(*puts)
        await writer.close()

    asyncio.run(write_and_copy())
    copy = sqlite3.connect(tmp_path / "copy.db")
    assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    copy.close()
    with pytest.raises(InputError, match="already exists"):
        backup(database, tmp_path / "copy.db")


@pytest.mark.slow(35)
def test_four_servers_may_migrate_at_once(tmp_path: Path) -> None:
    code = "import sys; from app.server.db.migrations import migrate; [*map(migrate, sys.argv[1:])]"
    urls = [f"sqlite:///{tmp_path / str(turn)}.db" for turn in range(3)]
    started = [subprocess.Popen([sys.executable, "-c", code, *urls]) for _ in range(4)]
    assert [process.wait(timeout=10 * HANGS) for process in started] == [0] * 4


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE notes (id)")
    other.close()
    with pytest.raises(UnavailableError, match="another program"):
        migrate(f"sqlite:///{tmp_path / 'other.db'}")
    assert os.listdir(tmp_path)


def test_a_database_of_a_newer_version_is_left_alone(engine: Engine, database: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = 'from-the-future'")
    with pytest.raises(UnavailableError, match="newer Wallclock"):
        migrate(database)
