"""How ranks on several machines find each other: addresses, a store, positions."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest

from app.labs.launch.base import write_run
from app.labs.runner import rendezvous
from app.labs.runner.job import Job
from app.labs.runner.process import Position, position_in
from app.labs.runner.rendezvous import (
    LOOPBACK,
    Address,
    address_on,
    address_towards,
    await_all,
    hosted_store,
    interface_of,
    joined_store,
    own_addresses,
    own_clock,
    promised_store,
    shared_store,
)
from app.labs.spec import lab_called, read_job
from tests.each import each
from tests.waiting import HANGS, wait_until

KNOWN = [
    Address(interface, ip_address(ip))
    for interface, ip in (
        ("lo", "127.0.0.1"),
        ("eth0", "10.1.0.5"),
        ("eth0", "fd00::5"),
        ("ib0", "10.9.0.5"),
        ("lo", "::1"),
    )
]
needs_torch = pytest.mark.needs("torch")


def test_the_kernel_lists_the_addresses_of_this_machine() -> None:
    known = own_addresses()
    assert Address("lo", ip_address("127.0.0.1")) in known
    assert {one.interface for one in known} <= {name for _, name in socket.if_nameindex()}
    assert not any(one.ip.is_link_local for one in known)


def test_this_machine_sends_from_an_address_of_its_own() -> None:
    assert interface_of(address_towards(), own_addresses())
    assert address_towards(LOOPBACK) == LOOPBACK
    if socket.has_dualstack_ipv6():
        assert address_towards("::1") == "::1"


def test_a_machine_without_a_route_has_loopback() -> None:
    assert address_towards("192.0.2.256") == LOOPBACK


@each(
    ("network", "found"),
    [
        ("ib0", "10.9.0.5"),
        ("eth0", "10.1.0.5"),
        ("10.9.0.0/16", "10.9.0.5"),
        ("10.1.0.5", "10.1.0.5"),
        ("fd00::/64", "fd00::5"),
        ("lo", "127.0.0.1"),
    ],
)
def test_a_network_is_an_interface_an_address_or_a_range(network: str, found: str) -> None:
    assert address_on(network, KNOWN) == found


def test_a_node_that_is_not_on_the_network_says_what_it_has() -> None:
    with pytest.raises(ValueError, match=r"no address on the network 'ib1'; it has .*5 \(ib0\)"):
        address_on("ib1", KNOWN)


def test_an_address_has_an_interface_if_it_is_of_this_machine() -> None:
    assert interface_of("10.9.0.5", KNOWN) == "ib0"
    assert interface_of("fd00:0::5", KNOWN) == "eth0"
    assert interface_of("10.9.0.6", KNOWN) == ""


@needs_torch
@each("address", [LOOPBACK, "::1"])
def test_a_store_is_reached_at_its_address_alone(tmp_path: Path, address: str) -> None:
    if address == "::1" and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    store = hosted_store(tmp_path, address)
    store.set("said", "by rank 0")
    notice, joined = joined_store(tmp_path, patience=HANGS)
    assert joined.get("said") == b"by rank 0"
    assert notice.address == address
    for other in {address_towards(), address_towards("2001:db8::1")} - {LOOPBACK}:
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((other, notice.port), HANGS)


@needs_torch
def test_a_rank_that_comes_early_waits_for_rank_0(tmp_path: Path) -> None:
    found: list[str] = []
    other = threading.Thread(target=lambda: found.append(joined_store(tmp_path, patience=HANGS)[0].address))
    other.start()
    time.sleep(0.1)
    store = hosted_store(tmp_path, LOOPBACK)
    other.join()
    assert found == [LOOPBACK]
    store.set("held", "until here")


@pytest.fixture
def earlier(tmp_path: Path) -> Iterator[Path]:
    """A folder whose rank 0 was started before, and is gone: nobody listens at that port."""
    store = hosted_store(tmp_path, LOOPBACK)
    del store
    yield tmp_path
    (tmp_path / "rendezvous").unlink()


@needs_torch
def test_where_an_earlier_rank_0_was_is_not_where_it_is_now(earlier: Path) -> None:
    found: list[bytes] = []
    other = threading.Thread(target=lambda: found.append(joined_store(earlier, HANGS, each=0.2)[1].get("said")))
    other.start()
    time.sleep(0.5)
    store = hosted_store(earlier, LOOPBACK)
    store.set("said", "by the new one")
    other.join()
    assert found == [b"by the new one"]


@needs_torch
def test_a_rank_0_that_cannot_be_reached_is_told_with_its_address(earlier: Path) -> None:
    with pytest.raises(TimeoutError, match=r"within 0.3 s at 127.0.0.1; .*WALLCLOCK_LAB_NETWORK"):
        joined_store(earlier, patience=0.3, each=0.1)


@needs_torch
def test_another_program_at_the_address_is_not_rank_0(earlier: Path) -> None:
    def serve(line: socket.socket) -> None:
        for _ in iter(lambda: None, 0):
            try:
                one, _ = line.accept()
            except OSError:
                return
            with one:
                one.sendall(b"SSH-2.0-OpenSSH\n" * 4)

    with socket.create_server((LOOPBACK, 0)) as line:
        port = line.getsockname()[1]
        threading.Thread(target=serve, args=[line], daemon=True).start()
        file = earlier / "rendezvous"
        file.write_text(f'{{"address": "{LOOPBACK}", "port": {port}, "clock": ""}}')
        with pytest.raises(TimeoutError, match="could not be reached"):
            joined_store(earlier, patience=0.3, each=0.1)
        line.shutdown(socket.SHUT_RDWR)


@needs_torch
def test_a_rank_0_that_never_starts_is_told(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match=r"rank 0 did not start within 0.1 s"):
        joined_store(tmp_path, patience=0.1)


@needs_torch
def test_rank_0_says_which_ranks_are_missing(tmp_path: Path) -> None:
    store = hosted_store(tmp_path, LOOPBACK)
    early, late = (
        [threading.Thread(target=await_all, args=(joined_store(tmp_path, HANGS)[1], rank, 5, HANGS)) for rank in ranks]
        for ranks in ((3, 1), (2, 4))
    )
    for one in early:
        one.start()
    wait_until(lambda: store.check(["rank 1", "rank 3"]))
    with pytest.raises(TimeoutError, match="ranks 2, 4 did not start within 0.1 s of rank 0"):
        await_all(store, 0, 5, 0.1)
    for one in late:  # the last to come lets all go on
        one.start()
    for one in (*early, *late):
        one.join()


def test_one_clock_is_known_as_one() -> None:
    code = "from app.labs.runner.rendezvous import own_clock; print(own_clock())"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == own_clock() != ""


@pytest.mark.needs("clock")
def test_a_time_namespace_has_another_clock() -> None:
    """As a container may have one: the same machine, and yet another clock."""
    inside = ["unshare", "--time", "--monotonic", "100000", "--fork", sys.executable, "-c"]
    code = "from app.labs.runner.rendezvous import own_clock; print(own_clock())"
    done = subprocess.run([*inside, code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() != own_clock()


SLURM = {"SLURM_PROCID": "11", "SLURM_NTASKS": "16", "SLURM_LOCALID": "3", "SLURM_NNODES": "2"}
TORCHRUN = {
    "RANK": "11",
    "WORLD_SIZE": "16",
    "LOCAL_RANK": "3",
    "GROUP_RANK": "1",
    "GROUP_WORLD_SIZE": "2",
    "LOCAL_WORLD_SIZE": "8",
}
POD = {
    "RANK": "3",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "3",
    "GROUP_RANK": "0",
    "GROUP_WORLD_SIZE": "1",
    "LOCAL_WORLD_SIZE": "8",
    "JOB_COMPLETION_INDEX": "1",
}


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
            {**POD, "RANK": str(local), "LOCAL_RANK": str(local), "JOB_COMPLETION_INDEX": str(pod)}, ranks=32, nodes=4
        ).rank
        for pod in range(4)
        for local in range(8)
    }
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


@needs_torch
def test_the_store_that_torchrun_promised_is_at_its_address_and_rank_0_makes_it_unless_torchrun_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from torch.distributed import TCPStore

    with socket.create_server((LOOPBACK, 0)) as line:
        port = line.getsockname()[1]
    monkeypatch.setenv("MASTER_ADDR", LOOPBACK)
    monkeypatch.setenv("MASTER_PORT", str(port))
    monkeypatch.delenv("TORCHELASTIC_USE_AGENT_STORE", raising=False)
    with pytest.raises(TimeoutError, match=f"the store at {LOOPBACK}:{port} cannot be used"):
        promised_store(1, 0.2)
    own = promised_store(0, HANGS)
    own.set("said", "once")
    assert promised_store(1, HANGS).get("said") == b"once"
    of_torchrun = TCPStore(LOOPBACK, 0, is_master=True, wait_for_workers=False)
    monkeypatch.setenv("MASTER_PORT", str(of_torchrun.port))
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    promised_store(0, HANGS).set("said", "there")
    assert of_torchrun.check(["wallclock/said"])  # beside what torchrun stores


def job_in(folder: Path, lab: str, network: str = "") -> tuple[Path, Job]:
    job = read_job(lab_called(lab), {"ranks": "2"})
    run = write_run(folder, job, "gloo", launcher="by hand", starting=HANGS, network=network)
    return run.folder, Job.read(run.folder)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No launcher and no site has said anything."""
    for name in ("MASTER_ADDR", "MASTER_PORT", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return monkeypatch


@needs_torch
@each(("network", "nccl"), [("", None), ("127.0.0.0/8", "=lo")])
def test_ranks_of_one_node_meet_on_loopback(
    network: str, nccl: str | None, tmp_path: Path, plain: pytest.MonkeyPatch
) -> None:
    folder, job = job_in(tmp_path / f"runs{len(network)}", "ring-bytes", network)
    other = threading.Thread(target=shared_store, args=(folder, job, 1, 1))
    other.start()
    store = shared_store(folder, job, 0, 1)
    other.join()
    assert store.check(["rank 0", "rank 1"])
    assert (os.environ["GLOO_SOCKET_IFNAME"], os.environ.get("NCCL_SOCKET_IFNAME")) == ("lo", nccl)


@needs_torch
@each(("lab", "is_refused"), [("algorithms", True), ("ring-bytes", False)])
def test_an_emulated_link_needs_one_clock_and_others_do_not(
    lab: str, is_refused: bool, tmp_path: Path, plain: pytest.MonkeyPatch
) -> None:
    folder, job = job_in(tmp_path / lab, lab)
    clocks = iter(("first", "second"))
    plain.setattr(rendezvous, "own_clock", lambda: next(clocks))
    served = list[object]()  # the store of rank 0, which serves the others for as long as it is there
    first = threading.Thread(target=lambda: served.append(shared_store(folder, job, 0, 1)))
    first.start()
    wait_until((folder / "rendezvous").exists)
    wait_until(lambda: joined_store(folder, HANGS)[1].check(["the clock of rank 0"]))
    if is_refused:
        with pytest.raises(ValueError, match="this rank and rank 0 have two clocks"):
            shared_store(folder, job, 1, 1)
        await_all(joined_store(folder, HANGS)[1], 1, 2, HANGS)  # let rank 0 go
    else:
        shared_store(folder, job, 1, 1)
    first.join()
    assert len(served) == 1
