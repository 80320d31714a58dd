"""The Kubernetes manifests are valid, belong together, and start the service as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from keywright.serving.limits import Limits
from tests.serving.test_distribution import last, started

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "kubernetes"
OLDEST = "1.27"  # that gets security updates from some vendor


def manifests() -> dict[str, dict[str, Any]]:
    """All objects by kind."""
    found = [
        content
        for file in sorted(FOLDER.glob("*.yaml"))
        for content in yaml.safe_load_all(file.read_text())
    ]
    by_kind = {content["kind"]: content for content in found}
    assert len(by_kind) == len(found)
    return by_kind


def container() -> dict[str, Any]:
    (only,) = manifests()["Deployment"]["spec"]["template"]["spec"]["containers"]
    return dict(only)


@pytest.mark.parametrize("kind", manifests())
def test_they_are_valid(kind: str) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is missing")
    for version in (OLDEST, validator.latest_version()):
        validator.validate(manifests()[kind], version, strict=True)


def test_the_validator_finds_mistakes() -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is missing")
    wrong = manifests()["Deployment"]
    wrong["spec"]["template"]["spec"]["containers"][0]["readinesProbe"] = {}
    with pytest.raises(validator.ValidationError):
        validator.validate(wrong, OLDEST, strict=True)


def test_they_belong_together() -> None:
    found = manifests()
    pods = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == pods
    assert found["Service"]["spec"]["selector"] == pods
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == pods
    target = found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == (
        "Deployment",
        found["Deployment"]["metadata"]["name"],
    )
    assert "replicas" not in found["Deployment"]["spec"]
    assert found["Service"]["spec"]["ports"][0]["targetPort"] == container()["ports"][0]["name"]


def test_they_start_the_service_of_the_image() -> None:
    options = started([*json.loads(last("ENTRYPOINT")), *container()["args"]])
    assert options["port"] == container()["ports"][0]["containerPort"]
    assert str(options["threads"]) == container()["resources"]["requests"]["cpu"]


def test_probes_and_the_end_fit_the_service() -> None:
    probes = {
        name: container()[f"{name}Probe"]["httpGet"]
        for name in ("startup", "readiness", "liveness")
    }
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startup": "/readyz",
        "readiness": "/readyz",
        "liveness": "/healthz",
    }
    assert {probe["port"] for probe in probes.values()} == {container()["ports"][0]["name"]}
    pod = manifests()["Deployment"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] >= Limits().seconds + 15
