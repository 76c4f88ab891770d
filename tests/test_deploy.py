"""The files of `deploy/`: each by the checker of what it is for, where that is installed."""

import os
import re
import subprocess
from datetime import date, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from app.core.folders import ROOT
from app.server.config import Settings
from app.site.api import STREAMED
from tests.each import each
from tests.network.proxies import modules

DEPLOY = ROOT / "deploy"
KUBERNETES = sorted(DEPLOY.glob("kubernetes/*.yaml"))
MANIFESTS = [path for path in KUBERNETES if path.stem != "kustomization"]
PAGE = (ROOT / "app" / "docs" / "deploying.md").read_text(encoding="utf-8")
FENCE = re.compile(r"`deploy/(?P<name>[\w/.-]+)`[^`]*```\w*\n(?P<text>.*?)\n```", re.DOTALL)


def read(name: str) -> str:
    return (DEPLOY / name).read_text(encoding="utf-8")


def document(name: str) -> Any:
    return yaml.safe_load(read(name))


def ran(*command: str) -> str:
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_the_page_shows_every_file_as_it_is() -> None:
    shown = {found["name"]: found["text"] for found in FENCE.finditer(PAGE)}
    found = [path for path in DEPLOY.rglob("*") if path.is_file() and path.parent.name not in ("core", "grafana")]
    files = {str(path.relative_to(DEPLOY)) for path in found}
    assert set(shown) == files
    assert {name for name, text in shown.items() if text != read(name).rstrip("\n")} == set()


def test_every_setting_in_them_is_a_setting() -> None:
    known = {f"WALLCLOCK_{name.upper()}" for name in Settings.model_fields}
    for path in (path for path in DEPLOY.rglob("*") if path.is_file()):
        assert set(re.findall(r"WALLCLOCK_[A-Z_]+", path.read_text("utf-8"))) <= known, path.name


@each("path", MANIFESTS, ids=lambda path: path.stem)
def test_a_manifest_is_what_kubernetes_expects(path: Path) -> None:
    kubernetes_validate.validate(
        yaml.safe_load(path.read_text("utf-8")), kubernetes_validate.latest_version(), strict=True
    )


def test_a_manifest_with_a_misspelled_key_is_refused() -> None:
    wrong = document("kubernetes/service.yaml")
    wrong["spec"]["port"] = wrong["spec"].pop("ports")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, kubernetes_validate.latest_version(), strict=True)


def test_the_kustomization_lists_every_manifest() -> None:
    listed = document("kubernetes/kustomization.yaml")["resources"]
    assert sorted(listed) == [path.name for path in MANIFESTS]


@pytest.mark.needs("kubectl")
def test_the_kustomization_builds_and_its_result_is_valid() -> None:
    made = list(yaml.safe_load_all(ran("kubectl", "kustomize", str(DEPLOY / "kubernetes"))))
    assert len(made) == len(MANIFESTS) + 1  # and the settings
    for one in made:
        assert one["metadata"]["namespace"] == "wallclock"
    assert routed(made) == {"wallclock": ["wallclock"], "wallclock-sandbox": ["wallclock-sandbox"]}


def routed(made: list[Any]) -> dict[str, list[str]]:
    """The deployments behind each service."""
    deployed = {
        one["metadata"]["name"]: one["spec"]["template"]["metadata"]["labels"]
        for one in made
        if one["kind"] == "Deployment"
    }
    return {
        one["metadata"]["name"]: [
            name for name, labels in deployed.items() if one["spec"]["selector"].items() <= labels.items()
        ]
        for one in made
        if one["kind"] == "Service"
    }


def test_each_service_leads_to_one_deployment() -> None:
    made = [document(f"kubernetes/{path.name}") for path in MANIFESTS]
    assert routed(made) == {"wallclock": ["wallclock"], "wallclock-sandbox": ["wallclock-sandbox"]}


