"""How ranks on several machines find each other, without torch: sockets and clocks alone."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest

from app.labs.launch import addresses
from app.labs.launch.addresses import Address, interface_of, own_addresses, usable_addresses
from app.labs.launch.position import Position, position_in, rank_in
from app.labs.launch.rendezvous import LOOPBACK, Reached, Rendezvous, listening, reach
from app.labs.launch.store import address_of_own, await_all, note_way
from tests.each import each
from tests.waiting import HANGS

# Addresses for examples and for documentation: nobody has them, and nothing is sent to them.
NOWHERE = ("192.0.2.77", "2001:db8::77")
SOON = 0.1  # seconds for an address at which nobody answers
KNOWN = [
    Address(interface, ip_address(ip))
    for interface, ip in (
        ("lo", "127.0.0.1"), ("eth0", "10.1.0.5"), ("eth0", "fd00::5"), ("ib0", "10.9.0.5"), ("lo", "::1"),
    )
]  # fmt: skip


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the addresses of NOWHERE nobody answers, however this machine is connected."""
    connect = socket.create_connection

    def connected(address: tuple[str, int], timeout: float) -> socket.socket:
        if address[0] in NOWHERE:
            time.sleep(timeout)
            raise TimeoutError("timed out")
        return connect(address, timeout)

    monkeypatch.setattr(socket, "create_connection", connected)


def test_the_kernel_lists_the_addresses_of_this_machine() -> None:
    known = own_addresses()
    assert Address("lo", ip_address("127.0.0.1")) in known
    assert {one.interface for one in known} <= {name for _, name in socket.if_nameindex()}
    assert not any(one.ip.is_link_local for one in known)


def test_the_address_of_the_default_route_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "_address_of_default_route", lambda: "10.9.0.5")
    found = [str(one.ip) for one in usable_addresses(KNOWN)]
    assert found == ["10.9.0.5", "10.1.0.5", "fd00::5"]


@each(
    ("network", "found"),
    [
        ("ib0", ["10.9.0.5"]),
        ("eth0", ["10.1.0.5", "fd00::5"]),
        ("10.9.0.0/16", ["10.9.0.5"]),
        ("10.1.0.5", ["10.1.0.5"]),
        ("fd00::/64", ["fd00::5"]),
        ("lo", ["127.0.0.1", "::1"]),
    ],
)
def test_a_network_is_an_interface_an_address_or_a_range(network: str, found: list[str]) -> None:
    assert [str(one.ip) for one in usable_addresses(KNOWN, network)] == found


def test_a_node_that_is_not_on_the_network_says_what_it_has() -> None:
    with pytest.raises(ValueError, match=r"no address on the network 'ib1'; it has .*5 \(ib0\)"):
        usable_addresses(KNOWN, "ib1")


def test_the_interface_of_an_address_is_found_in_both_versions() -> None:
    assert interface_of("10.9.0.5", KNOWN) == "ib0"
    assert interface_of("::ffff:10.9.0.5", KNOWN) == "ib0"
    assert interface_of("10.9.0.6", KNOWN) == ""


def test_ranks_try_the_addresses_in_turn(tmp_path: Path, nowhere: None) -> None:
    with Rendezvous() as rendezvous:
        rendezvous.announce(tmp_path, [*NOWHERE, "no.such.host.invalid", LOOPBACK], 4321)
        begun = time.monotonic()
        reached = reach(tmp_path, patience=HANGS, each=SOON)
    assert (reached.address, reached.own, reached.port) == (LOOPBACK, LOOPBACK, 4321)
    assert reached.is_same_machine
    assert time.monotonic() - begun >= 2 * SOON


def test_a_rank_comes_by_both_versions_of_the_protocol(tmp_path: Path) -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with Rendezvous() as rendezvous:
        rendezvous.announce(tmp_path, ["::1"], 4321)
        assert reach(tmp_path, patience=HANGS).address == "::1"


@contextmanager
def impostor(says: bytes) -> Iterator[int]:
    """Another program at a port of this machine, which says something to everyone, or nothing."""
    with listening(LOOPBACK) as line:
        held = []

        def serve() -> None:
            while True:
                try:
                    held.append(line.accept()[0])
                except OSError:
                    return
                if says:
                    held[-1].sendall(says)
                    held[-1].shutdown(socket.SHUT_RDWR)

        threading.Thread(target=serve, daemon=True).start()
        yield line.getsockname()[1]
        line.shutdown(socket.SHUT_RDWR)
        for one in held:
            one.close()


@pytest.mark.parametrize("says", [b"", b"SSH-2.0-x\n", b'{"token": "of another run", "clock": 1}'])
def test_another_program_at_the_address_is_not_rank_0(tmp_path: Path, says: bytes) -> None:
    with Rendezvous(LOOPBACK) as rendezvous, impostor(says) as port:
        rendezvous.announce(tmp_path, [LOOPBACK], 4321)
        notice = json.loads((tmp_path / "rendezvous").read_text())
        (tmp_path / "rendezvous").write_text(json.dumps({**notice, "port": port}))
        with pytest.raises(TimeoutError, match=r"within 0.3 s at 127.0.0.1; .*WALLCLOCK_LAB_NETW"):
            reach(tmp_path, patience=0.3, each=SOON)


