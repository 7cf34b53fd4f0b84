"""How messages are carried, and what a sender does when nothing carries them."""

import socket

import pytest

from controlplane.carrier.app import QUEUE, TASK, make_app
from controlplane.carrier.sender import Sender
from controlplane.kernel.errors import Unavailable


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_messages_outlive_their_workers_and_none_waits_behind_another() -> None:
    conf = make_app("redis://127.0.0.1:1/0").conf
    assert (conf.task_acks_late, conf.worker_prefetch_multiplier) == (True, 1)
    assert (conf.result_backend, conf.task_ignore_result) == (None, True)
    assert (conf.task_default_queue, TASK) == (QUEUE, "fleetward.advance")
    assert conf.accept_content == ["json"]


def test_a_sender_fails_fast_when_the_broker_is_down() -> None:
    sender = Sender(f"redis://127.0.0.1:{closed_port()}/0")
    for _ in range(2):
        with pytest.raises(Unavailable):
            sender("run-1")
        with pytest.raises(Unavailable):
            sender.waiting()
    sender.close()
