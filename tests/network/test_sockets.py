"""Sockets to listen on: ports, Unix sockets, and those that systemd passes on."""

import os
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from app.core.errors import InputError
from app.server.network.sockets import listen, listen_at, listening_at, passed_on, url_of
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
    print(*map(url_of, found), *(one.get_inheritable() for one in found), "again:", passed_on(), "LISTEN_FDS" in os.environ)
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


def test_the_path_of_a_socket_has_at_most_107_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for longest, too_long in (("w" * 107, "w" * 108), ("é" * 53, "é" * 54)):
        listen_at(Path(longest)).close()
        with pytest.raises(InputError, match="at most 107 bytes"):
            listen_at(Path(too_long))


def test_a_port_in_use_is_tried_again_for_as_long_as_is_asked() -> None:
    with closing(listen("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        began = time.monotonic()
        with pytest.raises(InputError, match=f"127.0.0.1 port {port}: .*; choose another with --port"):
            listen("127.0.0.1", port)
        with pytest.raises(InputError):
            listen("127.0.0.1", port, patience=0.1)
        assert time.monotonic() - began >= 0.1
        threading.Timer(0.1, other.close).start()
        listen("127.0.0.1", port, patience=60).close()
        assert time.monotonic() - began < 30
    with pytest.raises(InputError, match="cannot listen on 192.0.2.1"):  # of nobody here: no patience helps
        listen("192.0.2.1", 0, patience=60)


def test_a_worker_process_inherits_the_sockets(tmp_path: Path) -> None:
    with closing(listen("127.0.0.1", 0)) as one, closing(listen_at(tmp_path / "w.sock")) as other:
        assert [made.get_inheritable() for made in (one, other)] == [True, True]


def test_a_path_is_preferred_to_a_port_and_removed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "w.sock"
    with listening_at(path, "127.0.0.1", 0) as (found,):
        assert url_of(found) == f"unix:{path}"
        found.close()
    assert not path.exists()
    with listening_at(None, "127.0.0.1", 0) as (found,), closing(found):
        assert url_of(found).startswith("http://127.0.0.1:")


def test_sockets_that_systemd_passes_on(tmp_path: Path) -> None:
    with closing(listen("127.0.0.1", 0)) as one, closing(listen_at(tmp_path / "w.sock")) as other:
        said = activated(one.fileno(), other.fileno())
        assert said == f"{url_of(one)} {url_of(other)} True True again: [] False"


def test_what_systemd_passes_on_must_listen(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file:
        assert "file descriptor 3, which is not a socket" in activated(file.fileno())
    with closing(socket.socket()) as idle:
        assert "on which nothing listens for connections" in activated(idle.fileno())
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)) as packets:
        packets.bind(str(tmp_path / "packets"))
        packets.listen()
        assert "on which nothing listens for connections" in activated(packets.fileno())


@each(("process", "number"), [(os.getpid() + 1, "1"), (os.getpid(), ""), (os.getpid(), "x"), ("", "1")])
def test_sockets_for_another_process_are_not_taken(
    monkeypatch: pytest.MonkeyPatch, process: object, number: str
) -> None:
    for name, value in (("PID", str(process)), ("FDS", number), ("FDNAMES", "a")):
        monkeypatch.setenv(f"LISTEN_{name}", value)
    assert passed_on() == []
    assert [name for name in os.environ if name.startswith("LISTEN_")] == []