def test_a_rank_that_comes_early_waits_for_rank_0(tmp_path: Path) -> None:
    found: list[Reached] = []
    other = threading.Thread(target=lambda: found.append(reach(tmp_path, patience=HANGS)))
    other.start()
    time.sleep(0.1)
    with Rendezvous(LOOPBACK) as rendezvous:
        rendezvous.announce(tmp_path, [LOOPBACK], 4321)
        other.join()
    assert found[0].port == 4321


def test_a_rank_0_that_never_starts_is_told(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match=r"rank 0 did not start within 0.1 s"):
        reach(tmp_path, patience=0.1)


def test_loopback_is_not_tried_from_another_machine(tmp_path: Path) -> None:
    with Rendezvous(LOOPBACK) as rendezvous:
        rendezvous.announce(tmp_path, [LOOPBACK], 4321)
        notice = json.loads((tmp_path / "rendezvous").read_text())
        (tmp_path / "rendezvous").write_text(json.dumps({**notice, "boot": "of another machine"}))
        with pytest.raises(TimeoutError, match="could not be reached"):
            reach(tmp_path, patience=0.1)


def ahead(seconds: float) -> Callable[[], float]:
    return lambda: time.monotonic() + seconds


def meeting(tmp_path: Path, of_rank_0: float, of_the_other: float) -> Reached:
    with Rendezvous(LOOPBACK, clock=ahead(of_rank_0)) as rendezvous:
        rendezvous.announce(tmp_path, [LOOPBACK], 4321)
        return reach(tmp_path, patience=HANGS, clock=ahead(of_the_other))


def test_one_clock_is_known_as_one(tmp_path: Path) -> None:
    reached = meeting(tmp_path, 0.0, 0.0)
    assert reached.ahead == 0.0
    reached.require_one_clock()


@pytest.mark.parametrize(("of_rank_0", "of_the_other"), [(100_000.0, 0.0), (0.0, 100_000.0)])
def test_clocks_that_differ_are_refused(
    tmp_path: Path, of_rank_0: float, of_the_other: float
) -> None:
    reached = meeting(tmp_path, of_rank_0, of_the_other)
    assert reached.ahead == pytest.approx(of_rank_0 - of_the_other, abs=HANGS)
    with pytest.raises(ValueError, match=r"clocks .* differ by 27.78 h, and an emulated link"):
        reached.require_one_clock()


def test_two_machines_are_refused_whatever_their_clocks_say(tmp_path: Path) -> None:
    with Rendezvous() as rendezvous:
        rendezvous.announce(tmp_path, ["localhost"], 4321)
        notice = json.loads((tmp_path / "rendezvous").read_text())
        (tmp_path / "rendezvous").write_text(json.dumps({**notice, "boot": "of another machine"}))
        reached = reach(tmp_path, patience=HANGS)
    with pytest.raises(ValueError, match="this rank and rank 0 run on two machines"):
        reached.require_one_clock()


@pytest.mark.needs("clock")
def test_a_time_namespace_has_another_clock(tmp_path: Path) -> None:
    """As a container may have one: the same machine, and yet another clock."""
    inside = ["unshare", "--time", "--monotonic", "100000", "--fork", sys.executable, "-c"]
    code = (
        "import sys; from pathlib import Path; from app.labs.launch.rendezvous import reach; "
        "print(reach(Path(sys.argv[1]), 30).ahead)"
    )
    with Rendezvous(LOOPBACK) as rendezvous:
        rendezvous.announce(tmp_path, [LOOPBACK], 4321)
        done = subprocess.run([*inside, code, str(tmp_path)], check=True, capture_output=True)
    assert float(done.stdout) == pytest.approx(-100_000, abs=60)


