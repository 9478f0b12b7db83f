"""A run's own Prometheus, on this machine or in a cluster: its configuration and the options that both have."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

#: Seconds between scrapes. (A scrape may take as long.)
INTERVAL = 1
#: Seconds for which a sample counts as current: a JVM of the block before must not linger in sums.
LOOKBACK = 10
#: How often Prometheus looks for new targets: by itself every five seconds, for which every first block would wait.
NEW_TARGETS_EVERY = "100ms"
OPTIONS = (
    "--storage.tsdb.retention.time=10y",
    "--storage.tsdb.no-lockfile",
    f"--query.lookback-delta={LOOKBACK}s",
    "--web.enable-remote-write-receiver",
    f"--scrape.discovery-reload-interval={NEW_TARGETS_EVERY}",
    "--log.level=warn",
)


def configuration(targets: Mapping[str, str], path: str, rules: Sequence[str]) -> str:
    """Returns the file of a Prometheus that scrapes that path of these (variant -> host:port), with files of recording
    rules."""
    jobs = [
        {
            "job_name": variant,
            "metrics_path": path,
            # The same labels in every block, though addresses differ: one series, not one per JVM.
            "static_configs": [{"targets": [address], "labels": {"variant": variant, "instance": variant}}],
        }
        for variant, address in targets.items()
    ]
    interval = f"{INTERVAL}s"
    document = {
        "global": {"scrape_interval": interval, "scrape_timeout": interval},
        "rule_files": list(rules),
        "scrape_configs": jobs,
    }
    # JSON is YAML.
    return json.dumps(document, indent=2)
