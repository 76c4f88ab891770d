"""Sockets to listen on: ports, Unix sockets, and those that systemd passes on."""

import os
import socket
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from app.core.errors import InputError
from app.server.network.sockets import listen, listen_at, passed_on, url_of
from tests.each import each

ACTIVATED = """
import os, sys
given = [os.dup(int(number)) for number in sys.argv[1:]]
for place, descriptor in enumerate(given):
    os.dup2(descriptor, 3 + place)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(given)))
from app.core.errors import InputError
from app.server.network.sockets import passed_on, url_of
try:
    found = passed_on()
    print(*map(url_of, found), "again:", passed_on(), "LISTEN_FDS" in os.environ)
except InputError as error:
    print(error)
"""


def activated(*descriptors: int) -> str:
    command = [sys.executable, "-c", ACTIVATED, *map(str, descriptors)]
    done = subprocess.run(command, pass_fds=descriptors, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@each(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("[::1]", "[::1]")])
def test_an_address_of_either_family(host: str, shown: str) -> None:
    with closing(listen(host, 0)) as listening:
        assert url_of(listening) == f"http://{shown}:{listening.getsockname()[1]}"
        with closing(socket.create_connection(listening.getsockname()[:2], 5)):
            pass


def test_a_socket_that_a_stopped_server_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "w.sock"
    listen_at(path).close()
    assert path.is_socket()
    with closing(listen_at(path)) as listening:
        assert url_of(listening) == f"unix:{path}"
        with pytest.raises(InputError, match="another server does"):
            listen_at(path)
        with closing(socket.socket(socket.AF_UNIX)) as asking:
            asking.connect(str(path))


def test_its_user_alone_may_connect_and_the_group_of_a_folder_that_passes_it_on(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        for mode, expected in ((0o755, 0o600), (0o2750, 0o660)):
            folder = tmp_path / oct(mode)
            folder.mkdir()
            folder.chmod(mode)
            with closing(listen_at(folder / "w.sock")):
                found = (folder / "w.sock").stat()
                assert stat.S_IMODE(found.st_mode) == expected
                assert found.st_gid == folder.stat().st_gid
        assert os.umask(0) == 0
    finally:
        os.umask(before)


def test_nothing_else_at_the_path_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(InputError, match="a file that is not a socket"):
        listen_at(path)
    assert path.read_text() == "mine"
    with pytest.raises(InputError, match="No such file or directory"):
        listen_at(tmp_path / "missing" / "w.sock")
    with pytest.raises(InputError, match="at most 107 bytes"):
        listen_at(tmp_path / ("w" * 108))


def test_sockets_that_systemd_passes_on(tmp_path: Path) -> None:
    with closing(listen("127.0.0.1", 0)) as one, closing(listen_at(tmp_path / "w.sock")) as other:
        said = activated(one.fileno(), other.fileno())
        assert said == f"{url_of(one)} {url_of(other)} again: [] False"


def test_what_systemd_passes_on_must_listen(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file:
        assert "file descriptor 3, which is not a socket" in activated(file.fileno())
    with closing(socket.socket()) as idle:
        assert "on which nothing listens for connections" in activated(idle.fileno())


def test_sockets_for_another_process_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LISTEN_PID", str(os.getpid() + 1))
    monkeypatch.setenv("LISTEN_FDS", "1")
    assert passed_on() == []
