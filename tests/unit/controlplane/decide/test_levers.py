"""The levers as data: each has a source, somebody who pulls it, and rules both ways; all indicators do."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.decide.levers import Book, book
from controlplane.kernel.errors import InvalidInput
from controlplane.observe.catalogue import catalogue
from controlplane.observe.library import INDICATORS
from controlplane.observe.profile import load_data

PLAYBOOKS = {file.stem for file in Path("playbooks").glob("*.yaml") if not file.stem.endswith(".test")}
MORE = "value: queue, above: 8}, "
BASE = """
sources: {paper: {title: A paper, at: "https://arxiv.org/abs/1"}}
indicators: [{name: queue, value: queue, above: 8}]
levers:
  - name: more
    title: More
    does: adds
    for: [queue]
    byHand: add some
    sources: [paper]
    evidence: [{says: for, all: [{value: queue, above: 1}], why: it is long}]
"""


def test_every_playbook_that_is_named_is_shipped() -> None:
    named = {lever.playbook for lever in book().levers} - {None}
    assert len(named) >= 5
    assert named <= PLAYBOOKS


def test_every_indicator_that_can_be_off_its_target_is_there() -> None:
    aims = {aim.name for aim in book().indicators}
    ratios = {name for name, each in INDICATORS.items() if each.kind == "ratio"}
    assert {sli.name for sli in catalogue().indicators} | ratios <= aims


def test_every_lever_has_rules_for_and_against_it() -> None:
    for lever in book().levers:
        assert {rule.says for rule in lever.evidence} == {"for", "against"}, lever.name


def test_what_the_literature_names_is_there() -> None:
    names = {lever.name for lever in book().levers}
    assert names >= {
        "prefix-cache", "prefix-aware-routing", "prefill-kernels", "memory-bandwidth", "paged-kv",
        "speculative-decoding", "continuous-batching", "weight-quantisation", "prefill-decode-separation",
        "attention-ffn-separation", "rope-scaling", "sliding-window", "kv-offload", "scale-out", "scale-in",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("{value: queue, above: 1}", "{value: quee, above: 1}", "did you mean `queue`"),
        ("{value: queue, above: 1}", "{value: queue, above: 1, below: 2}", "either `above` or `below`"),
        ("{value: queue, above: 1}", "{value: queue}", "either `above` or `below`"),
        ("for: [queue]", "for: [queu]", "unknown indicator `queu`"),
        ("sources: [paper]", "sources: [papers]", "unknown source `papers`"),
        ("byHand: add some", "byHand: ''", "nothing pulls `more`"),
        ("value: queue, above: 8", "value: queue", "a bound or a reason"),
        (
            "value: queue, above: 8}",
            MORE + "{name: kv, value: kv_use, above: 1}",
            "no lever",
        ),
        (
            "value: queue, above: 8}",
            MORE + "{name: queue, value: queue, above: 1}",
            "twice",
        ),
        ("sources: {paper", "sources: {other: {title: B, at: 'https://b'}, paper", "nothing rests on"),
        ("https://arxiv.org/abs/1", "somewhere", "should match pattern"),
    ],
)
def test_a_mistake_in_the_data_is_named(old: str, new: str, problem: str) -> None:
    assert load_data(Book, BASE, "levers.yaml").levers[0].name == "more"
    with pytest.raises(InvalidInput, match=problem):
        load_data(Book, BASE.replace(old, new), "levers.yaml")


def test_the_page_tells_of_all() -> None:
    page = Path("docs/reference/levers.md").read_text("utf-8")
    for lever in book().levers:
        assert f"### {lever.title}\n" in page
        assert all(rule.why in page for rule in lever.evidence)
