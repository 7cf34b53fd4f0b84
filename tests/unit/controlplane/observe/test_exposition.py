"""A /metrics text is read as it is, a broken line is named, what is no such text is refused with advice."""

from __future__ import annotations

import pytest

from controlplane.kernel.errors import InvalidInput
from controlplane.observe import exposition
from controlplane.observe.exposition import decode, parse

TEXT = """\
# HELP vllm:prompt_tokens_total Prompt tokens.
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="a # b, {c}"} 12.0
# TYPE tgi_request_count counter
tgi_request_count 3
# TYPE ttft_seconds histogram
ttft_seconds_bucket{le="0.5"} 1
ttft_seconds_bucket{le="+Inf"} 2
ttft_seconds_sum 0.7
ttft_seconds_count 2
# TYPE sglang:context_len gauge
"""


def test_names_stay_as_they_are_written() -> None:
    found = parse(TEXT, "text")
    assert [sample.name for sample in found.samples] == [
        "vllm:prompt_tokens_total",
        "tgi_request_count",
        "ttft_seconds_bucket",
        "ttft_seconds_bucket",
        "ttft_seconds_sum",
        "ttft_seconds_count",
    ]
    assert found.samples[0].labels["model_name"] == "a # b, {c}"
    assert found.bounds("ttft_seconds") == [0.5]
    assert {"ttft_seconds", "tgi_request_count", "vllm:prompt_tokens_total"} <= found.families()


def test_what_is_declared_without_a_sample_is_known() -> None:
    found = parse(TEXT, "text")
    assert (found.declares("sglang:context_len"), found.declares("sglang:other")) == (True, False)
    assert found.declares("ttft_seconds_bucket")


def test_one_broken_line_is_named_and_the_rest_is_read() -> None:
    found = parse(TEXT.replace("tgi_request_count 3\n", "tgi_request_count three\n"), "text")
    assert [(each.number, each.text) for each in found.broken] == [(5, "tgi_request_count three")]
    assert len(found.samples) == 5


def test_openmetrics_is_read_too() -> None:
    text = (
        '# TYPE a counter\n# UNIT a seconds\na_total{x="1"} 4 # {trace_id="t"} 0.5 1700000000.5\n'
        'a_created{x="1"} 1700000000.1\n# EOF\n'
    )
    found = parse(text, "text")
    assert (found.samples[0].name, found.samples[0].value) == ("a_total", 4.0)
    assert "a_total" in found.families()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        ("\n  \n", "is empty"),
        ("<!DOCTYPE html><html></html>", "is a web page"),
        ('{"status": "success"}', "is JSON"),
        ("# only a comment\n", "holds no metric"),
        (TEXT + 'vllm:generation_tokens_total{engine="0",mod', "breaks off in line 12"),
        (TEXT + "vllm:generation_tokens_total", "breaks off in line 12"),
        ("# TYPE a counter\n# UNIT a seconds\na_total 4\n", "without its `# EOF`"),
        ("\n".join(f"no metric in line {n}" for n in range(50)) + "\n", "20 lines more are like it"),
    ],
)
def test_what_is_no_exposition_is_refused_with_advice(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        parse(text, "text")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\x1f\x8b\x08\x00", "compressed with gzip"),
        (b"\xff\xfe\x00", "byte 0 is not UTF-8"),
        (b"a 1\n\x00", "is binary"),
    ],
)
def test_bytes_that_are_no_text_are_refused_with_advice(content: bytes, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        decode(content, "text")
    assert caught.value.hint


def test_a_text_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposition, "MAX_BYTES", 4)
    with pytest.raises(InvalidInput, match="larger than"):
        decode(b"a 1 \n", "text")


def test_a_byte_order_mark_and_windows_line_ends_are_no_matter() -> None:
    found = parse(decode(b"\xef\xbb\xbfa 1\r\nb 2\r\n", "text"), "text")
    assert [(sample.name, sample.value) for sample in found.samples] == [("a", 1.0), ("b", 2.0)]
