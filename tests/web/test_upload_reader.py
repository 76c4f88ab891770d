"""A seat in the reading room is taken once all of a file has arrived."""

import asyncio

import pytest
from fastapi import FastAPI

from app.main import create_app
from app.server.config import Settings
from app.site.web.measured import page
from tests.costs import Asker, Cost, running
from tests.waiting import until

GREEDY, OTHER = "192.0.2.9", "192.0.2.10"
BOUNDARY = "-" * 20
TABLE = "# nccl\n 8 2 float sum -1 5.0 0.0 0.0 0 5.0 0.0 0.0 0\n"


@pytest.fixture
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    folder = tmp_path_factory.mktemp("reading")
    return create_app(Settings(database=f"sqlite:///{folder / 'w.db'}", sandbox_workers=1))


def sent(asker: Asker, address: str, content: str = TABLE, *, ends: bool = True) -> "asyncio.Task[Cost]":
    """A file that is sent; one that does not *end* is still on its way."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    body = f"{head}{content}" + (f"\r\n--{BOUNDARY}--\r\n" if ends else "")
    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    asked = asker.ask("/measured", method="POST", body=body.encode(), headers=kind, address=address, ends=ends)
    return asyncio.create_task(asked)


async def has_arrived(app: FastAPI, address: str, size: int) -> None:
    """Wait until *size* bytes of an address are on the disk."""
    await until(lambda: hasattr(app.state, "upload_reader") and app.state.upload_reader._arriving[address] >= size)


async def canceled(tasks: "list[asyncio.Task[Cost]]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_slow_uploads_keep_no_one_from_reading(app: FastAPI) -> None:
    async def tried() -> None:
        async with running(app) as asker:
            slow = [sent(asker, GREEDY, ends=False) for _ in range(30)]
            await has_arrived(app, GREEDY, 30 * len(TABLE))
            for address in (OTHER, GREEDY):
                assert (await asyncio.wait_for(sent(asker, address), 60)).status == 200
            assert not any(task.done() for task in slow)
            await canceled(slow)

    asyncio.run(tried())


def test_what_one_address_has_on_the_disk_is_limited(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "_MOST_OF_ONE", 10_000)
    monkeypatch.setattr(page, "_MOST_OF_ALL", 15_000)
    large = "a" * 4_000

    async def tried() -> None:
        async with running(app) as asker:
            slow = [sent(asker, GREEDY, large, ends=False) for _ in range(2)]
            await has_arrived(app, GREEDY, 2 * len(large))
            assert (await sent(asker, GREEDY, large)).status == 503
            assert (await sent(asker, OTHER, large)).status == 200
            further = [sent(asker, OTHER, large, ends=False)]
            await has_arrived(app, OTHER, len(large))
            assert (await sent(asker, "192.0.2.11", large)).status == 503
            await canceled([*slow, *further])
            assert (await sent(asker, GREEDY, large)).status == 200

    asyncio.run(tried())
