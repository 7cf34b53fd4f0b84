"""Ports of loopback that nobody holds, for the servers that a test starts."""

import socket


def free_ports(count: int) -> list[int]:
    """Return as many ports, all different; another program may still take one before it is used."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(each.getsockname()[1]) for each in held]
    for each in held:
        each.close()
    return ports


def free_port() -> int:
    """Return one."""
    return free_ports(1)[0]
