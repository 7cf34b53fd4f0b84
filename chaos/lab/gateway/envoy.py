"""Envoy's configuration, and what Envoy says it has in force.

Clusters (one per zone) stand in the bootstrap file. Weights change, and so does which replicas may
get requests, so the routes and each zone's endpoints are files of their own that Envoy watches:
they are replaced by one rename, and Envoy takes them without a restart or a lost request. An
endpoint out of rotation stays listed as DRAINING: no new request, and those under way run on.

Kept like what Envoy Gateway emits for ``backendRefs`` that are weighted and have filters of their
own: a weighted cluster each, LEAST_REQUEST, two retries on another host before the first byte,
outlier detection on five 5xx in a row. Unlike it: retries also after a reset, no panic threshold,
health checks each second, limits raised until they do not bite. The zone is written into the
weighted cluster's entry, so that Envoy's own answers ("no healthy upstream") name it too.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import aiohttp

from chaos.lab.layout import Layout
from chaos.lab.traffic.tiers import TIER_HEADER
from controlplane.kernel.errors import Unavailable
from controlplane.model.topology import Admission, Weights

ZONE_HEADER = "x-fleetward-zone"
RETRY_AFTER = "5"
"""Seconds that a refused client is told to wait."""

_LIMITER = "envoy.filters.http.local_ratelimit"
_TYPE = "type.googleapis.com/envoy"
_UNLIMITED = 100_000  # connections and requests: more than a laptop has file descriptors
_STREAM_IDLE = "300s"  # a stream without a byte for this long is dead; Envoy's own default

_STATS = (
    r"cluster\..*\.upstream_rq_([1-5]xx|[1-5]\d\d|completed|total|active|time|timeout|rx_reset|pending_active)",
    r"cluster\..*\.upstream_rq_(retry|retry_success|retry_limit_exceeded|pending_failure_eject)",
    r"cluster\..*\.upstream_cx_(active|total|connect_fail|connect_timeout)",
    r"cluster\..*\.membership_(healthy|total|degraded|excluded)",
    r"cluster\..*\.outlier_detection\.(ejections_active|ejections_enforced_total)",
    r"cluster\..*\.health_check\.(attempt|success|failure|healthy)",
    r"http\.openai\.downstream_(rq_([1-5]xx|completed|total|active|time)|cx_active)",
    r"http\.openai\.rds\..*\.(update_success|update_rejected)",
    r"server\.(live|uptime)",
)


def cluster_name(service: str, zone: str) -> str:
    """The name of a zone's cluster: what ``envoy_cluster_name`` says in the metrics."""
    return f"{service}-{zone}"


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────────


def bootstrap_path(layout: Layout) -> Path:
    """The file Envoy is started with."""
    return layout.state_dir / "gateway" / "envoy.json"


def routes_path(layout: Layout) -> Path:
    """The routes' file; alone in its folder, since Envoy reads it again on any rename in there."""
    return layout.state_dir / "gateway" / "xds" / "routes.json"


def endpoints_path(layout: Layout, zone: str) -> Path:
    """The file with a zone's endpoints; alone in its folder, as the routes are."""
    return layout.state_dir / "gateway" / "eds" / zone / "endpoints.json"


def write_bootstrap(layout: Layout) -> None:
    """Write the file Envoy is started with; Envoy reads it once."""
    path = bootstrap_path(layout)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(json.dumps(bootstrap(layout), indent=1))


def write_routes(layout: Layout, weights: Weights, admission: Admission) -> None:
    """Put routes in force: Envoy notices the rename."""
    _replace(routes_path(layout), routes(layout, weights, admission))


def routes_version(weights: Weights, admission: Admission) -> str:
    """The version of the routes that follow from both."""
    return f"{weights.version}-{admission.version}"


def write_endpoints(
    layout: Layout, zone: str, out: Collection[str], version: str, listed: Collection[str]
) -> None:
    """Put a zone's endpoints in force: those ``listed``, those in ``out`` without new requests."""
    _replace(endpoints_path(layout, zone), endpoints(layout, zone, out, version, listed))