class Shelf:
    """A store in this process; what is waited for is there, or never will be."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}
        self.waited: list[float] = []

    def set(self, key: str, value: str) -> None:
        self.held[key] = value

    def get(self, key: str) -> bytes:
        return self.held[key].encode()

    def add(self, key: str, amount: int) -> int:
        total = int(self.held.get(key, 0)) + amount
        self.held[key] = str(total)
        return total

    def check(self, keys: list[str]) -> bool:
        return all(key in self.held for key in keys)

    def wait(self, keys: list[str], timeout: timedelta) -> None:
        self.waited.append(timeout.total_seconds())
        if not self.check(keys):
            raise RuntimeError(f"wait timeout, keys: {keys}")


def test_rank_0_says_which_ranks_are_missing() -> None:
    store = Shelf()
    for rank in (3, 1):
        with pytest.raises(RuntimeError, match="wait timeout"):
            await_all(store, rank, 5, 60)
    with pytest.raises(TimeoutError, match="ranks 2, 4 did not start within 60 s of rank 0"):
        await_all(store, 0, 5, 60)
    assert store.waited[0] > store.waited[2] == 60  # so that rank 0 is the first to speak


def test_the_last_rank_to_come_lets_all_go_on() -> None:
    store = Shelf()
    with pytest.raises(RuntimeError):
        await_all(store, 1, 2, 60)
    await_all(store, 0, 2, 60)


THERE = [Address("lo", ip_address("127.0.0.1")), Address("ib1", ip_address("10.9.0.6"))]


def reached(address: str, own: str) -> Reached:
    return Reached(address=address, own=own, port=4321, is_same_machine=own == address, ahead=0.0)


@each("last", ["near", "far"])
def test_ranks_take_the_network_on_which_other_machines_reach_rank_0(last: str) -> None:
    """On rank 0's own machine, its first address answers, whatever other machines reach."""
    store, near, far = Shelf(), reached("10.1.0.5", "10.1.0.5"), reached("10.9.0.5", "10.9.0.6")
    ways = [(KNOWN, near), (THERE, far)]
    for known, way in ways if last == "far" else reversed(ways):
        note_way(store, known, way)
    assert interface_of(address_of_own(store, KNOWN), KNOWN) == "ib0"
    assert interface_of(address_of_own(store, KNOWN, near), KNOWN) == "ib0"
    assert interface_of(address_of_own(store, THERE, far), THERE) == "ib1"


def test_ranks_that_are_all_on_one_machine_take_the_address_that_answered() -> None:
    store, near = Shelf(), reached("10.1.0.5", "10.1.0.5")
    assert address_of_own(store, KNOWN) == LOOPBACK  # rank 0 is alone
    note_way(store, KNOWN, near)
    assert address_of_own(store, KNOWN) == address_of_own(store, KNOWN, near) == "10.1.0.5"


SLURM = {"SLURM_PROCID": "11", "SLURM_NTASKS": "16", "SLURM_LOCALID": "3", "SLURM_NNODES": "2"}
TORCHRUN = {
    "RANK": "11", "WORLD_SIZE": "16", "LOCAL_RANK": "3", "GROUP_RANK": "1", "GROUP_WORLD_SIZE": "2",
    "LOCAL_WORLD_SIZE": "8",
}  # fmt: skip
POD = {
    "RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "3", "GROUP_RANK": "0", "GROUP_WORLD_SIZE": "1",
    "LOCAL_WORLD_SIZE": "8", "JOB_COMPLETION_INDEX": "1",
}  # fmt: skip


@each(
    ("environment", "nodes", "position"),
    [
        (SLURM, 2, Position(11, 3, 2)),
        (TORCHRUN, None, Position(11, 3, 2)),
        ({**SLURM, **TORCHRUN}, 2, Position(11, 3, 2)),
        (POD, 2, Position(11, 3, 2)),
        ({"JOB_COMPLETION_INDEX": "11", "WORLD_SIZE": "16"}, None, Position(11, 0, None)),
        ({"RANK": "11", "WORLD_SIZE": "16", "LOCAL_RANK": "3"}, 2, Position(11, 3, 2)),
        ({"RANK": "0"}, None, Position(0, 0, None)),
    ],
)
def test_a_rank_knows_its_position_from_what_started_it(
    environment: dict[str, str], nodes: int | None, position: Position
) -> None:
    assert position_in(environment, 16, nodes) == position


def test_all_ranks_of_pods_with_a_torchrun_each_have_different_positions() -> None:
    found = {
        position_in(
            {**POD, "RANK": str(local), "LOCAL_RANK": str(local), "JOB_COMPLETION_INDEX": str(pod)},
            ranks=32, nodes=4,
        ).rank
        for pod in range(4)
        for local in range(8)
    }  # fmt: skip
    assert found == set(range(32))
    one = {**POD, "JOB_COMPLETION_INDEX": "0"}
    assert position_in(one, ranks=8, nodes=None) == Position(3, 3, 1)


@each(
    ("environment", "nodes", "says"),
    [
        ({"RANK": "0", "WORLD_SIZE": "2"}, None, "this run has 16 ranks, but 2 were started"),
        (TORCHRUN, 4, "this run has 4 nodes, but was started on 2"),
        (POD, 4, "this run has 16 ranks, but 8 were started"),
    ],
)
def test_other_ranks_or_nodes_than_the_run_has_are_refused(
    environment: dict[str, str], nodes: int | None, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        position_in(environment, 16, nodes)


def test_a_process_without_a_rank_says_what_is_missing() -> None:
    with pytest.raises(SystemExit, match="none of RANK, SLURM_PROCID, JOB_COMPLETION_INDEX is set"):
        rank_in({"WORLD_SIZE": "4", "PATH": os.defpath})
