"""The chart of deploy/kubernetes, rendered and judged without a cluster."""

import functools
import json
import pathlib
import re
import subprocess

import pytest
import yaml

from harness.paths import REPOSITORY, walpost_binary

_CHART = REPOSITORY / "deploy" / "kubernetes" / "walpost"
_VALUES = sorted(pathlib.Path(__file__).with_name("charts").glob("*.yaml"))


@functools.cache
def _tools():
    return pathlib.Path(subprocess.run(
        [REPOSITORY / "scripts" / "fetch-helm"], check=True, text=True,
        stdout=subprocess.PIPE).stdout.strip())


def _run(*words):
    return subprocess.run([_tools() / "bin" / "helm", *map(str, words)], timeout=60, check=False,
                          capture_output=True, text=True)


def _render(*words):
    ran = _run("template", "outbox", _CHART, "--namespace", "shop",
               "--kube-version", "1.31.0", *words)
    assert ran.returncode == 0, ran.stderr
    return [entry for entry in yaml.safe_load_all(ran.stdout) if entry]


def _refusal(tmp_path, values):
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    ran = _run("template", "outbox", _CHART, "--kube-version", "1.31.0", "-f", path)
    assert ran.returncode != 0
    return ran.stderr


def _of_kind(objects, kind):
    return [entry for entry in objects if entry["kind"] == kind]


def _pods(objects):
    return [entry["spec"]["template"]["spec"] for entry in objects
            if entry["kind"] in ("Deployment", "Job")]


@pytest.fixture(params=_VALUES, ids=lambda path: path.stem)
def objects(request):
    return _render("-f", request.param)


@pytest.mark.parametrize("values", _VALUES, ids=lambda path: path.stem)
def test_lint(values):
    ran = _run("lint", "--strict", "--kube-version", "1.31.0", _CHART, "-f", values)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_there_are_ten_value_files():
    assert len(_VALUES) == 10


def test_the_version_is_that_of_the_binary():
    chart = yaml.safe_load((_CHART / "Chart.yaml").read_text())
    version = subprocess.run([walpost_binary(), "--version"], check=True, text=True,
                             capture_output=True).stdout.split()[1]
    assert chart["version"] == chart["appVersion"] == version


_VALIDATE = """
import json, sys, kubernetes_validate
for entry in json.load(sys.stdin):
    kubernetes_validate.validate(entry, "1.31", strict=True)
"""


def _invalid(objects):
    """What the schemas of Kubernetes do not accept; empty: they accept all."""
    own = [entry for entry in objects
           if not entry["apiVersion"].startswith("monitoring.coreos.com/")]
    return subprocess.run(
        ["/usr/bin/python3", "-B", "-c", _VALIDATE], input=json.dumps(own),
        env={"PYTHONPATH": str(_tools() / "python")}, capture_output=True, text=True,
        check=False, timeout=60).stderr


def test_each_object_is_valid(objects):
    assert _invalid(objects) == ""


def test_the_schemas_would_find_a_mistake():
    objects = _values("minimal.yaml")
    deployment, = _of_kind(objects, "Deployment")
    deployment["spec"]["replica"] = 3
    assert "replica" in _invalid(objects)


def test_pods_are_restricted(objects):
    """What the pod security standard "restricted" asks for."""
    pods = _pods(objects)
    assert pods
    for pod in pods:
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {
            "type": "RuntimeDefault"}
        for volume in pod["volumes"]:
            assert set(volume) - {"name"} <= {"configMap", "secret", "emptyDir"}
        for container in pod["containers"]:
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False
            assert security["readOnlyRootFilesystem"] is True
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert security.get("privileged") is None
            assert all("hostPort" not in port
                       for port in container.get("ports", []))
            assert container["resources"]["limits"]["memory"]


def test_walpost_takes_each_configuration(objects, tmp_path):
    maps = _of_kind(objects, "ConfigMap")
    assert maps
    for entry in maps:
        text = entry["data"]["walpost.yaml"]
        path = tmp_path / "walpost.yaml"
        # What a pod has, and this machine has not.
        path.write_text(re.sub(r" password=\$\{(file|env):[^}]*\}", "", text))
        ran = subprocess.run(
            [walpost_binary(), "run", "--print-config", "-c", path],
            capture_output=True, text=True, timeout=30, check=False)
        assert ran.returncode == 0, ran.stderr
        assert yaml.safe_load(ran.stdout)["http"]["listen"] == "0.0.0.0:9187"


