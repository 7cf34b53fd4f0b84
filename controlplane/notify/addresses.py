"""Where an outgoing request may go: by scheme, by host, and by the address that the host really has.

A name is resolved once, every address it has is judged, and the request goes to an address
that was judged, so that a name which changes its mind between look and call gains nothing.
Link-local addresses and clouds' metadata services are refused in every spelling; loopback and
private networks are where receivers live, and are allowed.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from controlplane.kernel.errors import InvalidInput, Refused, Unavailable

SCHEMES = ("http", "https")
PORTS = {"http": 80, "https": 443}
METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",  # AWS, Azure, Google Cloud, OpenStack, Oracle
        "169.254.170.2",  # AWS, tasks' credentials
        "fd00:ec2::254",  # AWS over IPv6
        "fd20:ce::254",  # Google Cloud over IPv6
        "100.100.100.200",  # Alibaba Cloud
        "192.0.0.192",  # Oracle Cloud, older
    )
)
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # IPv4 behind NAT64

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]


def resolve(host: str, port: int) -> list[str]:
    """Ask the system for a host's addresses; raise `Unavailable` if it has none now."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        msg = f"the name {host} has no address: {error}"
        raise Unavailable(msg) from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a request goes: the address that was judged, and the host whose name it keeps."""

    scheme: str
    host: str
    port: int
    address: str

    @property
    def authority(self) -> str:
        """The ``Host`` header: the name, and the port if it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def destination(url: str, *, hosts: Sequence[str] = ("*",), resolver: Resolve = resolve) -> Destination:
    """Judge ``url`` and return where to send. ``hosts``: patterns of which one must match the name.

    Raises `InvalidInput` for what is no URL, `Refused` for where nothing may be sent, and
    `Unavailable` for a name without an address. Messages name the host alone: a URL may hold a secret.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        msg = "the address is not a URL"
        raise InvalidInput(msg) from error
    if parts.scheme not in SCHEMES or not host:
        msg = "the address is not a URL that begins with http:// or https:// and names a host"
        raise InvalidInput(msg)
    if parts.username is not None:
        msg = f"the address of {host} holds a user name: credentials do not belong there"
        raise InvalidInput(msg)
    if not any(fnmatch.fnmatchcase(host, pattern) for pattern in hosts):
        msg = f"{host} is not among the hosts that may be called"
        raise Refused(msg, hint=f"allowed: {', '.join(hosts)}")
    port = port or PORTS[parts.scheme]
    addresses = resolver(host, port)
    if not addresses:
        msg = f"the name {host} has no address"
        raise Unavailable(msg)
    for text in addresses:
        _judge(host, text)
    return Destination(parts.scheme, host, port, addresses[0])


def _judge(host: str, text: str) -> None:
    address = plain(ipaddress.ip_address(text.partition("%")[0]))
    if address in METADATA or address.is_link_local or address.is_multicast or address.is_unspecified:
        msg = f"{host} is at {text}: link-local, metadata and multicast addresses are never called"
        raise Refused(msg)


def plain(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 spelling means (mapped, 6to4, NAT64), or the address itself."""
    if not isinstance(address, ipaddress.IPv6Address):
        return address
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
