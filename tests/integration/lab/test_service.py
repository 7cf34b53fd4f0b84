"""The lab as its clients see it: OpenAI's API through Envoy, traffic that is right and on time."""

import time

import openai
import pytest

from tests.integration.lab.conftest import Users, wait_until

pytestmark = pytest.mark.slow


def test_an_openai_client_gets_a_streamed_answer_through_the_gateway(
    users: Users, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    client = openai.OpenAI(base_url=users.url("gateway") + "/v1", api_key="none")
    stream = client.chat.completions.create(
        model="meta-llama/Llama-3.1-8B-Instruct",
        messages=[{"role": "user", "content": "What is 17+25?"}],
        max_tokens=8,
        stream=True,
    )
    parts = [chunk.choices[0].delta.content for chunk in stream if chunk.choices]
    client.close()

    assert "".join(part for part in parts if part).startswith("42")
    assert len([part for part in parts if part]) == 8


def test_every_answer_names_the_zone_and_the_replica_it_came_from(users: Users) -> None:
    response = users.http.post(
        users.url("gateway") + "/v1/completions",
        json={"model": "meta-llama/Llama-3.1-8B-Instruct", "prompt": "a", "max_tokens": 1},
    )
    replica = response.headers["x-fleetward-replica"]

    assert response.headers["x-fleetward-zone"] == f"zone-{replica[8]}"
    assert response.headers["x-fleetward-replica-uid"] == users.replicas()[replica]["uid"]


def test_traffic_is_right_effective_on_time_and_spread_over_all_replicas(users: Users) -> None:
    began = time.time()
    time.sleep(12)
    ended = [request for request in users.truth(began) if request["outcome"] != "open"]
    late = sorted(request["sentAt"] - request["plannedAt"] for request in ended)

    assert len(ended) > 60
    assert {request["outcome"] for request in ended} == {"ok"}
    assert all(request["correct"] and request["tokens"] == request["plannedTokens"] for request in ended)
    assert sum(request["effective"] for request in ended) / len(ended) >= 0.95
    assert late[int(len(late) * 0.99)] < 0.1
    assert len({request["replica"] for request in ended}) == 12


def test_the_plan_counts_what_was_sent(users: Users) -> None:
    since = time.time() - 6
    until = since + 5
    planned = users.get("traffic", f"/plan?from={since}&to={until}")
    sent = [request for request in users.truth() if since <= request["plannedAt"] < until]

    assert planned == {"requests": len(sent), "tokens": sum(request["plannedTokens"] for request in sent)}


def test_a_reader_that_remembers_the_revision_gets_changes_only(users: Users) -> None:
    first = users.get("traffic", "/truth")
    time.sleep(1)
    second = users.get("traffic", f"/truth?since={first['rev']}")

    assert 0 < len(second["requests"]) < 60
    assert all(request["rev"] > first["rev"] for request in second["requests"])


def test_prometheus_has_every_target_and_the_zone_on_the_gateways_series(users: Users) -> None:
    up = users.query("count by (job) (up == 1)")

    assert {labels["job"]: value for labels, value in up} == {
        "vllm": 12,
        "dcgm": 6,
        "envoy": 1,
        "kube-state-metrics": 1,
        "traffic": 1,
    }
    answered = wait_until(
        lambda: users.query('rate(envoy_cluster_upstream_rq_xx{service="chat"}[10s]) > 0'), 15
    )
    assert {labels["zone"] for labels, _ in answered} == {"zone-a", "zone-b", "zone-c"}


def test_ready_replicas_per_zone_join_from_kube_state_metrics(users: Users) -> None:
    ready = users.query(
        "sum by (label_topology_kubernetes_io_zone) ("
        'max by (node, namespace, pod) (kube_pod_status_ready{condition="true", namespace="llm"}'
        " * on (namespace, pod) group_left (node) max by (namespace, pod, node) (kube_pod_info))"
        " * on (node) group_left (label_topology_kubernetes_io_zone)"
        " max by (node, label_topology_kubernetes_io_zone) (kube_node_labels))"
    )

    assert {labels["label_topology_kubernetes_io_zone"]: value for labels, value in ready} == {
        "zone-a": 4,
        "zone-b": 4,
        "zone-c": 4,
    }