def test_each_selector_finds_the_pods_of_its_instance_alone(objects):
    deployments = _of_kind(objects, "Deployment")
    for entry in deployments:
        selector = entry["spec"]["selector"]["matchLabels"]
        matching = [other["metadata"]["name"] for other in objects
                    if other["kind"] in ("Deployment", "Job") and selector.items()
                    <= other["spec"]["template"]["metadata"]["labels"].items()]
        assert matching == [entry["metadata"]["name"]]
    for kind, where in (("PodDisruptionBudget", "selector"),
                        ("PodMonitor", "selector"),
                        ("NetworkPolicy", "podSelector")):
        for entry in _of_kind(objects, kind):
            assert entry["spec"][where]["matchLabels"] in [
                other["spec"]["selector"]["matchLabels"] for other in deployments]


def _values(name):
    return _render("-f", pathlib.Path(__file__).with_name("charts") / name)


def test_two_replicas_and_the_probes():
    deployment, = _of_kind(_values("minimal.yaml"), "Deployment")
    spec = deployment["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    pod = spec["template"]["spec"]
    container, = pod["containers"]
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert pod["terminationGracePeriodSeconds"] == 30
    # Not with subPath, which would keep a secret as it was at the start.
    secrets, = [mount for mount in container["volumeMounts"]
                if mount["name"] == "secrets"]
    assert secrets == {"name": "secrets", "readOnly": True,
                       "mountPath": "/etc/walpost/secrets"}


def test_a_changed_configuration_is_another_pod(tmp_path):
    def checksum(*words):
        deployment, = _of_kind(_render(
            "-f", _VALUES[0].with_name("minimal.yaml"), *words), "Deployment")
        return deployment["spec"]["template"]["metadata"]["annotations"][
            "checksum/config"]

    assert checksum() == checksum("--set", "instances.shop.replicas=3")
    assert checksum() != checksum("--set",
                                  "instances.shop.config.postgres.slot=other")


def test_instances_share_what_they_do_not_say():
    objects = _values("instances.yaml")
    configs = {entry["metadata"]["name"]: yaml.safe_load(
        entry["data"]["walpost.yaml"]) for entry in _of_kind(objects, "ConfigMap")}
    assert set(configs) == {"outbox-shop", "outbox-billing", "outbox-polled"}
    assert configs["outbox-shop"]["kafka"]["properties"] == {
        "compression.type": "lz4"}
    assert configs["outbox-billing"]["kafka"]["properties"] == {
        "compression.type": "lz4", "linger.ms": 5}
    replicas = {entry["metadata"]["name"]: entry["spec"]["replicas"]
                for entry in _of_kind(objects, "Deployment")}
    assert replicas == {"outbox-shop": 2, "outbox-billing": 3, "outbox-polled": 2}
    assert len(_of_kind(objects, "PodMonitor")) == 3


def test_init_goes_first_and_has_the_administrator():
    job, = _of_kind(_values("init.yaml"), "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == (
        "pre-install,pre-upgrade")
    container, = job["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["init", "--admin", "$(WALPOST_ADMIN)", "--role",
                                 "walpost"]
    assert container["env"][0]["valueFrom"]["secretKeyRef"] == {
        "name": "postgres-admin", "key": "conninfo"}


def test_wrong_values_are_refused(tmp_path):
    """With what is wrong, and where."""
    good = {"postgres": {"conninfo": "host=pg"}, "kafka": {"brokers": "k:1"}}
    for values, expected in (
            ({}, "instances is empty"),
            ({"instances": {"Shop": {"config": good}}},
             "instances.Shop: a name is 1 to 30 of a-z, 0-9 and -"),
            ({"instances": {"shop": {"config": good, "replica": 3}}},
             "instances.shop.replica is not known; it is one of affinity"),
            ({"instances": {"shop": {"config": {}}}},
             "instances.shop.config.postgres.conninfo is missing"),
            ({"instances": {"shop": {"config": {"postgres": good["postgres"]}}}},
             "instances.shop.config.kafka.brokers is missing"),
            ({"instances": {"shop": {"config": {
                **good, "checkpoint": {"store": "file"}}}}},
             "instances.shop.config.checkpoint.store: file does not survive"),
            ({"instances": {"shop": {"config": good, "init": {"enabled": True}}}},
             "instances.shop.init.secretName is missing")):
        assert expected in _refusal(tmp_path, values), values