def _replace(path: Path, document: dict[str, Any]) -> None:
    """Replace a file by one rename. The draft lies outside the folder that Envoy watches."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.parent.parent / f"{path.parent.name}.new"
    draft.write_text(json.dumps(document, indent=1))
    draft.replace(path)


# ── documents ───────────────────────────────────────────────────────────────────────────────────────────────


def routes(layout: Layout, weights: Weights, admission: Admission) -> dict[str, Any]:
    """The RDS response: refusals of tiers, then one route with its clusters weighted, maybe limited."""
    service = layout.settings.service
    clusters = [
        {
            "name": cluster_name(service, zone),
            "weight": weights.weights[zone],
            "response_headers_to_add": [
                {"header": {"key": ZONE_HEADER, "value": zone}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}
            ],
            **_limited(zone, admission),
        }
        for zone in layout.zones
    ]
    action = {
        "weighted_clusters": {"clusters": clusters},
        "timeout": "0s",
        "idle_timeout": _STREAM_IDLE,
        "retry_policy": {
            "retry_on": "connect-failure,refused-stream,reset,retriable-status-codes",
            "retriable_status_codes": [503],
            "num_retries": 2,
            "retry_host_predicate": [
                {
                    "name": "envoy.retry_host_predicates.previous_hosts",
                    "typed_config": {
                        "@type": f"{_TYPE}.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"
                    },
                }
            ],
            "host_selection_retry_max_attempts": 5,
        },
    }
    table = {
        "@type": f"{_TYPE}.config.route.v3.RouteConfiguration",
        "name": service,
        "virtual_hosts": [
            {
                "name": service,
                "domains": ["*"],
                "routes": [
                    *(_refusal(tier) for tier in admission.shed),
                    {"match": {"prefix": "/"}, "route": action},
                ],
            }
        ],
    }
    return {"version_info": routes_version(weights, admission), "resources": [table]}


def _refusal(tier: str) -> dict[str, Any]:
    """A route that answers a tier's requests with 429, in OpenAI's form."""
    error = {"message": "This tier is being shed.", "type": "RateLimitError", "param": None, "code": 429}
    header = {"name": TIER_HEADER, "string_match": {"exact": tier}}
    return {
        "match": {"prefix": "/v1/", "headers": [header]},
        "direct_response": {"status": 429, "body": {"inline_string": json.dumps({"error": error})}},
        "response_headers_to_add": [
            _header("retry-after", RETRY_AFTER),
            _header("content-type", "application/json"),
        ],
    }


def _header(key: str, value: str) -> dict[str, Any]:
    return {"header": {"key": key, "value": value}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}


def _limited(zone: str, admission: Admission) -> dict[str, Any]:
    """A token bucket on a zone's entry: as many tokens as requests/s, filled each second."""
    limit = admission.limits.get(zone)
    if limit is None:
        return {}
    always = {"default_value": {"numerator": 100, "denominator": "HUNDRED"}}
    bucket = {
        "@type": f"{_TYPE}.extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
        "stat_prefix": "limit",
        "token_bucket": {"max_tokens": limit, "tokens_per_fill": limit, "fill_interval": "1s"},
        "filter_enabled": always,
        "filter_enforced": always,
        "response_headers_to_add": [_header("retry-after", RETRY_AFTER)],
    }
    return {"typed_per_filter_config": {_LIMITER: bucket}}


def endpoints(
    layout: Layout, zone: str, out: Collection[str], version: str, listed: Collection[str]
) -> dict[str, Any]:
    """The EDS response of one zone: the replicas that are ``listed``, those in ``out`` as draining."""
    name = cluster_name(layout.settings.service, zone)
    hosts = [
        {
            "endpoint": {"address": _address(replica.port)},
            "health_status": "DRAINING" if replica.name in out else "UNKNOWN",
        }
        for node in layout.nodes_of(zone)
        for replica in node.slots
        if replica.name in listed
    ]
    assignment = {
        "@type": f"{_TYPE}.config.endpoint.v3.ClusterLoadAssignment",
        "cluster_name": name,
        "endpoints": [{"lb_endpoints": hosts}],
    }
    return {"version_info": version, "resources": [assignment]}


def bootstrap(layout: Layout) -> dict[str, Any]:
    """Envoy's start-up document: admin, one listener, one cluster per zone, few statistics."""
    service = layout.settings.service
    return {
        "node": {"id": f"{service}-gateway", "cluster": layout.settings.cluster},
        "admin": {"address": _address(layout.admin_port)},
        "stats_flush_interval": "2s",  # histograms move when flushed: as often as they are scraped
        "stats_config": {
            "stats_matcher": {
                "inclusion_list": {"patterns": [{"safe_regex": {"regex": pattern}} for pattern in _STATS]}
            }
        },
        "static_resources": {
            "listeners": [_listener(layout)],
            "clusters": [_cluster(layout, zone) for zone in layout.zones],
        },
    }


def _address(port: int) -> dict[str, Any]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def _watched(path: Path) -> dict[str, Any]:
    return {
        "resource_api_version": "V3",
        "path_config_source": {"path": str(path), "watched_directory": {"path": str(path.parent)}},
    }


