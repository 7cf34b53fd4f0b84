"""A webhook over real sockets: the request as it arrives, and the certificate that is checked."""

import http.server
import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from controlplane.kernel.errors import Unavailable
from controlplane.model.ports import Notification
from controlplane.notify.webhook import WebhookNotifier

pytestmark = pytest.mark.slow

MESSAGE = Notification(title="zone-a is evacuated")
Post = tuple[str, dict[str, str], bytes]


@contextmanager
def receiver(
    wrap: Callable[[http.server.HTTPServer], None] = lambda _server: None,
) -> Iterator[tuple[int, list[Post]]]:
    """Serve on loopback; yields the port and what arrives."""
    posts: list[Post] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            posts.append((self.path, dict(self.headers), body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    wrap(server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1], posts
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def notifier(transport: httpx.BaseTransport | None = None) -> WebhookNotifier:
    return WebhookNotifier(dict, resolver=lambda _host, _port: ["127.0.0.1"], transport=transport)


def test_a_message_arrives_under_the_hosts_name_with_its_key() -> None:
    sender = notifier()
    with receiver() as (port, posts):
        sender.send(MESSAGE, url=f"http://hooks.example:{port}/x?y=1", key="run-1/tell")
    sender.close()

    ((path, headers, body),) = posts
    assert path == "/x?y=1"
    assert headers["Host"] == f"hooks.example:{port}"
    assert headers["Idempotency-Key"] == "run-1/tell"
    assert json.loads(body)["title"] == "zone-a is evacuated"


def test_a_receiver_that_is_not_there_is_unavailable() -> None:
    sender = notifier()
    with receiver() as (port, _):
        pass

    with pytest.raises(Unavailable):
        sender.send(MESSAGE, url=f"http://hooks.example:{port}/", key="k")
    sender.close()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_the_certificate_must_be_the_hosts_though_an_address_is_called(tmp_path: Path) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    options = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=hooks.example"]
    name = ["-addext", "subjectAltName=DNS:hooks.example"]
    command = ["openssl", *options, *name, "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True)

    def wrap(server: http.server.HTTPServer) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)

    sender = notifier(httpx.HTTPTransport(verify=ssl.create_default_context(cafile=certificate)))
    with receiver(wrap) as (port, posts):
        sender.send(MESSAGE, url=f"https://hooks.example:{port}/", key="k")
        with pytest.raises(Unavailable):
            sender.send(MESSAGE, url=f"https://other.example:{port}/", key="k")
    sender.close()

    assert len(posts) == 1
