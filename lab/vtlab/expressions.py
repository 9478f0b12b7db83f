"""Derived server-side metrics, each defined once, as PromQL with ``$variant`` and ``$window``.

Rates and shares are over the window; ratios are ratios of sums. Values are in cores, seconds, bytes, threads.
"""

from __future__ import annotations

_WORK = 'uri!~"/actuator.*|UNKNOWN|/\\\\*\\\\*"'

EXPRESSIONS: dict[str, str] = {
    # CPU
    "cpu_cores": 'sum(rate(process_cpu_time_ns_total{variant="$variant"}[$window])) / 1e9',
    "cpu_limit": 'max(cgroup_cpu_limit_cores{variant="$variant"})',
    "throttled_periods": 'sum(rate(cgroup_cpu_throttled_periods_total{variant="$variant"}[$window]))'
    ' / sum(rate(cgroup_cpu_periods_total{variant="$variant"}[$window]))',
    "throttled_seconds": 'sum(rate(cgroup_cpu_throttled_time_seconds_total{variant="$variant"}[$window]))',
    "processors": 'max(system_cpu_count{variant="$variant"})',
    # Requests, as the server sees them
    "server_throughput": f'sum(rate(http_server_requests_seconds_count{{variant="$variant",{_WORK}}}[$window]))',
    "service_time": f'sum(rate(http_server_requests_seconds_sum{{variant="$variant",{_WORK}}}[$window]))'
    f' / sum(rate(http_server_requests_seconds_count{{variant="$variant",{_WORK}}}[$window]))',
    "in_flight": 'sum(avg_over_time(http_server_requests_active_seconds_count{variant="$variant"}[$window]))',
    # Tomcat
    "tomcat_threads_busy": 'sum(avg_over_time(tomcat_threads_busy_threads{variant="$variant"}[$window]))',
    "tomcat_threads_max": 'sum(tomcat_threads_config_max_threads{variant="$variant"})',
    "connections": 'sum(avg_over_time(tomcat_connections_current_connections{variant="$variant"}[$window]))',
    "connections_max": 'sum(tomcat_connections_config_max_connections{variant="$variant"})',
    # JVM
    "threads": 'sum(avg_over_time(jvm_threads_live_threads{variant="$variant"}[$window]))',
    "carriers": 'sum(jvm_threads_virtual_parallelism{variant="$variant"})',
    "virtual_mounted": "sum(avg_over_time("
    'jvm_threads_virtual_live_threads{variant="$variant",scheduling_status="mounted"}[$window]))',
    "virtual_queued": "sum(avg_over_time("
    'jvm_threads_virtual_live_threads{variant="$variant",scheduling_status="queued"}[$window]))',
    "pinned_seconds": 'sum(rate(jvm_threads_virtual_pinned_seconds_sum{variant="$variant"}[$window]))',
    "heap_used": 'sum(max_over_time(jvm_memory_used_bytes{variant="$variant",area="heap"}[$window]))',
    "resident": 'max(max_over_time(process_resident_memory_bytes{variant="$variant"}[$window]))',
    "gc_share": 'sum(rate(jvm_gc_pause_seconds_sum{variant="$variant"}[$window]))',
}

#: Raw series kept for the charts of the report: name in the report -> PromQL sampled every second.
CHARTED: dict[str, str] = {
    "cpu_cores": 'sum(rate(process_cpu_time_ns_total{variant="$variant"}[3s])) / 1e9',
    "throttled_periods": 'sum(rate(cgroup_cpu_throttled_periods_total{variant="$variant"}[3s]))'
    ' / sum(rate(cgroup_cpu_periods_total{variant="$variant"}[3s]))',
    "threads": 'sum(jvm_threads_live_threads{variant="$variant"})',
    "in_flight": 'sum(http_server_requests_active_seconds_count{variant="$variant"})',
    "heap_used": 'sum(jvm_memory_used_bytes{variant="$variant",area="heap"})',
    "resident": 'max(process_resident_memory_bytes{variant="$variant"})',
}


def expression(template: str, variant: str, window: float) -> str:
    """The PromQL for one variant over ``window`` seconds."""
    return template.replace("$variant", variant).replace("$window", f"{round(window * 1000)}ms")
