"""Real proxies before a real server: nginx, Caddy and Apache as Debian packs them, with TLS."""

import os
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2
import uvicorn

from app.main import create_app
from app.server.config import Settings
from app.server.network.sockets import CONNECTION, listen, listen_at
from tests.needs import program
from tests.sockets import HOST
from tests.waiting import HANGS, wait_until

NGINX, CADDY, APACHE, OPENSSL = map(program, ("nginx", "caddy", "apache2", "openssl"))
MODULES = Path("/usr/lib/apache2/modules")
_APACHE = """
ServerName localhost
ServerRoot {folder}
PidFile {folder}/apache.pid
ErrorLog {folder}/apache.log
Mutex posixsem
{modules}
{user}
Listen 127.0.0.1:{port}
<VirtualHost 127.0.0.1:{port}>
  SSLEngine on
  SSLCertificateFile {folder}/cert.pem
  SSLCertificateKeyFile {folder}/key.pem
  ProxyPreserveHost On
  RequestHeader set X-Forwarded-Proto "https"
  AllowEncodedSlashes NoDecode
  ProxyPass / http://127.0.0.1:{behind}/ flushpackets=on nocanon
</VirtualHost>
"""
_LOADED = ("mpm_event", "authz_core", "headers", "proxy", "proxy_http", "ssl", "socache_shmcb")
_NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; {user}
events {{}}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxied;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  {servers}
}}
"""
_TLS = "listen 127.0.0.1:{port} ssl; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;"
HEADERS = """
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Request-ID $request_id;
    proxy_buffering off;"""


def certificate(folder: Path) -> ssl.SSLContext:
    """A certificate for localhost in *folder*; what a client that trusts it uses."""
    assert OPENSSL
    command = [OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(command, check=True, capture_output=True)
    return ssl.create_default_context(cafile=str(folder / "cert.pem"))


@contextmanager
def serving(folder: Path, url: str = "", port: int = 0) -> Iterator[Path]:
    """A server at the Unix socket that is yielded, and at *port* for who may not open that."""
    folder.mkdir()
    settings = Settings(database=f"sqlite:///{folder / 'w.db'}", runs=folder / "runs", sandbox_workers=1, url=url)
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(settings),
            http=CONNECTION,
            ws="none",
            lifespan="on",
            forwarded_allow_ips=settings.proxies,
            access_log=False,
            log_config=None,
        )
    )
    path = folder / "w.sock"
    with closing(listen_at(path)) as listening, closing(listen("127.0.0.1", port)) as other:
        running = threading.Thread(target=server.run, kwargs={"sockets": [listening, other]})
        running.start()
        try:
            yield path
        finally:
            server.should_exit = True
            running.join()


@contextmanager
def nginx(folder: Path, servers: dict[int, str]) -> Iterator[None]:
    """An nginx with TLS on the ports of *servers*, each with its locations."""
    assert NGINX
    text = "".join(
        f"server {{ {_TLS.format(port=port, folder=folder)} {locations} }}\n" for port, locations in servers.items()
    )
    user = "user root;" if os.getuid() == 0 else ""
    file = folder / "nginx.conf"
    file.write_text(_NGINX.format(folder=folder, servers=text, user=user))
    with _started([NGINX, "-c", str(file), "-e", str(folder / "error.log")], *servers):
        yield


@contextmanager
def caddy(folder: Path, servers: dict[int, Path]) -> Iterator[None]:
    """A Caddy with TLS that passes everything on to a socket, from each of its ports."""
    assert CADDY
    file = folder / "Caddyfile"
    sites = "".join(
        f"https://localhost:{port} {{\n tls {folder}/cert.pem {folder}/key.pem\n reverse_proxy unix/{path}\n}}\n"
        for port, path in servers.items()
    )
    file.write_text(f"{{\n admin off\n auto_https off\n}}\n{sites}")
    with _started([CADDY, "run", "--config", str(file), "--adapter", "caddyfile"], *servers):
        yield


def modules(*names: str) -> str:
    """The lines that load modules of Apache."""
    return "\n".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in names)


@contextmanager
def apache(folder: Path, port: int, behind: int) -> Iterator[None]:
    """An Apache with TLS that passes everything on to the port *behind*."""
    assert APACHE
    file = folder / "apache.conf"
    user = "User www-data\nGroup www-data" if os.getuid() == 0 else ""
    file.write_text(_APACHE.format(folder=folder, port=port, behind=behind, user=user, modules=modules(*_LOADED)))
    with _started([APACHE, "-X", "-f", str(file)], port):
        yield


@contextmanager
def _started(command: list[str], *ports: int) -> Iterator[None]:
    environment = {**os.environ, "HOME": os.environ.get("HOME", "/tmp")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment) as process:
        try:
            for port in ports:
                _wait(process, port)
            yield
        finally:
            process.terminate()


def _wait(process: "subprocess.Popen[bytes]", port: int) -> None:
    def listens() -> bool:
        if process.poll() is not None:
            assert process.stderr
            raise RuntimeError(process.stderr.read().decode())
        with closing(socket.socket()) as asking:
            return asking.connect_ex((HOST, port)) == 0

    wait_until(listens)


def browser(context: ssl.SSLContext, origin: str) -> httpx2.Client:
    """A client that sends forms as a browser does, from pages at *origin*."""
    return httpx2.Client(
        base_url=origin, verify=context, headers={"Origin": origin}, follow_redirects=False, timeout=HANGS
    )
