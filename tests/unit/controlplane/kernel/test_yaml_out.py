"""Data written as YAML reads back as the same data, whatever texts hold."""

from __future__ import annotations

import pytest

from controlplane.kernel.yaml import load_documents
from controlplane.kernel.yaml_out import dump_documents


@pytest.mark.parametrize(
    "text",
    [
        "a\nb",
        "a\nb\n",
        "\na",
        " a\n b",
        "a \nb",
        "a\tb\nc",
        "yes",
        "1.10",
        "20:00",
        "a: b\n# c",
        "a\n\n",
        "é\n",
    ],
)
def test_a_text_reads_back_as_it_was(text: str) -> None:
    data = {"expr": text, "list": [{"inside": text}]}
    written = dump_documents([data, data])
    assert [document.data for document in load_documents(written, "f")] == [data, data]


def test_a_query_of_several_lines_is_written_as_one_sees_it() -> None:
    assert dump_documents([{"expr": "a\n/\nb\n"}]) == "expr: |\n  a\n  /\n  b\n"
