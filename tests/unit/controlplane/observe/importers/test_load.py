"""Other tools' files as documents of ours: what they say is kept, and every loss has its place."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.bootstrap.documents import check_text
from controlplane.kernel.yaml_out import dump_documents
from controlplane.model.slo import Slo
from controlplane.observe.importers.load import import_files
from controlplane.observe.importers.reading import Imported
from controlplane.observe.profile import shipped
from controlplane.observe.rules import export

DAY = 86400.0

SLOTH = """\
version: prometheus/v1
service: bakery
labels: {team: ovens}
slos:
  - name: bread
    objective: 99.5
    description: Bread comes out of the oven.
    sli:
      events:
        error_query: sum(rate(loaves_total{state="burnt"}[{{.window}}]))
        total_query: sum(rate(loaves_total[{{ .window }}]))
    alerting:
      name: BurntBread
      labels: {area: ovens}
      page_alert: {labels: {severity: wake}}
      ticket_alert: {disable: true}
  - name: cakes
    objective: 99
    sli: {raw: {error_ratio_query: "1 - avg(avg_over_time(cakes_fine[{{.window}}]))"}}
    alerting: {page_alert: {disable: true}, ticket_alert: {disable: true}}
  - name: buns
    objective: 99
    sli: {plugin: {id: some/plugin}}
"""
KUBERNETES = """\
apiVersion: sloth.slok.dev/v1
kind: PrometheusServiceLevel
metadata: {name: x, namespace: shops}
spec:
  service: bakery
  slos:
    - name: bread
      objective: 99.9
      sli: {events: {errorQuery: "sum(rate(a[{{.window}}]))", totalQuery: "sum(rate(b[{{.window}}]))"}}
      alerting: {name: Bread, pageAlert: {labels: {severity: wake}}, ticketAlert: {}}
"""
PYRRA = """\
apiVersion: pyrra.dev/v1alpha1
kind: ServiceLevelObjective
metadata: {name: kettle, namespace: kitchen, labels: {pyrra.dev/team: tea, role: x}}
spec:
  description: The kettle boils.
  target: "99.5"
  window: 2w
  indicator: INDICATOR
"""
OPENSLO = """\
- apiVersion: openslo/v1
  kind: DataSource
  metadata: {name: ours}
  spec: {type: Prometheus}
- apiVersion: openslo/v1
  kind: SLI
  metadata: {name: trains}
  spec:
    ratioMetric:
      counter: true
      good: {metricSource: {metricSourceRef: ours, spec: {query: 'sum(trains_total{late="no"})'}}}
      total: {metricSource: {type: Prometheus, spec: {query: trains_total}}}
- apiVersion: openslo/v1
  kind: SLO
  metadata: {name: punctual, displayName: On time, labels: {env: [prod, test]}}
  spec:
    service: railway
    indicatorRef: trains
    timeWindow:
      - {duration: 1M, isRolling: false, calendar: {startTime: 2024-01-01 12:00:00, timeZone: Europe/Rome}}
    budgetingMethod: Timeslices
    objectives:
      - {target: 0.995, timeSliceTarget: 0.9, timeSliceWindow: 2m, displayName: strict}
      - {targetPercent: 90, timeSliceTarget: 0.9, timeSliceWindow: 2m, compositeWeight: 2}
    alertPolicies: [some]
- apiVersion: openslo/v1
  kind: Service
  metadata: {name: the railway}
"""
RULES = """\
groups:
  - name: g
    rules:
      - {alert: Flood, expr: "water > 3", for: 5m, annotations: {summary: Water comes in}}
      - {alert: Flood, expr: "water > 5"}
      - {record: "a:b:c", expr: "sum(a)"}
