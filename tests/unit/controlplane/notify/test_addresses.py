"""Where nothing may be sent, in every spelling."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.errors import InvalidInput, Refused, Unavailable
from controlplane.notify.addresses import METADATA, Address, Resolve, destination, resolve


def at(*addresses: str) -> Resolve:
    return lambda _host, _port: list(addresses)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "169.254.0.1",
        "169.254.170.2",
        "fe80::1",
        "fe80::1%eth0",
        "febf::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "100.100.100.200",
        "192.0.0.192",
        "::ffff:169.254.169.254",
        "::ffff:a9fe:a9fe",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "ff02::1",
    ],
)
def test_link_local_metadata_and_multicast_are_refused(address: str) -> None:
    with pytest.raises(Refused, match="never called"):
        destination("https://hooks.example/x", resolver=at(address))


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "::1", "10.1.2.3", "192.168.0.9", "fd12::1", "93.184.216.34"]
)
def test_receivers_on_loopback_in_private_networks_and_outside_are_allowed(address: str) -> None:
    assert destination("http://hooks.example/x", resolver=at(address)).address == address


def test_one_bad_address_among_good_ones_is_enough_to_refuse() -> None:
    with pytest.raises(Refused):
        destination("http://hooks.example/", resolver=at("93.184.216.34", "169.254.169.254"))


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "2852039166", "0xa9fea9fe"]
)
def test_an_address_written_as_host_is_judged_like_one_that_was_resolved(host: str) -> None:
    with pytest.raises(Refused):
        destination(f"http://{host}/latest/meta-data", resolver=resolve)


@given(st.ip_addresses(network="169.254.0.0/16"))
def test_every_link_local_ipv4_address_is_refused_also_inside_ipv6(address: ipaddress.IPv4Address) -> None:
    for text in (
        str(address),
        f"::ffff:{address}",
        str(ipaddress.ip_address((0x64FF9B << 96) + int(address))),
    ):
        with pytest.raises(Refused):
            destination("http://h/", resolver=at(text))


@given(st.ip_addresses())
def test_what_is_allowed_is_neither_link_local_nor_metadata(address: Address) -> None:
    try:
        found = destination("http://h/", resolver=at(str(address)))
    except Refused:
        return
    assert found.address == str(address)
    assert address not in METADATA
    assert not address.is_link_local


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example",
        "ftp://hooks.example/",
        "file:///etc/passwd",
        "gopher://hooks.example/",
        "http://",
        "http:///path",
        "http://h:99999/",
        "http://[::1/",
    ],
)
def test_what_is_no_web_address_is_invalid(url: str) -> None:
    with pytest.raises(InvalidInput):
        destination(url, resolver=at("127.0.0.1"))


def test_credentials_in_an_address_are_invalid_and_are_not_repeated() -> None:
    with pytest.raises(InvalidInput) as caught:
        destination("http://me:hunter2@hooks.example/", resolver=at("127.0.0.1"))
    assert "hunter2" not in str(caught.value)


def test_hosts_outside_the_allow_list_are_refused_before_they_are_resolved() -> None:
    asked: list[str] = []

    def resolver(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    allowed = ["*.example", "hooks.test"]
    assert destination("http://a.example/", hosts=allowed, resolver=resolver).host == "a.example"
    with pytest.raises(Refused, match="not among"):
        destination("http://a.example.org/", hosts=allowed, resolver=resolver)
    assert asked == ["a.example"]


def test_the_authority_keeps_the_name_and_a_port_that_is_not_the_schemes() -> None:
    assert destination("https://h/", resolver=at("127.0.0.1")).authority == "h"
    assert destination("https://h:8443/", resolver=at("127.0.0.1")).authority == "h:8443"
    assert destination("http://[::1]:80/", resolver=at("::1")).authority == "[::1]"


def test_a_name_without_an_address_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        destination("http://h/", resolver=at())
    with pytest.raises(Unavailable):
        resolve("no-such-host.invalid", 80)
