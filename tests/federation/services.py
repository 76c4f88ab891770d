"""Services for the tests, as real servers: one with a certificate made here."""

import datetime
import gzip
import json
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

NAME = "platform.test"


def certificate(folder: Path) -> Path:
    """A certificate for NAME alone, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "both.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return file


class _Answers(BaseHTTPRequestHandler):
    """Answers as its path says; connections stay open, as those of most servers do."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        headers = {"Content-Type": "application/json"}
        if self.path == "/away":
            self._send(302, {"Location": "https://127.0.0.1:1/"}, b"")
        elif self.path == "/large":
            self._send(200, headers, b"[" + b"0," * 400_000 + b"0]")
        elif self.path == "/packed":
            self._send(200, {"Content-Encoding": "gzip"}, gzip.compress(b"0" * 10_000_000))
        elif self.path == "/page":
            self._send(502, {}, b"<h1>Bad gateway</h1>")
        elif self.path == "/deep":
            self._send(200, headers, b"[" * 200_000)
        elif self.path == "/slow":
            self._drip()
        else:
            told = {"host": self.headers["Host"], "cookie": self.headers.get("Cookie", "")}
            self._send(200, {"Set-Cookie": "a=b; Path=/"}, json.dumps(told).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        told = {"body": body.decode(), "kind": self.headers["Content-Type"]}
        self._send(200, {}, json.dumps(told).encode())

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self._write(body)

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        while self._write(b" "):
            time.sleep(0.05)

    def _write(self, body: bytes) -> bool:
        try:
            self.wfile.write(body)
            self.wfile.flush()
        except OSError:
            return False
        return True

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def serving(file: Path) -> Iterator[int]:
    """The port of a server with the certificate in *file*, on 127.0.0.1."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that leaves
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


async def here(host: str, port: int) -> Sequence[str]:
    """Every name is a name of this machine."""
    return ["127.0.0.1"]
