"""The JMH benchmark: a suspended CronJob of the variants' image, under their limits."""

from __future__ import annotations

from collections.abc import Callable

from e2e.chart.rendering import Rendered, containers, env

Render = Callable[..., Rendered]


def test_it_runs_in_the_image_and_under_the_limits_of_the_variants(render: Render) -> None:
    rendered = render("--set", "limits.cpu=500m", "--set", "image.tag=x", "--set", "jvm.gc=G1")
    cronjob = rendered.one("CronJob", "lab-jmh")["spec"]
    job = cronjob["jobTemplate"]["spec"]
    (jmh,) = containers(job["template"])
    (app,) = containers(rendered.one("Deployment", "lab-platform")["spec"]["template"])
    assert cronjob["suspend"] is True
    assert job["backoffLimit"] == 0
    assert jmh["image"] == app["image"] == "virtual-threads-lab:x"
    assert jmh["resources"] == app["resources"]
    assert jmh["resources"]["limits"]["cpu"] == "500m"
    assert env(jmh)["JAVA_TOOL_OPTIONS"] == env(app)["JAVA_TOOL_OPTIONS"]


def test_its_log_ends_with_the_results(default: Rendered) -> None:
    (jmh,) = containers(default.one("CronJob", "lab-jmh")["spec"]["jobTemplate"]["spec"]["template"])
    shell, option, command = jmh["command"]
    assert (shell, option) == ("sh", "-c")
    assert command.endswith(" -rff /tmp/jmh.json $JMH_OPTIONS FanOutBenchmark && cat /tmp/jmh.json")
    assert env(jmh)["JMH_OPTIONS"] == ""
    assert jmh["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]
