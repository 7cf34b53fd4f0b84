"""An instant answer's bytes give the rows that its JSON says, however often it comes and whatever changes."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.kernel.errors import Unavailable
from controlplane.observe import decoding
from controlplane.observe.decoding import Decoder
from controlplane.observe.series import Row

Pairs = list[tuple[dict[str, str], str]]


def body(pairs: Pairs, at: float = 1.5, *, compact: bool = True) -> bytes:
    result = [{"metric": labels, "value": [at, value]} for labels, value in pairs]
    document = {"status": "success", "data": {"resultType": "vector", "result": result}}
    return json.dumps(document, separators=(",", ":") if compact else None, ensure_ascii=False).encode()


def told(pairs: Pairs) -> list[tuple[dict[str, str], float]]:
    return [(labels, float(value)) for labels, value in pairs]


def seen(decoder: Decoder, content: bytes) -> list[tuple[dict[str, str], float]]:
    return [(dict(row.labels), row.value) for row in decoder.rows("q", content)]


WORDS = st.one_of(
    st.sampled_from(['"value":[1.5,"', '"]},{"metric":{', "]", "\\", '"', "zone-a"]), st.text(max_size=5)
)
VALUES = st.one_of(st.sampled_from(["+Inf", "-Inf", "1e+06", "0"]), st.floats(allow_nan=False).map(repr))
PAIRS = st.lists(st.tuples(st.dictionaries(WORDS, WORDS, max_size=3), VALUES), max_size=4)


@settings(max_examples=100)
@given(st.lists(st.tuples(PAIRS, st.booleans()), min_size=1, max_size=4))
def test_every_answer_is_what_its_json_says_whatever_came_before(answers: list[tuple[Pairs, bool]]) -> None:
    decoder = Decoder()
    for number, (pairs, compact) in enumerate(answers):
        for again in range(2):
            assert seen(decoder, body(pairs, number + again / 2, compact=compact)) == told(pairs)


def test_answers_with_the_same_series_share_their_labels() -> None:
    decoder = Decoder()
    first, second = (decoder.rows("q", body([({"zone": "a"}, value)])) for value in ("1", "2"))
    assert second.labels is first.labels
    assert list(second) == [Row({"zone": "a"}, 2.0)]


def test_an_answer_that_is_known_is_not_decoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder = Decoder()
    decoder.rows("q", body([({"zone": "a"}, "1")]))
    monkeypatch.setattr(decoding, "_decode", lambda _: pytest.fail("decoded again"))
    assert decoder.rows("q", body([({"zone": "a"}, "2")], 3.5)).values.tolist() == [2.0]


def test_a_series_that_joins_or_leaves_changes_the_labels() -> None:
    decoder = Decoder()
    one, two = ({"zone": "a"}, "1"), ({"zone": "b"}, "2")
    for pairs in ([one], [one, two], [two], [two, one]):
        assert seen(decoder, body(pairs)) == told(pairs)


def test_nan_is_a_value_too() -> None:
    decoder = Decoder()
    for _ in range(2):
        (row,) = decoder.rows("q", body([({}, "NaN")]))
        assert math.isnan(row.value)


def test_a_scalar_is_one_row_without_labels() -> None:
    content = b'{"status":"success","data":{"resultType":"scalar","result":[1.5,"7"]}}'
    assert list(Decoder().rows("q", content)) == [Row({}, 7.0)]


@pytest.mark.parametrize(
    "content",
    [
        b"<html>",
        b"{}",
        b'{"data":{"result":[{"metric":{},"value":[1]}]}}',
        b'{"data":{"result":[{"metric":{},"value":[1.5,"x"]}]}}',
    ],
)
def test_what_is_no_vector_is_refused(content: bytes) -> None:
    with pytest.raises(Unavailable, match="no vector"):
        Decoder().rows("q", content)


def test_what_was_not_asked_for_long_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "REMEMBERED", 2)
    decoder, content = Decoder(), body([({"zone": "a"}, "1")])
    first = decoder.rows("q0", content)
    for name in ("q1", "q2"):
        decoder.rows(name, content)
    assert decoder.rows("q0", content).labels is not first.labels