"""


def read(text: str, window: float = 30 * DAY) -> Imported:
    """Import one text; whatever comes out must be valid here."""
    found = import_files([("f.yaml", text)], window)
    assert check_text("f.yaml", dump_documents(found.made)).problems == []
    return found


def only(found: Imported) -> dict[str, Any]:
    assert found.refused == []
    assert len(found.made) == 1
    return dict(found.made[0])


def told(found: Imported) -> list[str]:
    return [f"{each.line} {each.message}" for each in found.lost]


def test_sloths_events_budget_and_alerts_stay_what_they_are() -> None:
    found = read(SLOTH, 28 * DAY)
    bread, cakes = found.made
    assert bread["metadata"] == {
        "name": "bakery-bread",
        "labels": {"team": "ovens"},
        "annotations": {"description": "Bread comes out of the oven."},
    }
    spec = bread["spec"]
    assert spec["indicator"]["bad"] == 'sum(rate(loaves_total{state="burnt"}[{{ window }}]))'
    assert (spec["target"], spec["window"], spec["minEvents"]) == ("99.5%", {"rolling": "4w"}, 0)
    assert spec["budgeting"] == {"method": "ratioTimeslices", "slice": "5m"}
    assert [tier["name"] for tier in spec["tiers"]] == ["page", "page-slow"]
    assert spec["alerts"]["page"]["labels"] == {"severity": "wake"}
    assert (cakes["spec"]["tiers"], list(cakes["spec"]["indicator"])) == ([], ["errorRatio"])
    assert [(each.line, each.path) for each in found.refused] == [(23, "slos[2].sli")]
    assert "import the rules" in str(found.refused[0].suggestion)


def test_sloths_kubernetes_kind_is_the_same() -> None:
    found = read(KUBERNETES)
    spec = only(found)["spec"]
    assert spec["alerts"]["page"] == {"labels": {"severity": "wake"}, "annotations": {}}
    assert spec["indicator"]["total"] == "sum(rate(b[{{ window }}]))"
    assert told(found) == ["3 `namespace` has no counterpart"]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("sum(rate(a[5m]))", "no `{{.window}}`"),
        ("sum(rate(a[{{.window}}])) > {{.bound}}", "other templates"),
    ],
)
def test_a_query_of_sloth_that_cannot_be_moved_is_refused_alone(query: str, why: str) -> None:
    found = read(SLOTH.replace('sum(rate(loaves_total{state="burnt"}[{{.window}}]))', f'"{query}"'))
    assert [made["metadata"]["name"] for made in found.made] == ["bakery-cakes"]
    assert why in found.refused[0].message


@pytest.mark.parametrize(
    ("indicator", "mapped"),
    [
        (
            '{ratio: {errors: {metric: "e{a=\\"b\\"}"}, total: {metric: t}, grouping: [pot]}}',
            {
                "bad": 'sum by (pot) (rate(e{a="b"}[{{ window }}]))',
                "total": "sum by (pot) (rate(t[{{ window }}]))",
            },
        ),
        (
            '{latency: {success: {metric: "d_bucket{le=\\"1\\"}"}, total: {metric: d_count}}}',
            {
                "good": 'sum(rate(d_bucket{le="1"}[{{ window }}]))',
                "total": "sum(rate(d_count[{{ window }}]))",
            },
        ),
        (
            "{bool_gauge: {metric: up}}",
            {
                "good": "sum(sum_over_time(up[{{ window }}]))",
                "total": "sum(count_over_time(up[{{ window }}]))",
            },
        ),
        (
            "{latencyNative: {latency: 200ms, total: {metric: d}}}",
            {
                "good": "histogram_fraction(0, 0.2, sum(rate(d[{{ window }}]))) * "
                "histogram_count(sum(rate(d[{{ window }}])))",
                "total": "histogram_count(sum(rate(d[{{ window }}])))",
            },
        ),
    ],
)
def test_pyrras_indicators_become_queries(indicator: str, mapped: dict[str, str]) -> None:
    spec = only(read(PYRRA.replace("INDICATOR", indicator)))["spec"]
    assert spec["indicator"] == mapped


def test_pyrras_windows_scale_with_the_objectives() -> None:
    found = read(PYRRA.replace("INDICATOR", "{bool_gauge: {metric: up}}"))
    made = only(found)
    assert [(tier["factor"], tier["long"], tier["short"]) for tier in made["spec"]["tiers"]] == [
        (14.0, "30m", "3m"),
        (7.0, "3h", "15m"),
        (2.0, "12h", "1h"),
        (1.0, "2d", "3h"),
    ]
    assert made["metadata"]["labels"] == {"team": "tea", "role": "x"}
    assert made["spec"]["noData"] == {"alertAfter": "3m"}
    assert any("namespace" in each for each in told(found))
    short = read(PYRRA.replace("INDICATOR", "{bool_gauge: {metric: up}}").replace("2w", "2h"))
    assert "page" not in [tier["name"] for tier in only(short)["spec"]["tiers"]]
    assert any("less than a minute" in each for each in told(short))


def test_openslos_objectives_are_one_slo_each_and_their_parts_are_found() -> None:
    found = read(OPENSLO)
    assert [made["metadata"]["name"] for made in found.made] == ["punctual-1", "punctual-2"]
    spec = found.made[0]["spec"]
    assert spec["indicator"] == {
        "good": 'sum(rate(trains_total{late="no"}[{{ window }}]))',
        "total": "sum(rate(trains_total[{{ window }}]))",
    }
    assert spec["window"] == {"calendar": {"unit": "month", "timeZone": "Europe/Rome"}}
    assert spec["budgeting"] == {"method": "timeslices", "slice": "2m", "sliceTarget": 0.9}
    assert (spec["target"], found.made[1]["spec"]["target"]) == ("99.5%", "90%")
    assert found.made[0]["metadata"]["labels"] == {"env": "prod,test"}
    said = " / ".join(told(found))
    for part in ("begins at midnight", "compositeWeight", "alert policies", "write a Service of ours"):
        assert part in said


@pytest.mark.parametrize(
    ("metric", "objective", "wanted"),
    [
        (
            "thresholdMetric: {metricSource: {type: Prometheus, spec: {query: depth}}}",
            "{op: lte, value: 3, target: 0.9}",
            "1 - avg_over_time(((depth) <= bool 3)[{{ window }}:1m])",
        ),
        (
            "ratioMetric: {rawType: success, raw: {metricSource: {type: Prometheus, spec: {query: well}}}}",
            "{target: 0.9}",
            "1 - avg_over_time((well)[{{ window }}:1m])",
        ),
    ],
)
def test_openslos_thresholds_and_raw_ratios_weigh_each_moment_the_same(
    metric: str, objective: str, wanted: str
) -> None:
    text = (
        "apiVersion: openslo/v1\nkind: SLO\nmetadata: {name: pool}\nspec:\n  service: pool\n"
        f"  indicator: {{spec: {{{metric}}}}}\n  timeWindow: [{{duration: 4w, isRolling: true}}]\n"
        f"  budgetingMethod: Occurrences\n  objectives: [{objective}]\n"
    )
    assert only(read(text))["spec"]["indicator"] == {"errorRatio": wanted}
    other = read(text.replace("type: Prometheus", "type: Datadog"))
    assert (other.made, "Datadog" in other.refused[0].message) == ([], True)


def test_a_minute_of_the_calendar_is_meant_as_a_month() -> None:
    found = read(OPENSLO.replace("duration: 1M", "duration: 1m"))
    assert found.made[0]["spec"]["window"]["calendar"]["unit"] == "month"
    assert any("taken as a month" in each for each in told(found))


def test_rules_made_from_objectives_become_the_objectives_again() -> None:
    made = read(SLOTH).made[0]
    groups = export([Slo.model_validate(made)], {}, shipped()).groups
    again = only(read(dump_documents([{"groups": groups}])))
    assert export([Slo.model_validate(again)], {}, shipped()).groups[1] == groups[1]
    assert again["spec"]["alerts"]["name"] == "BurntBread"
    assert again["spec"]["target"] == "99.5%"


def test_an_alert_of_another_kind_becomes_a_playbook_that_watches() -> None:
    found = read(RULES)
    spec = only(found)["spec"]
    assert (spec["mode"], spec["triggers"]) == (
        "observe",
        [{"type": "alert", "match": ['alertname="Flood"']}],
    )
    said = " / ".join(told(found))
    for part in ("one trigger answers both", "`a:b:c` is a recording rule", "mode observe"):
        assert part in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("apiVersion: openslo/v1alpha\nkind: SLO\n", "no format that is known here: `openslo/v1alpha`"),
        ("just text\n", "no format that is known here"),
        ("a: [\n", "not valid YAML"),
        (SLOTH.replace("service: bakery\n", ""), "`service` is missing"),
        (SLOTH.replace("slos:", "slos: 3\nx:"), "no list"),
        (PYRRA.replace('"99.5"', '"100"'), "no objective"),
        (PYRRA.replace("2w", "2 weeks"), "not a duration"),
    ],
)
def test_what_cannot_be_read_says_why_and_where(text: str, said: str) -> None:
    found = import_files([("f.yaml", text)], 30 * DAY)
    assert any(said in each.message for each in found.refused), found.refused


def test_two_objectives_of_one_name_are_told() -> None:
    found = import_files([("a.yaml", KUBERNETES), ("b.yaml", KUBERNETES)], 30 * DAY)
    assert len(found.made) == 1
    assert "is in a.yaml already" in found.refused[0].message
