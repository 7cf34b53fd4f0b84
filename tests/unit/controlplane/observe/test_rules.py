"""Exported rules: the right windows and factors under Sloth's names, and a word on what rules cannot say."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.model.slo import Slo
from controlplane.observe.profile import shipped
from controlplane.observe.rules import Exported, Rule, export
from tests.unit.controlplane.observe.replay import service

QUERY = {"bad": 'sum(rate(e{c="5"}[{{ window }}]))', "total": "sum(rate(e[{{ window }}]))"}


def slo(name: str = "shop-orders", labels: dict[str, str] | None = None, **spec: Any) -> Slo:
    values = {"service": "shop", "indicator": QUERY, "target": "99.9%", "by": ["service"], **spec}
    metadata = {"name": name, "labels": labels or {}}
    return Slo.model_validate({"kind": "SLO", "metadata": metadata, "spec": values})


def exported(*slos: Slo, engine: str = "vllm") -> Exported:
    return export(slos, {"chat": service(engine)}, shipped())


def rules(one: Slo, engine: str = "vllm") -> list[Rule]:
    found = exported(one, engine=engine)
    assert found.refused == []
    return [rule for group in found.groups for rule in group["rules"]]


def expr(found: list[Rule], name: str, **labels: str) -> str:
    return next(
        str(rule["expr"])
        for rule in found
        if name in {rule.get("record"), rule.get("alert")} and labels.items() <= rule["labels"].items()
    )


@pytest.mark.parametrize(
    ("window", "name", "factors"),
    [
        ("30d", "30d", ["14.4", "6", "3", "1"]),
        ("28d", "4w", ["13.44", "5.6", "2.8", "0.933333"]),
        ("7d", "1w", ["13.44", "3.5", "1.4", "0.98"]),
    ],
)
def test_each_window_has_its_factors(window: str, name: str, factors: list[str]) -> None:
    found = rules(slo(window={"rolling": window}, minEvents=0))
    page, ticket = (expr(found, "ErrorBudgetBurn", sloth_severity=each) for each in ("page", "ticket"))
    for text, (quick, slow) in ((page, factors[:2]), (ticket, factors[2:])):
        assert text.index(f"({quick} * 0.001)") < text.index(f"({slow} * 0.001)")
    assert "ratio_rate5m{" in page
    assert "ratio_rate1h{" in page
    assert expr(found, f"slo:sli_error:ratio_rate{name}").startswith("sum_over_time(slo:sli_errors:count5m{")


def test_names_and_labels_are_sloths() -> None:
    found = rules(slo(labels={"owner": "us", "app.kubernetes.io/name": "x"}))
    rule = next(each for each in found if each.get("record") == "slo:sli_error:ratio_rate1h")
    assert rule["labels"] == {
        "owner": "us",
        "app_kubernetes_io_name": "x",
        "sloth_id": "shop-orders",
        "sloth_service": "shop",
        "sloth_slo": "orders",
        "sloth_window": "1h",
    }
    recorded = {each.get("record") for each in found}
    assert {"slo:objective:ratio", "slo:period_error_budget_remaining:ratio", "sloth_slo_info"} <= recorded
    assert expr(found, "slo:error_budget:ratio") == "vector(1-0.999)"


def test_alerts_carry_what_is_written_and_say_how_bad_it_is() -> None:
    alerts = {"name": "Slow", "labels": {"team": "us"}, "page": {"labels": {"severity": "loud"}}}
    found = [each for each in rules(slo(alerts=alerts)) if each.get("alert") == "Slow"]
    assert [each["labels"] for each in found] == [
        {"team": "us", "severity": "loud", "sloth_severity": "page"},
        {"team": "us", "severity": "ticket", "sloth_severity": "ticket"},
    ]


def test_few_events_are_no_alert_unless_that_is_wanted() -> None:
    page = expr(rules(slo(minEvents=20)), "ErrorBudgetBurn", sloth_severity="page")
    assert 'slo:sli_events:count1h{sloth_id="shop-orders"' in page
    assert ">= 20" in page
    assert "least_rate5m" in page
    plain = rules(slo(minEvents=0))
    assert "slo:sli_events" not in expr(plain, "ErrorBudgetBurn", sloth_severity="page")
    assert not any("least_rate" in str(each.get("record")) for each in plain)


def test_a_tier_that_the_target_makes_unreachable_is_left_out() -> None:
    page = expr(rules(slo(target="90%")), "ErrorBudgetBurn", sloth_severity="page")
    assert "(14.4" not in page
    assert "(6 * 0.1)" in page


def test_the_budget_counts_what_the_slo_says() -> None:
    mean = rules(slo(budgeting={"method": "ratioTimeslices"}))
    assert expr(mean, "slo:sli_error:ratio_rate30d").startswith("sum_over_time(slo:sli_error:ratio_rate5m{")
    slices = rules(slo(budgeting={"method": "timeslices", "slice": "1m", "sliceTarget": "95%"}))
    assert expr(slices, "slo:sli_slice:bad").endswith("> bool 0.05\n")
    assert "[1m]" in expr(slices, "slo:sli_slice:bad")
    assert expr(slices, "slo:sli_error:ratio_rate1h").startswith("avg_over_time(slo:sli_slice:bad{")


def test_silence_and_a_fast_tier_are_alerts_of_their_own() -> None:
    found = rules(slo(noData={"alertAfter": "10m"}, fast={"window": "2m", "below": "50%", "minSamples": 9}))
    assert expr(found, "ErrorBudgetBurnNoData").startswith("absent_over_time(slo:sli_error:ratio_rate5m{")
    fast = next(str(each["expr"]) for each in found if each.get("alert") and "> 0.5" in str(each["expr"]))
    assert fast.endswith("* 120 >= 9\n")


def test_latencies_are_counted_by_the_engines_buckets_at_each_level() -> None:
    objective = slo("chat-ttft", service="chat", indicator="ttft", threshold="1s", by=["service", "zone"])
    found = [each["expr"] for each in rules(objective) if each.get("record") == "slo:sli_error:ratio_rate5m"]
    assert len(found) == 2
    assert r'vllm:time_to_first_token_seconds_bucket{service="chat", le=~"1(\\.0)?"}[5m]' in found[0]
    assert "sum by (zone) (rate(vllm:time_to_first_token_seconds_count" in found[1]


def test_clients_success_is_what_the_gateway_answered_less_what_broke_in_mid_stream() -> None:
    found = rules(slo("chat-success", service="chat", indicator="success", by=["zone", "replica"]))
    zone, replica = (str(e["expr"]) for e in found if e.get("record") == "slo:sli_error:ratio_rate5m")
    assert "envoy_cluster_upstream_rq_xx" in zone
    assert 'finished_reason=~"abort|error"' in zone
    assert "envoy" not in replica
    assert "sum by (zone, node, replica)" in replica


def test_what_rules_cannot_say_is_said() -> None:
    found = exported(
        slo("chat-canary", service="chat", indicator="canary"),
        slo("tgi-ttft", service="nobody", indicator="ttft", threshold="1s"),
        slo("chat-calendar", window={"calendar": {"unit": "month"}}, fast=None),
        slo("shop-orders", fast=None),
        slo("orders", fast=None),
    )
    assert [text.split(":", 1)[0] for text in found.refused] == [
        "SLO chat-canary",
        "SLO tgi-ttft",
        "SLO orders",
    ]
    assert "give the file with the Service too" in found.refused[1]
    assert any("the month is exported as the last 30d" in note for note in found.notes)
    ttft = slo("chat-ttft", service="chat", indicator="ttft", threshold="1s", fast={"below": "50%"})
    assert "TGI has no histogram" in exported(ttft, engine="tgi").refused[0]
    assert any("6 s" in note for note in exported(ttft).notes)
