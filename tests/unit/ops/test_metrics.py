"""Metrics: names are declared, follow the conventions, and a misspelt one is found by the tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from sidecar.ops.metrics import COUNTERS, PREFIX, TIMES, Metrics

ROOT = Path(__file__).resolve().parents[3]


def test_counts_and_times_are_shown() -> None:
    metrics = Metrics(strict=True)
    metrics.count("takeovers", reason="orphaned")
    metrics.count("store_outages", 41)
    metrics.observe("append", 0.002)
    metrics.watch("handoffs_owned", "handoffs that this session owns", lambda: 7)
    assert metrics.value("dhp_sidecar_takeovers_total", reason="orphaned") == 1
    assert metrics.value("dhp_sidecar_store_outages_total") == 41
    assert metrics.value("dhp_sidecar_append_seconds_count") == 1
    assert metrics.value("dhp_sidecar_handoffs_owned") == 7
    families = {family.name for family in text_string_to_metric_families(metrics.page().decode())}
    assert {"dhp_sidecar_takeovers", "dhp_sidecar_append_seconds", "dhp_sidecar_build_info"} <= families


def test_each_observer_has_a_registry_of_its_own() -> None:
    first, second = Metrics(), Metrics()
    first.count("store_outages")
    assert second.value("dhp_sidecar_store_outages_total") == 0


@pytest.mark.parametrize(
    ("name", "labels"), [("entriez", {}), ("takeovers", {}), ("store_outages", {"kind": "x"}), ("append", {})]
)
def test_an_unknown_name_or_label_is_an_error_when_strict(name: str, labels: dict[str, str]) -> None:
    with pytest.raises(LookupError, match=name):
        Metrics(strict=True).count(name, 1, **labels)
    with pytest.raises(LookupError, match="nothing"):
        Metrics(strict=True).observe("nothing", 1.0)


def test_an_unknown_name_is_logged_once_in_production(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()
    metrics.count("entriez")
    metrics.count("entriez")
    metrics.observe("comit", 1)
    assert [record.getMessage().split()[1] for record in caplog.records] == ["entriez", "comit"]


def test_names_follow_the_conventions() -> None:
    names = [metric.name for metric in COUNTERS + TIMES]
    assert len(set(names)) == len(names)
    for metric in COUNTERS + TIMES:
        assert re.fullmatch(r"[a-z]+([._][a-z]+)*", metric.name), metric.name
        assert not metric.name.endswith(("_total", "_seconds", "_count")), metric.name
        assert not metric.name.startswith(PREFIX)
        assert len(metric.text) > 10
        assert not set(metric.labels) & {"task", "session", "context"}, "labels must have few values"


def test_names_are_declared_where_used_and_used_where_declared() -> None:
    declared = {"count": {metric.name for metric in COUNTERS}, "observe": {metric.name for metric in TIMES}}
    labels = {metric.name: set(metric.labels) for metric in COUNTERS + TIMES}
    unknown = []
    used = set()
    for path in sorted((ROOT / "sidecar").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            first = node.args[0]
            if (
                node.func.attr not in declared
                or not isinstance(first, ast.Constant)
                or type(first.value) is not str
            ):
                continue
            if "observer" not in ast.unparse(node.func.value).lower():
                continue
            used.add(first.value)
            given = {word.arg for word in node.keywords if word.arg not in ("value", "seconds")}
            if first.value not in declared[node.func.attr] or given != labels[first.value]:
                unknown.append(f"{path.relative_to(ROOT)}:{node.lineno}: {first.value} {sorted(map(str, given))}")
    assert not unknown, "declare these in sidecar/ops/metrics.py:\n" + "\n".join(unknown)
    assert {metric.name for metric in COUNTERS + TIMES} <= used, "a dashboard must not show what nobody counts"
