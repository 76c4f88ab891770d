"""A run of another machine keeps what it says about that machine, and is no faster than hardware."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from app.core.errors import InputError
from app.labs.machines.machine import MachineFacts, describe_machine
from app.labs.results.analysis import shipped_runs
from app.labs.results.report import Report
from app.labs.spec import lab_called, read_job
from app.site.labs.upload import FILE_LIMIT, MOST_RUNS, read_sent, read_sent_file, sent_row
from app.site.web.labs.predictions import machine_of
from tests.each import each
from tests.labs.gpus import H100, TOPOLOGY, machine
from tests.labs.quiet_runs import quiet_run


def sent(lab: str, backend: str, gpus: MachineFacts | None = None, seconds: float = 0.0, **given: str) -> Report:
    """A recorded run of *lab* as if over *backend*; with *seconds*, each sample took so long."""
    report = quiet_run(lab)
    job = read_job(lab_called(lab).run_over(backend), {"ranks": str(report.ranks), **given})
    measures = tuple(replace(one, samples=(seconds,) * 3 if seconds else one.samples) for one in report.measures)
    return replace(
        report, backend=backend, measures=measures, given=job.given, command=job.command, machine=gpus or report.machine
    )


def of_nodes() -> MachineFacts:
    """Everything that can be known about a machine."""
    facts = replace(
        describe_machine(replace(machine(8), topology=TOPOLOGY.replace("\x1b[4m", "").replace("\x1b[0m", "")), nodes=2),
        others="2 processes, 31 GB",
        sharing="shared node",
        variables=("NCCL_ALGO=Ring",),
    )
    missing = [name for name, fact in asdict(facts).items() if fact in (None, ())]
    assert missing == []
    return facts


def test_a_sent_run_keeps_its_whole_provenance() -> None:
    facts = of_nodes()
    details = {"transport": "P2P/CUMEM", "formats": "bf16"}
    again = read_sent(replace(sent("all-reduce", "nccl", facts), details=details).as_json())
    assert (again.machine, again.details) == (facts, details)
    assert machine_of(again) == f"2 × {H100} on 2 nodes"


def test_a_driver_that_an_earlier_version_told_for_each_gpu_is_told_once() -> None:
    facts = replace(of_nodes(), driver="\n".join(["580.65.06"] * 8))
    assert read_sent(sent("all-reduce", "nccl", facts).as_json()).machine.driver == "580.65.06"


@each(
    ("name", "value"),
    [
        ("topology", "GPU0\u202e"),
        ("topology", "x" * 20_001),
        ("variables", ["NCCL_ALGO=Ring"] * 101),
        ("variables", ["NCCL_ALGO=\0"]),
        ("uuids", ["GPU-\x1b[4m"]),
        ("sharing", "shared\nnode"),
    ],
)
def test_what_is_sent_about_a_machine_has_limits(name: str, value: Any) -> None:
    plain = json.loads(sent("all-reduce", "nccl", of_nodes()).as_json())
    plain["machine"][name] = value
    with pytest.raises(InputError, match=f"this is not a run as .*machine.{name}"):
        read_sent(json.dumps(plain))


def named(name: str) -> MachineFacts:
    return MachineFacts(processor="A processor", cores=8, gpus=(name,) * 8)


@each(
    ("lab", "name", "backend", "seconds", "says"),
    [
        # 64 MiB: on two ranks the bus bandwidth is that size over the time.
        ("all-reduce", H100, "nccl", 64 * 2**20 / 470e9, ""),  # NVLink with the switch's help
        ("all-reduce", H100, "nccl", 64 * 2**20 / 899e9, ""),
        ("all-reduce", H100, "nccl", 64 * 2**20 / 905e9, "this hardware reaches 900 GB/s at most"),
        ("all-reduce", "NVIDIA A100-SXM4-80GB", "nccl", 64 * 2**20 / 620e9, "reaches 600 GB/s at most"),
        ("all-reduce", "NVIDIA H100 PCIe", "nccl", 64 * 2**20 / 620e9, ""),
        ("all-reduce", "A GPU of next year", "nccl", 64 * 2**20 / 1.7e12, ""),
        ("all-reduce", "A GPU of next year", "nccl", 64 * 2**20 / 1.5e15, "bus bandwidth of 1.5 PB/s is impossible"),
        ("all-reduce", H100, "gloo", 64 * 2**20 / 1e12, ""),  # whatever GPUs there are, they are not used
        ("all-reduce", H100, "gloo", 64 * 2**20 / 1.5e15, "is impossible"),
        ("point-to-point", H100, "nccl", 64 * 2**20 / 905e9, "bandwidth of 905 GB/s is impossible"),
        ("memory-copy", H100, "nccl", 2 * 256 * 2**20 / 9e12, ""),  # in the cache
        ("memory-copy", H100, "nccl", 2 * 256 * 2**20 / 9e13, "is impossible"),
        ("matrix-product", H100, "nccl", 2 * 4096**3 / 990e12, ""),
        ("matrix-product", H100, "nccl", 2 * 4096**3 / 5e15, "rate of 5 PFLOP/s is impossible"),
        ("all-reduce", H100, "nccl", 1e-20, "is impossible"),
    ],
)
def test_what_no_hardware_can_do_is_refused(lab: str, name: str, backend: str, seconds: float, says: str) -> None:
    last = {"sizes": "64MiB"} if lab in ("all-reduce", "point-to-point") else {}
    last = {"sizes": "256MiB"} if lab == "memory-copy" else last
    report = sent(lab, backend, named(name), seconds, **last)
    report = replace(report, measures=report.measures[-1:])
    if not says:
        assert read_sent(report.as_json()).measures
        return
    with pytest.raises(InputError) as caught:
        read_sent(report.as_json())
    assert says in str(caught.value)


def test_one_impossible_sample_is_enough() -> None:
    report = sent("all-reduce", "nccl", named(H100), 0.01)
    (last,) = report.measures[-1:]
    for fast in (1e-9, 0.0):
        one = replace(last, samples=(0.01, 0.01, fast))
        with pytest.raises(InputError, match="impossible|no time at all"):
            read_sent(replace(report, measures=(one,)).as_json())


def test_every_recorded_run_is_possible() -> None:
    for report in shipped_runs():
        assert read_sent(report.as_json()).measures


def test_a_file_has_runs_up_to_its_limits_and_names_the_one_that_is_wrong() -> None:
    line = json.dumps(json.loads(quiet_run("all-reduce").as_json()))
    assert [len(read_sent_file("\n".join([line] * count))) for count in (1, 2, 3)] == [1, 2, 3]
    assert len(read_sent_file("\n\n".join([line] * MOST_RUNS))) == MOST_RUNS
    with pytest.raises(InputError, match="has 21 runs, but 20 are the limit"):
        read_sent_file("\n".join([line] * (MOST_RUNS + 1)))
    with pytest.raises(InputError, match="run 2 of 3: this is not a run"):
        read_sent_file(f"{line}\n{{}}\n{line}")
    room = " " * (FILE_LIMIT - len(line))
    assert read_sent_file(f"{line[:-1]}{room}}}")
    with pytest.raises(InputError, match="larger than 256 KiB"):
        read_sent_file(f"{line[:-1]}{room} }}")


def test_a_run_is_of_its_own_command() -> None:
    plain = json.loads(quiet_run("all-reduce").as_json())
    ranks = plain["ranks"]
    for change, says in (
        ({"ranks": ranks - 1}, f"had {ranks - 1} ranks, but its command has {ranks}"),
        ({"ranks": ranks + 1}, f"had {ranks + 1} ranks, but its command has {ranks}"),
        ({"command": f"{plain['command']} --sizes 1MB"}, "does not run"),
        ({"measures": [{**plain["measures"][0], "name": "speed"}]}, "no measure called 'speed'"),
        ({"measures": [{**plain["measures"][0], "where": {}}]}, "lacks its size"),
    ):
        with pytest.raises(InputError, match=says):
            read_sent(json.dumps({**plain, **change}))


def test_lists_of_a_file_have_limits() -> None:
    """The largest that is read, and one more."""
    report = quiet_run("all-reduce")
    plain = json.loads(report.as_json())
    (one, *_) = plain["measures"]

    def refused(**changes: Any) -> bool:
        try:
            read_sent(json.dumps({**plain, **changes}))
        except InputError:
            return True
        return False

    sizes = [{**one, "where": {"size": 4096.0 + number}} for number in range(201)]
    limits: dict[str, tuple[Any, Any]] = {
        "measures": (sizes[:200], sizes),
        "versions": ({f"v{n}": "1" for n in range(20)}, {f"v{n}": "1" for n in range(21)}),
        "details": ({f"v{n}": "1" for n in range(20)}, {f"v{n}": "1" for n in range(21)}),
        "checks": ({f"v{n}": True for n in range(50)}, {f"v{n}": True for n in range(51)}),
        "id": ("i" * 200, "i" * 201),
        "machine": ({**plain["machine"], "gpus": ["A"] * 1024}, {**plain["machine"], "gpus": ["A"] * 1025}),
        "seconds": (0, -1e-9),
        "at": ("2026-11-29T10:00:00+00:00", "yesterday"),
        "state": ("done", "failed"),
    }
    for name, (within, beyond) in limits.items():
        assert [refused(**{name: given}) for given in (within, beyond)] == [False, True], name
    for samples, by_rank in (([0.01] * 2001, []), ([], []), ([-0.1], []), ([0.01], [0.0]), ([0.01], [1] * 4097)):
        assert refused(measures=[{**one, "samples": samples, "by_rank": by_rank}])
    assert not refused(measures=[{**one, "samples": [0.01] * 2000}])
    assert refused(checks={})
    assert refused(checks={"sums": False})


def test_what_only_describes_a_machine_is_cut_and_not_refused() -> None:
    plain = json.loads(sent("all-reduce", "nccl", of_nodes()).as_json())
    facts = {"cores": 2e30, "load": 1e30, "processor": "p" * 300, "driver": 7}
    plain["machine"].update(facts)
    machine = read_sent(json.dumps(plain)).machine
    assert (machine.cores, machine.load, machine.processor, machine.driver) == ("2e+30", 1e30, "p" * 200, 7)


def test_a_row_of_a_sent_run_is_done_and_of_its_learner() -> None:
    report = quiet_run("all-reduce")
    row = sent_row(report, "here-1", "grace")
    assert (row.name, row.pool, row.learner, row.state, row.host) == ("here-1", "here-1", "grace", "done", "sent in")
    assert (row.lab, row.backend, json.loads(row.given)) == (report.lab, report.backend, dict(report.given))
    assert json.loads(row.report)["id"] == "here-1"


@each(
    ("field", "value", "says"),
    [
        ("state", "failed", "state: only a finished run can be compared (is \"failed\", which is not one of 'done')"),
        ("checks", {"sums": False}, "checks.sums: the run did not find its data right, so its times do not count ("),
        ("ranks", 0, "ranks: must be at least 1"),
    ],
)
def test_the_first_problem_of_a_file_is_told_plainly(field: str, value: object, says: str) -> None:
    plain = json.loads(quiet_run("all-reduce").as_json())
    with pytest.raises(InputError) as refused:
        read_sent(json.dumps({**plain, field: value}))
    assert f"prints it: {says}" in str(refused.value)
    del plain[field]
    with pytest.raises(InputError, match=f"prints it: {field}: is missing|prints it: {field}: ") as missing:
        read_sent(json.dumps(plain))
    assert "(" not in str(missing.value)
