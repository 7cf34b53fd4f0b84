"""Documents: every mistake at once, each where it stands, with what is valid."""

import pytest

from controlplane.kernel.errors import InvalidDocuments
from controlplane.model.documents import load_bundle, revision_hash

BAD = """\
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: zone-failover}
spec:
  descriptio: x
  throttle: {onceWithin: 10x, groupBy: [service, zone]}
  triggers:
    - {type: slo, slo: chat-success, tiers: [fast, page], by: zone, foo: 1}
    - {type: sl}
  verify:
    - {signal: trigger, within: 3m, for: 30s}
    - {query: x, successCondition: result < 1, noDta: inconclusive}
  steps:
    - id: shift
      uses: traffic.shift
      timeout: 2 m
  steps: []
"""


def test_all_mistakes_of_a_file_are_reported_with_positions_and_suggestions() -> None:
    problems = {(p.line, p.column): p for p in load_bundle([("f.yaml", BAD)]).problems}
    assert {where: problem.message for where, problem in problems.items()} == {
        (5, 3): "unknown key `descriptio`",
        (6, 26): "'10x' is not a duration",
        (8, 69): "unknown key `foo`",
        (9, 14): "unknown type `sl`",
        (12, 48): "unknown key `noDta`",
        (16, 16): "'2 m' is not a duration",
        (17, 3): "duplicate key `steps`",
    }
    assert problems[5, 3].suggestion == "did you mean `description`?"
    assert problems[8, 69].suggestion == "valid: by, slo, tiers, type"
    assert problems[9, 14].suggestion == "did you mean `slo`?"
    assert problems[12, 48].suggestion == "did you mean `noData`?"
    assert problems[6, 26].path == "spec.throttle.onceWithin"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("apiVersion: fleetward.dev/v1\nkind: Playbok\n", "unknown kind `Playbok`"),
        ("apiVersion: v1\nkind: Playbook\n", "apiVersion must be fleetward.dev/v1"),
        ("- 1\n", "a document must be a mapping"),
        ("just text\n", "a document must be a mapping"),
    ],
)
def test_what_is_no_document_of_ours_says_what_would_be(text: str, message: str) -> None:
    assert message in load_bundle([("f.yaml", text)]).problems[0].message


SLO = """\
apiVersion: fleetward.dev/v1
kind: SLO
metadata: {{name: s}}
spec: {{service: chat, indicator: ttft, threshold: 1s, target: {target}{more}}}
"""


@pytest.mark.parametrize(("target", "ratio"), [("99.9%", 0.999), ("0.95", 0.95), ("'99 %'", 0.99)])
def test_a_target_is_a_ratio_or_a_per_cent_and_never_ambiguous(target: str, ratio: float) -> None:
    bundle = load_bundle([("f.yaml", SLO.format(target=target, more=""))]).raise_problems()
    assert bundle.loaded[0].model.spec.target == pytest.approx(ratio)


@pytest.mark.parametrize("target", ["99.9", "'99.9'", "100%", "1", "120%"])
def test_an_ambiguous_or_budgetless_target_is_refused(target: str) -> None:
    with pytest.raises(InvalidDocuments):
        load_bundle([("f.yaml", SLO.format(target=target, more=""))]).raise_problems()


def test_a_burn_factor_that_can_never_be_reached_is_refused_with_the_numbers() -> None:
    more = ", tiers: [{name: page, factor: 14.4, long: 1h, short: 5m}]"
    problems = load_bundle([("f.yaml", SLO.format(target="90%", more=more))]).problems
    assert "can never fire" in problems[0].message
    assert "10 times" in problems[0].message


def test_the_usual_tiers_are_shares_of_the_windows_budget() -> None:
    """A week has four times fewer errors to spend: its tiers stand for larger shares, none far under 1."""
    for window, factors in [
        ("30d", [14.4, 6, 3, 1]),
        ("28d", [13.44, 5.6, 2.8, 0.933333]),
        ("7d", [13.44, 3.5, 1.4, 0.98]),
        ("2d", [3.84, 1.0, 0.4]),
    ]:
        bundle = load_bundle(
            [("f.yaml", SLO.format(target="99.9%", more=f", window: {{rolling: {window}}}"))]
        )
        assert [tier.factor for tier in bundle.raise_problems().loaded[0].model.spec.burn_tiers] == factors


def test_the_same_content_has_the_same_hash_whatever_the_order_of_keys() -> None:
    one = load_bundle([("a", SLO.format(target="99%", more=", minEvents: 10"))]).loaded[0].model
    other = load_bundle([("b", SLO.format(target="0.99", more=""))]).loaded[0].model
    assert revision_hash(one) == revision_hash(other)


def test_a_name_is_defined_once_over_all_files() -> None:
    text = SLO.format(target="99%", more="")
    problems = load_bundle([("a.yaml", text), ("b.yaml", text)]).problems
    assert problems[0].message == "SLO `s` is defined twice"
    assert problems[0].suggestion == "the other one is in a.yaml:1"
