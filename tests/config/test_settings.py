"""What each setting is without a word of the operator, what it may be, and how its text is read."""

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from app.server.config import Settings, setting_problems
from app.server.config.checks import is_of_a_service, is_within
from app.server.config.visits import path_prefix, prefix_of
from tests.each import each

DIGEST = "0123456789abcdef" * 2


def problem(**given: Any) -> str:
    """What is said of settings that are refused; empty, if they are accepted."""
    try:
        Settings(**given)
    except ValidationError as error:
        return "; ".join(setting_problems(error))
    return ""


def test_without_a_word_of_the_operator_the_site_is_that_of_a_laptop(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("WALLCLOCK_")]:
        monkeypatch.delenv(name)
    made = Settings()
    given = made.model_dump(exclude={"database", "runs", "cache", "proxies"})
    assert {name: value for name, value in given.items() if value not in ("", None, (), frozenset(), 0, False)} == {
        "host": "127.0.0.1", "port": 8000, "language": "en", "classes": "anyone", "log": "text",
        "lab_launcher": "local", "lab_queue": 20, "lab_starting": 60, "patience": 15,
        "slurm_nodes": 1, "slurm_gpu_options": "--gres=gpu:{gpus}", "slurm_cpus": 4, "slurm_starting": 300,
        "slurm_patience": 3600, "sandbox_wall": 1,
        "processor_allowed": 40, "answers_allowed": 3600, "runs_allowed": 300, "sent_runs_allowed": 300,
        "storage_allowed": 100_000_000, "answer_limit": 20_000, "body_limit": 1_048_576,
        "connections_allowed": 2048, "anonymous_days": 400,
    }  # fmt: skip
    assert made.proxies.split(",") == ["127.0.0.1", "::1"]
    assert made.database == f"sqlite:///{made.runs.parent / 'wallclock.db'}"
    assert made.runs.is_absolute()


@each(
    ("name", "least"),
    [
        *((name, 0) for name in (
            "port", "lab_queue", "slurm_gpus", "slurm_cpus", "drain", "sandbox_workers", "processor_allowed",
            "answers_allowed", "runs_allowed", "sent_runs_allowed", "storage_allowed", "anonymous_days",
        )),
        *((name, 1) for name in ("slurm_nodes", "connections_allowed", "answer_limit", "body_limit")),
    ],
)  # fmt: skip
def test_the_least_of_a_setting_is_accepted_and_one_less_is_not(name: str, least: int) -> None:
    assert problem(**{name: least}) == ""
    assert f"WALLCLOCK_{name.upper()}" in problem(**{name: least - 1})


@each("name", ["lab_starting", "slurm_starting", "slurm_patience", "patience", "sandbox_wall"])
def test_a_time_is_more_than_none(name: str) -> None:
    assert problem(**{name: 1e-3}) == ""
    assert problem(**{name: 0}) != ""


@each(("name", "most"), [("port", 65_535), ("drain", 600)])
def test_the_most_of_a_setting_is_accepted_and_one_more_is_not(name: str, most: int) -> None:
    assert problem(**{name: most}) == ""
    assert problem(**{name: most + 1}) != ""


@each(
    ("name", "accepted", "refused"),
    [
        ("lab_network", ["", "ib0", "10.0.0.0/8", "fd00::/8", "bond-1.7"], ["a b", "ib0;ls"]),
        ("slurm_partition", ["", "gpu,gpu-long.7"], ["a b", "a/b"]),
        ("slurm_memory", ["", "32G", "7K", "100M", "2T"], ["0G", "32", "32GB", "32 G", "G", "32g"]),
        ("slurm_gpu_options", ["--gpus-per-node={gpus} -x 'a b'"], ["'a", "--a\n--b"]),
        ("slurm_srun", ["", "--container-image=x"], ['"a', "a\tb"]),
        ("language", ["en", "de", "zh"], ["fr", ""]),
        ("lab_launcher", ["local", "slurm"], ["ssh"]),
        ("classes", ["anyone", "command"], ["nobody"]),
        ("log", ["text", "json"], ["xml"]),
        ("metrics", ["", "127.0.0.1, 10.1.2.3/8,,::1"], ["localhost", "10.0.0.0/33"]),
        ("secret", ["", "s" * 16], ["s" * 15]),
        ("sandbox_token", ["", "!~" * 8], ["s" * 15, "s" * 16 + " ", "s" * 16 + "é", "s" * 16 + "\n"]),
        ("pack_code", [f"a-1@{DIGEST}", "/srv/pack"], [f"A@{DIGEST}", "a@0", f"a@{DIGEST}0", "srv/pack", "a"]),
    ],
)
def test_texts_that_are_accepted_and_refused(name: str, accepted: list[str], refused: list[str]) -> None:
    assert {text: problem(**{name: text}) for text in accepted} == dict.fromkeys(accepted, "")
    assert [text for text in refused if f"WALLCLOCK_{name.upper()}: " not in problem(**{name: text})] == []


def test_lists_are_read_without_the_space_around_their_entries() -> None:
    made = Settings(
        hosts=" Example.ORG, ,*",
        private_hosts="IdP.campus:8080 ,",
        pack_code=f" a@{DIGEST} ,, /srv/pack",
        exercises=os.pathsep.join(["/srv/a", "", "b"]),
    )
    assert made.hosts == {"example.org", "*"}
    assert made.private_hosts == {"idp.campus:8080"}
    assert made.pack_code == (f"a@{DIGEST}", "/srv/pack")
    assert made.exercises == (Path("/srv/a"), Path("b"))
    kept = Settings(hosts=frozenset({"A"}), pack_code=("x",), exercises=(Path("c"),), sandbox_at=())
    assert (set(kept.hosts), kept.pack_code, kept.exercises) == ({"A"}, ("x",), (Path("c"),))


