"""The truth: told twice per request, remembered for a while, kept on disk for good."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.lab.traffic.truth import MEMORY, Request, Truth


def request(seq: int, at: float = 0.0) -> Request:
    return Request(seq=seq, planned_at=at, prompt_tokens=10, planned_tokens=5, sent_at=at)


def ended(entry: Request, **fields: object) -> Request:
    values = {
        "outcome": "ok",
        "correct": True,
        "ttft": 0.2,
        "tpot": 0.02,
        "tokens": 5,
        "ended_at": entry.sent_at + 1,
    }
    for name, value in (values | fields).items():
        setattr(entry, name, value)
    return entry


def told(truth: Truth, rev: int = 0) -> list[dict]:
    return [json.loads(text) for text in truth.since(rev)]


@pytest.fixture
def truth(tmp_path: Path) -> Iterator[Truth]:
    truth = Truth(tmp_path / "traffic" / "truth.jsonl")
    yield truth
    truth.close()


def test_a_request_is_told_when_sent_and_again_when_ended(truth: Truth) -> None:
    entry = request(0)
    truth.told(entry)
    assert [(found["seq"], found["outcome"]) for found in told(truth)] == [(0, "open")]

    first = truth.rev
    truth.ended(ended(entry))
    assert [(found["seq"], found["outcome"]) for found in told(truth, first)] == [(0, "ok")]
    assert truth.since(truth.rev) == []


def test_changes_come_in_their_order(truth: Truth) -> None:
    entries = [request(seq) for seq in range(3)]
    for entry in entries:
        truth.told(entry)
    truth.ended(ended(entries[1]))

    assert [found["seq"] for found in told(truth)] == [0, 2, 1]


def test_only_ended_requests_are_written_down_one_line_each(truth: Truth, tmp_path: Path) -> None:
    entries = [request(seq) for seq in range(2)]
    for entry in entries:
        truth.told(entry)
    truth.ended(ended(entries[1], zone="zone-b"))

    lines = [json.loads(line) for line in (tmp_path / "traffic" / "truth.jsonl").read_text().splitlines()]
    assert [(line["seq"], line["zone"], line["plannedTokens"]) for line in lines] == [(1, "zone-b", 5)]


def test_memory_ends_a_while_after_the_last_change(truth: Truth) -> None:
    old = request(0, at=1000.0)
    truth.told(old)
    truth.ended(ended(old))
    truth.told(request(1, at=1001.0 + MEMORY))
    assert [found["seq"] for found in told(truth)] == [0, 1]

    truth.told(request(2, at=1001.1 + MEMORY))
    assert [found["seq"] for found in told(truth)] == [1, 2]


@pytest.mark.parametrize(
    ("fields", "effective"),
    [
        ({}, True),
        ({"ttft": 1.0, "tpot": 0.050}, True),
        ({"ttft": 1.001}, False),
        ({"tpot": 0.0501}, False),
        ({"tpot": None, "tokens": 1}, True),
        ({"correct": False}, False),
        ({"outcome": "error"}, False),
        ({"outcome": "timeout", "correct": None}, False),
        ({"ttft": None}, False),
    ],
)
def test_effective_is_right_whole_and_in_time(fields: dict, effective: bool) -> None:
    assert ended(request(0), **fields).effective == effective