def test_nothing_runs_as_root_or_writes_to_its_root() -> None:
    for name in ("deployment", "sandbox"):
        pod = document(f"kubernetes/{name}.yaml")["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    for name in ("wallclock", "sandbox"):
        service = document("compose.yaml")["services"][name]
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    user = re.findall(r"^USER (\d+)", read("Containerfile"), re.MULTILINE)
    assert user == [str(pod["securityContext"]["runAsUser"])]
    assert f"\nUSER {user[0]}:" in read("Containerfile.labs")
    assert "HEALTHCHECK" in read("Containerfile")


def test_the_sandbox_apart_has_no_way_to_the_data() -> None:
    composed = document("compose.yaml")
    box, database = (composed["services"][name] for name in ("sandbox", "database"))
    assert not set(box["networks"]) & set(database["networks"])
    assert all(composed["networks"][name]["internal"] for name in box["networks"])
    assert set(box["environment"]) == {"WALLCLOCK_SANDBOX_TOKEN"}
    assert document("kubernetes/sandbox-network.yaml")["spec"]["egress"] == []


def test_web_servers_believe_the_proxy_that_alone_reaches_them() -> None:
    settings = document("kubernetes/kustomization.yaml")["configMapGenerator"][0]["literals"]
    (trusted,) = [text.partition("=")[2] for text in settings if "PROXIES" in text]
    composed = document("compose.yaml")["services"]["wallclock"]
    for network in (trusted, composed["environment"]["WALLCLOCK_PROXIES"]):
        assert ip_network(network).prefixlen >= 16
    policy = document("kubernetes/web-network.yaml")["spec"]
    pods = document("kubernetes/deployment.yaml")["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= pods.items()
    (rule,) = policy["ingress"]
    assert all({"namespaceSelector", "podSelector"} <= set(one) for one in rule["from"])
    assert all(port.startswith("127.0.0.1:") for port in composed["ports"])


def test_containers_have_a_limit_of_memory_and_images_an_exact_version() -> None:
    services = document("compose.yaml")["services"].values()
    assert all(service["mem_limit"] for service in services)
    for name in ("deployment", "sandbox"):
        (container,) = document(f"kubernetes/{name}.yaml")["spec"]["template"]["spec"]["containers"]
        assert container["resources"]["limits"]["memory"]
    assert re.findall(r"^FROM (\S+)", read("Containerfile"), re.MULTILINE) == ["${PYTHON}", "${PYTHON}"]
    built = re.findall(r"^ARG PYTHON=(\S+)", read("Containerfile"), re.MULTILINE)
    images = built + re.findall(r"^ARG BASE=(\S+)", read("Containerfile.labs"), re.MULTILINE)
    given = [service["image"] for service in services] + [
        document("compose.yaml")["services"]["wallclock"]["build"]["args"]["PYTHON"]
    ]
    defaults = [found[1] for one in given if (found := re.fullmatch(r"\$\{[A-Z_]+_IMAGE:-(.+)\}", one))]
    assert len(images) == len(defaults) == 2
    assert built[0] in defaults
    for image in images + defaults:
        assert re.search(r":\d+\.\d+[\d.]*-(slim-)?[a-z]+$", image), image


@each("name", ["Containerfile", "Containerfile.labs", "compose.yaml"])
def test_images_are_chosen_anew_every_ninety_days(name: str) -> None:
    (chosen,) = re.findall(r"Images chosen on (\d{4}-\d\d-\d\d)", read(name))
    last = date.fromisoformat(chosen) + timedelta(days=90)
    in_ci = bool(os.environ.get("CI"))  # a release that is tested later is not wrong for that
    assert not in_ci or date.today() <= last, f"deploy/{name}: look for newer images, then write the date"


@each(
    ("name", "off"),
    [
        ("nginx/wallclock.conf", r"proxy_buffering off|proxy_request_buffering off"),
        ("caddy/Caddyfile", "flush_interval -1"),
        ("apache/wallclock.conf", "flushpackets=on"),
    ],
)
def test_a_proxy_sends_on_at_once_what_streams_and_nothing_else(name: str, off: str) -> None:
    text = "\n".join(line for line in read(name).splitlines() if not line.lstrip().startswith("#"))
    blocks = [one for one in re.split(r"\n\s*\n|\}\n", text) if re.search(off, one)]
    lines = [line for one in blocks for line in one.splitlines() if "ProxyPass " not in line or re.search(off, line)]
    named = " ".join(lines).replace("(check/batch|predict)", "check/batch /api/v1/predict")
    assert all(path in named for path in STREAMED)
    assert not re.search(r"location / |ProxyPass / ", named)


def test_the_container_has_all_that_its_build_copies() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    needed = {"app", "alembic", "exercises", "static", "templates", "pyproject.toml", "README.md"}
    assert needed.isdisjoint(ignored)


def test_the_sandbox_may_lock_its_workers_down_under_systemd() -> None:
    unit = read("systemd/wallclock.service")
    (calls,) = re.findall(r"^SystemCallFilter=(.*)$", unit, re.MULTILINE)
    assert {"seccomp", "landlock_restrict_self"} <= set(calls.split())
    assert not re.search(r"^MemoryDenyWriteExecute=yes", unit, re.MULTILINE)


@pytest.mark.needs("systemd-analyze")
def test_the_units_are_valid(tmp_path: Path) -> None:
    for name in ("wallclock.service", "wallclock.socket"):
        text = read(f"systemd/{name}").replace("/opt/wallclock/bin/wallclock", "/bin/true")
        (tmp_path / name).write_text(text, encoding="utf-8")
    units = [str(path) for path in sorted(tmp_path.iterdir())]
    assert ran("systemd-analyze", "verify", "--man=no", *units) == ""
    said = ran("systemd-analyze", "security", "--offline=true", units[0])
    (exposure,) = re.findall(r"exposure level for wallclock.service: ([\d.]+)", said)
    assert float(exposure) < 2.5  # 10 is a service without any hardening


def self_signed(key: str, certificate: str) -> None:
    made = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    ran("openssl", *made, "-subj", "/CN=localhost", "-keyout", key, "-out", certificate)


@pytest.mark.needs("nginx", "openssl")
def test_nginx_takes_its_file(tmp_path: Path) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    self_signed(key, certificate)
    text = re.sub(r"/etc/\S+/fullchain.pem", certificate, read("nginx/wallclock.conf"))
    (tmp_path / "site.conf").write_text(re.sub(r"/etc/\S+/privkey.pem", key, text))
    around = f"pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}}\n"
    around += f"http {{ access_log off; include {tmp_path}/site.conf; }}\n"
    (tmp_path / "nginx.conf").write_text(around)
    assert "test is successful" in ran("nginx", "-t", "-c", str(tmp_path / "nginx.conf"))


@pytest.mark.needs("caddy")
def test_caddy_takes_its_file() -> None:
    file = str(DEPLOY / "caddy" / "Caddyfile")
    assert "Valid configuration" in ran("caddy", "validate", "--adapter", "caddyfile", "--config", file)


@pytest.mark.needs("apache2", "openssl")
def test_apache_takes_its_file(tmp_path: Path) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    self_signed(key, certificate)
    site = re.sub(r"/etc/\S+/fullchain.pem", certificate, read("apache/wallclock.conf"))
    site = re.sub(r"/etc/\S+/privkey.pem", key, site)
    loaded = modules("mpm_event", "authz_core", "alias", "headers", "proxy", "proxy_http", "reqtimeout", "ssl")
    file = tmp_path / "apache.conf"
    file.write_text(f"ServerRoot {tmp_path}\nServerName localhost\nErrorLog {tmp_path}/log\n{loaded}\n{site}")
    assert "Syntax OK" in ran("apache2", "-t", "-f", str(file))