def test_a_relative_folder_is_one_from_where_the_program_was_started() -> None:
    made = Settings(runs=Path("r"), cache=Path("c"), uds=Path("u"), slurm_site="")
    assert (made.runs, made.cache) == (Path.cwd() / "r", Path.cwd() / "c")
    assert (made.uds, made.slurm_site) == (Path("u"), None)


TOKEN = "t" * 16


@each(
    ("given", "read"),
    [
        ("http://10.0.0.7:8100/, unix:/run/s.sock", ("http://10.0.0.7:8100", "unix:/run/s.sock")),
        ("https://sandbox.example.org/a/", ("https://sandbox.example.org/a",)),
        ("http://[fd00::1]:80,", ("http://[fd00::1]:80",)),
    ],
)
def test_addresses_of_sandbox_servers(given: str, read: tuple[str, ...]) -> None:
    assert Settings(sandbox_at=given, sandbox_token=TOKEN).sandbox_at == read


@each(
    ("given", "says"),
    [
        ("unix:run/s.sock", "is not the address of a sandbox server"),
        ("unix:/run/\x07", "is not the address"),
        ("ftp://a", "is not the address"),
        ("http://", "is not the address"),
        ("http://me@a:1", "is not the address"),
        ("http://a?b=1", "ends before '?' and '#'"),
        ("http://a#b", "ends before '?' and '#'"),
        ("http://a:0", "needs the port"),
    ],
)
def test_what_is_no_address_of_a_sandbox_server(given: str, says: str) -> None:
    assert says in problem(sandbox_at=given, sandbox_token=TOKEN)


def test_settings_that_need_one_another() -> None:
    assert "WALLCLOCK_SANDBOX_AT needs" in problem(sandbox_at="http://a:1")
    assert problem(sandbox_token=TOKEN) == ""
    for proxies in ("", "*", "0.0.0.0/0", "10.0.0.7,::/0", "10.0.0.7,"):
        assert problem(proxies=proxies) == ""
    assert problem(address="https://a.example/", url="https://a.example") == ""
    assert "remove WALLCLOCK_ADDRESS" in problem(address="https://a.example", url="https://b.example")
    assert "remove one" in problem(url="https://a.example/w", root_path="/v")
    assert problem(url="https://a.example/w", root_path="/w") == problem(root_path="/v") == ""


@each(
    ("name", "value", "is_one"),
    [
        ("WALLCLOCK_SERVICE_HOST", "10.0.0.1", True),
        ("WALLCLOCK_DB_SERVICE_PORT_SQL", "5432", True),
        ("WALLCLOCK_PORT_8000_UDP_PROTO", "udp", True),
        ("WALLCLOCK_DB_PORT", "tcp://10.0.0.1:1", True),
        ("WALLCLOCK_PORT", "8000", False),
        ("WALLCLOCK_PORT", "http://10.0.0.1:1", False),
        ("WALLCLOCK_HOST", "tcp://10.0.0.1:1", False),
        ("WALLCLOCK_SERVICE", "x", False),
        ("WALLCLOCK_PORT_X_TCP", "x", False),
    ],
)
def test_variables_that_kubernetes_sets_for_a_service(name: str, value: str, is_one: bool) -> None:
    assert is_of_a_service(name, value) is is_one


def test_addresses_that_are_in_networks_that_are_known() -> None:
    allowed = "127.0.0.1, 10.1.2.3/8,,::1"
    assert [is_within(one, allowed) for one in ("10.255.0.1", "127.0.0.1", "::1")] == [True] * 3
    assert [is_within(one, allowed) for one in ("11.0.0.1", "127.0.0.2", "::2", "", "unix")] == [False] * 5


@each(("given", "path"), [(" wallclock/ ", "/wallclock"), ("//", ""), ("/a/b.c~d_e-F9/", "/a/b.c~d_e-F9")])
def test_a_path_prefix_begins_with_a_slash_and_ends_without(given: str, path: str) -> None:
    assert path_prefix(given) == path


def test_the_prefix_of_a_url_is_its_path() -> None:
    urls = ("https://example.org/w/", "https://example.org/a/b", "https://example.org/", "https://example.org", "")
    assert [prefix_of(url) for url in urls] == ["/w", "/a/b", "", "", ""]


@each("given", ["a//b", "a/./b", "a/../b", "a/..", ".", "..", "a b", "a%20b", "ä"])
def test_a_path_that_could_be_written_in_other_ways_is_no_prefix(given: str) -> None:
    with pytest.raises(ValueError, match="such as /wallclock"):
        path_prefix(given)
    assert path_prefix("/...") == "/..."


@each(
    ("url", "read"),
    [
        ("http://a.example:80/", "http://a.example"),
        ("http://a.example:443", "http://a.example:443"),
        ("https://a.example:80", "https://a.example:80"),
        ("HTTPS://A.example:8443/W", "https://a.example:8443/W"),
    ],
)
def test_a_port_is_left_out_where_browsers_leave_it_out(url: str, read: str) -> None:
    assert Settings(url=f" {url}").url == read