def _listener(layout: Layout) -> dict[str, Any]:
    path = routes_path(layout)
    manager = {
        "@type": f"{_TYPE}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "openai",
        "stream_idle_timeout": _STREAM_IDLE,
        "rds": {
            "route_config_name": layout.settings.service,
            "config_source": _watched(path),
        },
        "http_filters": [
            {
                "name": _LIMITER,
                "typed_config": {
                    "@type": f"{_TYPE}.extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
                    "stat_prefix": "limit",
                },
            },
            {
                "name": "envoy.filters.http.router",
                "typed_config": {"@type": f"{_TYPE}.extensions.filters.http.router.v3.Router"},
            },
        ],
    }
    return {
        "name": "openai",
        "address": _address(layout.gateway_port),
        # A second process on this port must fail loudly, not share its connections.
        "enable_reuse_port": False,
        "filter_chains": [
            {
                "filters": [
                    {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager},
                ]
            }
        ],
    }


def _cluster(layout: Layout, zone: str) -> dict[str, Any]:
    name = cluster_name(layout.settings.service, zone)
    limits = ("max_connections", "max_pending_requests", "max_requests", "max_retries")
    return {
        "name": name,
        "type": "EDS",
        "eds_cluster_config": {"eds_config": _watched(endpoints_path(layout, zone))},
        "connect_timeout": "1s",
        "lb_policy": "LEAST_REQUEST",
        "common_lb_config": {"healthy_panic_threshold": {"value": 0}},
        "circuit_breakers": {"thresholds": [dict.fromkeys(limits, _UNLIMITED)]},
        "health_checks": [
            {
                "timeout": "1s",
                "interval": "1s",
                "no_traffic_interval": "1s",
                "unhealthy_threshold": 2,
                "healthy_threshold": 1,
                "http_health_check": {"path": "/health"},
            }
        ],
        "outlier_detection": {
            "consecutive_5xx": 5,
            "interval": "3s",
            "base_ejection_time": "30s",
            "max_ejection_percent": 50,
        },
    }


# ── what is in force ────────────────────────────────────────────────────────────────────────────────────────


class EnvoyAdmin:
    """Reads Envoy's admin endpoint. It changes nothing there."""

    def __init__(self, session: aiohttp.ClientSession, layout: Layout) -> None:
        self._session = session
        self._service = layout.settings.service
        self._url = layout.url(layout.admin_port)
        self._replicas = {replica.port: replica.name for node in layout.nodes for replica in node.slots}

    async def routes_version(self, timeout: float = 1.0) -> str:
        """The version of the routes Envoy has in force. Raises Unavailable if it does not say."""
        document = await self._ask("/config_dump?resource=dynamic_route_configs", timeout)
        try:
            return str(document["configs"][0]["version_info"])
        except (LookupError, TypeError) as error:
            raise Unavailable(f"Envoy does not say which routes it has: {error!r}") from error

    async def weights(self, timeout: float = 1.0) -> Weights:
        """The weights Envoy has in force, with their version. Raises Unavailable if it does not say."""
        document = await self._ask("/config_dump?resource=dynamic_route_configs", timeout)
        try:
            config = document["configs"][0]
            route = config["route_config"]["virtual_hosts"][0]["routes"][-1]["route"]
            shares = {
                entry["name"].removeprefix(f"{self._service}-"): int(entry["weight"])
                for entry in route["weighted_clusters"]["clusters"]
            }
            return Weights(version=config["version_info"].partition("-")[0], weights=shares)
        except (LookupError, TypeError) as error:
            raise Unavailable(f"Envoy does not say which routes it has: {error!r}") from error

    async def out_of_rotation(self, timeout: float = 1.0) -> set[str]:
        """The replicas that Envoy sends no new request on our word. Raises Unavailable if it does not say."""
        document = await self._ask("/clusters?format=json", timeout)
        try:
            hosts = [
                host for cluster in document["cluster_statuses"] for host in cluster.get("host_statuses", ())
            ]
            return {
                self._replicas[host["address"]["socket_address"]["port_value"]]
                for host in hosts
                if host["health_status"].get("eds_health_status", "HEALTHY") != "HEALTHY"
            }
        except (LookupError, TypeError) as error:
            raise Unavailable(f"Envoy does not say which endpoints it has: {error!r}") from error

    async def _ask(self, path: str, timeout: float) -> Any:
        try:
            limit = aiohttp.ClientTimeout(timeout)
            async with self._session.get(self._url + path, timeout=limit) as response:
                response.raise_for_status()
                return await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise Unavailable(f"Envoy does not say what it has in force: {error!r}") from error
