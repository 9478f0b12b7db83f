"""What stands beside the variants for the experiments that need it: a database and a downstream service."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from e2e.chart.rendering import CHART, KUBERNETES, Json, Rendered, containers, env, helm
from tests.support.versions import VERSIONS
from vtlab.services import sample
from vtlab.targets.kubernetes.release import deployment_checks

Render = Callable[..., Rendered]

DATABASE = ("--set", "database.enabled=true")
DOWNSTREAM = ("--set", "downstream.enabled=true")
PASSWORD = {"secretKeyRef": {"name": "lab-database", "key": "password"}}


def given(rendered: Rendered, variant: str = "virtual") -> Json:
    """What the variant gets beyond its settings."""
    (app,) = containers(rendered.one("Deployment", f"lab-{variant}")["spec"]["template"])
    return {
        key: value
        for key, value in env(app).items()
        if key not in ("JAVA_TOOL_OPTIONS", "SPRING_THREADS_VIRTUAL_ENABLED")
    }


def test_by_default_there_is_neither(default: Rendered) -> None:
    assert given(default) == {}
    assert default.of("StatefulSet") == default.of("Secret") == []
    assert default.names("Deployment") == default.variants()


def test_every_variant_knows_the_database(render: Render) -> None:
    rendered = render(*DATABASE)

    for variant in ("platform", "virtual"):
        assert given(rendered, variant) == {
            "SPRING_DATASOURCE_URL": "jdbc:mysql://lab-database:3306/lab?sslMode=DISABLED",
            "SPRING_DATASOURCE_USERNAME": "lab",
            "SPRING_DATASOURCE_PASSWORD": PASSWORD,
        }


def test_every_variant_knows_the_downstream_service(render: Render) -> None:
    rendered = render(*DOWNSTREAM)

    for variant in ("platform", "virtual"):
        assert given(rendered, variant) == {"LAB_DOWNSTREAM_URL": "http://lab-downstream:8080"}


def test_vtlab_takes_what_variants_get_here_for_no_setting(render: Render) -> None:
    variables = deployment_checks.companion_environment(sample.service())
    assert given(render(*DATABASE, *DOWNSTREAM)).keys() == variables


def test_the_database_is_made_with_the_account_that_the_variants_use(render: Render) -> None:
    rendered = render(*DATABASE, "--set", "database.name=shop,database.username=clerk")
    spec = rendered.one("StatefulSet", "lab-database")["spec"]
    (database,) = containers(spec["template"])

    assert spec["replicas"] == 1
    assert spec["serviceName"] == "lab-database"
    assert database["image"] == f"docker.io/library/mariadb:{VERSIONS['MARIADB_IMAGE_VERSION']}"
    assert env(database) == {
        "MARIADB_DATABASE": "shop",
        "MARIADB_USER": "clerk",
        "MARIADB_PASSWORD": PASSWORD,
        "MARIADB_RANDOM_ROOT_PASSWORD": "1",
        "MARIADB_ROOT_HOST": "localhost",
        "MARIADB_INITDB_SKIP_TZINFO": "1",
    }
    assert given(rendered)["SPRING_DATASOURCE_URL"].startswith("jdbc:mysql://lab-database:3306/shop?")
    assert given(rendered)["SPRING_DATASOURCE_USERNAME"] == "clerk"
    assert database["args"] == ["mariadbd", "--max-connections=1000", "--skip-name-resolve"]


def test_the_database_writes_to_volumes_alone(render: Render) -> None:
    pod = render(*DATABASE).one("StatefulSet", "lab-database")["spec"]["template"]["spec"]
    (database,) = pod["containers"]

    assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["runAsGroup"] == 999
    assert pod["securityContext"]["fsGroup"] == 999
    assert {mount["name"]: mount["mountPath"] for mount in database["volumeMounts"]} == {
        "data": "/var/lib/mysql",
        "run": "/run/mysqld",
        "tmp": "/tmp",
    }
    assert {volume["name"]: volume["emptyDir"] for volume in pod["volumes"]} == {
        "data": {"sizeLimit": "1Gi"},
        "run": {},
        "tmp": {},
    }


def test_its_password_is_random_and_in_no_other_object(render: Render) -> None:
    # Other values, or the second rendering would be the first.
    first, second = (render(*DATABASE, "--set", f"terminationGracePeriodSeconds={seconds}") for seconds in (70, 71))

    passwords = [rendered.one("Secret", "lab-database")["data"]["password"] for rendered in (first, second)]
    plain = [base64.b64decode(password).decode() for password in passwords]
    assert plain[0] != plain[1]
    assert all(len(password) == 32 and password.isalnum() for password in plain)
    assert not [item["kind"] for item in first.objects if plain[0] in str(item)]


def answers() -> Json:
    """Answers of an API server that has one object, the Secret of the release, by path."""
    of_release = {"meta.helm.sh/release-name": "lab", "meta.helm.sh/release-namespace": "lab"}
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    metadata = {"name": "lab-database", "namespace": "lab", "labels": labels, "annotations": of_release}
    password = {"password": base64.b64encode(b"kept").decode()}
    secrets = {"name": "secrets", "namespaced": True, "kind": "Secret", "verbs": ["get"]}
    return {
        # Whether it is there, and what it has.
        "/version": {"major": "1", "minor": KUBERNETES.split(".")[1], "gitVersion": f"v{KUBERNETES}"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
        "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [secrets]},
        "/api/v1/namespaces/lab/secrets/lab-database": {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "data": password,
        },
    }


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Path]:
    """A kubeconfig for that API server."""
    missing = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}

    class Api(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = answers().get(urlsplit(self.path).path)
            self.send_response(200 if answer else 404)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(answer or missing).encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
                    "contexts": [{"name": "c", "context": {"cluster": "c", "user": ""}}],
                    "current-context": "c",
                }
            )
        )
        kubeconfig.chmod(0o600)
        yield kubeconfig
        server.shutdown()


def test_a_password_that_is_there_stays(cluster: Path, chart_copy: Path) -> None:
    # Helm asks the API server about each kind of object that it renders.
    for path in (chart_copy / "templates").rglob("*.yaml"):
        if path.relative_to(chart_copy / "templates") != Path("database/secret.yaml"):
            path.unlink()

    def password(namespace: str) -> str:
        done = helm(
            *("template", "lab", chart_copy, "--namespace", namespace, "--kube-version", KUBERNETES, *DATABASE),
            *("--dry-run=server", "--disable-openapi-validation", "--kubeconfig", cluster),
        )
        assert done.returncode == 0, done.stderr
        return base64.b64decode(yaml.safe_load(done.stdout)["data"]["password"]).decode()

    assert password("lab") == "kept"
    assert len(password("elsewhere")) == 32


def test_with_a_secret_of_the_user_none_is_made(render: Render) -> None:
    rendered = render(*DATABASE, "--set", "database.existingSecret=mine")
    theirs = {"secretKeyRef": {"name": "mine", "key": "password"}}

    assert rendered.of("Secret") == []
    assert given(rendered)["SPRING_DATASOURCE_PASSWORD"] == theirs
    (database,) = containers(rendered.one("StatefulSet", "lab-database")["spec"]["template"])
    assert env(database)["MARIADB_PASSWORD"] == theirs


def test_a_claim_goes_with_the_release_as_the_password_does(render: Render) -> None:
    values = "database.storage.persistent=true,database.storage.size=2Gi,database.storage.storageClass=fast"
    spec = render(*DATABASE, "--set", values).one("StatefulSet", "lab-database")["spec"]
    (claim,) = spec["volumeClaimTemplates"]

    assert claim["metadata"]["name"] == "data"
    assert claim["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "2Gi"}},
    }
    assert spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Delete"
    assert "data" not in [volume["name"] for volume in spec["template"]["spec"]["volumes"]]


def test_services_of_the_user_are_used_and_none_is_made(render: Render) -> None:
    rendered = render("-f", CHART / "ci/own-services-values.yaml")

    assert given(rendered) == {
        "SPRING_DATASOURCE_URL": "jdbc:mysql://mysql.data:3307/lab?sslMode=REQUIRED",
        "SPRING_DATASOURCE_USERNAME": "lab_app",
        "SPRING_DATASOURCE_PASSWORD": {"secretKeyRef": {"name": "lab-mysql", "key": "password"}},
        "LAB_DOWNSTREAM_URL": "https://slow.example.com",
    }
    assert rendered.of("StatefulSet") == rendered.of("Secret") == []
    assert rendered.names("Service") == rendered.names("Deployment") == ["lab-platform", "lab-virtual"]
    assert not {"lab-database", "lab-downstream"} & set(rendered.names("NetworkPolicy"))


def test_the_downstream_service_is_the_same_image_and_no_variant(render: Render) -> None:
    rendered = render(*DOWNSTREAM, "--set", "image.repository=lab,limits.cpu=500m,settings.SERVER_TOMCAT_THREADS_MAX=9")
    deployment = rendered.one("Deployment", "lab-downstream")
    (downstream,) = containers(deployment["spec"]["template"])
    labels = deployment["spec"]["template"]["metadata"]["labels"]

    assert downstream["image"] == f"lab:{VERSIONS['LAB_VERSION']}"
    assert env(downstream) == {
        "JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError -Xms384m -Xmx384m",
        "SPRING_THREADS_VIRTUAL_ENABLED": "true",
    }
    assert downstream["resources"] == {"requests": {"cpu": "100m"}, "limits": {"cpu": "2", "memory": "768Mi"}}
    # Rules and dashboards know variants by this label, and the kubelet's figures by the container's name.
    assert "variant" not in labels
    assert downstream["name"] != "app"
    assert rendered.variants() == ["lab-platform", "lab-virtual"]
