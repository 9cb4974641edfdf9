"""What a user of the simulator can rely on: the same numbers for the same scenario, and refusals that instruct."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import thalweg
from source_tree import ROOT
from thalweg.errors import ConfigError, InvalidError
from thalweg.simulator import Outcome, Scenario, simulate
from thalweg.simulator.scenario import ROUTINGS
from thalweg.simulator.validation import cases, validate

TRAFFIC = {"pattern": "uniform-random", "message_bytes": "4KiB", "mean_gap_ns": 2000, "messages": 5}
NODES = "mfnetsim/cont-1d-1056-300p1.conf"


def scenario(**changes: Any) -> dict[str, Any]:
    return {"network": {"routing": "par"}, "synthetic": TRAFFIC, **changes}


def test_the_same_scenario_gives_the_same_numbers_and_another_seed_others() -> None:
    def found(seed: int) -> list[dict[str, Any]]:
        rows = simulate(scenario(seed=seed)).rows()
        return [row for row in rows if row["quantity"] not in ("cpu_s", "packets_per_cpu_s", "memory_mb", "threads")]

    assert found(1) == found(1)
    assert found(1) != found(2)


MACHINES: list[dict[str, Any]] = [
    {"routing": "par"},
    {"topology": "dragonfly", "groups": 9, "routers": 4, "nodes": 2, "global_links": 2, "routing": "ugal"},
    {"topology": "fat-tree", "down": [4, 4, 3], "up": [2, 4], "routing": "adaptive"},
    {"topology": "k-ary-tree", "arity": 4, "levels": 3},
    {"topology": "torus", "extents": [4, 3, 3], "nodes": 2, "routing": "valiant"},
    {"topology": "single-switch", "nodes": 20},
]


@pytest.mark.parametrize("network", MACHINES, ids=lambda network: network.get("topology", "paper"))
def test_the_number_of_threads_changes_nothing(network: dict[str, Any]) -> None:
    def found(threads: int) -> Outcome:
        outcome = simulate(scenario(network=network, threads=threads))
        assert outcome.threads == min(threads, 1 if network.get("topology") == "single-switch" else threads)
        return replace(outcome, cpu_s=0.0, memory_bytes=0, threads=0)

    assert found(1) == found(2) == found(3)


@pytest.mark.parametrize("routing", ["minimal", "par"])
def test_flows_come_close_to_packets(routing: str) -> None:
    application = {"name": "milc", "placement": "random-nodes", "iterations": 1}

    def found(fidelity: str) -> Outcome:
        return simulate({"fidelity": fidelity, "network": {"routing": routing}, "application": [application]})

    packets, flows = found("packet"), found("flow")
    assert flows.packets == packets.packets
    assert flows.events < packets.events / 10
    assert flows.applications[0].messages_sent == packets.applications[0].messages_sent
    assert packets.packet_latency is not None and packets.packet_latency.count == packets.packets
    # No packet is followed there: what only packets have is not zero but absent.
    assert (flows.packet_latency, flows.hops_mean, flows.non_minimal_packets) == (None, None, None)
    absent = [row["quantity"] for row in flows.rows() if row["value"] is None]
    latency = [f"latency_us_{name}" for name in ("mean", "median", "p99", "max")]
    assert absent == ["hops_mean", "non_minimal_packets", *latency]
    # The guide says by how much they differ; this is no more than a look at the right order.
    assert flows.applications[0].elapsed_s == pytest.approx(packets.applications[0].elapsed_s, rel=0.3)


def test_the_published_model_leaves_nothing_to_look_ahead_by() -> None:
    assert simulate(scenario(model="mfnetsim-artifact", threads=2)).threads == 1


def test_links_add_up_to_routers_and_over_time() -> None:
    small = {"name": "milc", "iterations": 1}
    both = [{**small, "placement": "random-nodes"}, {"name": "cosmoflow", "placement": "round-robin-groups"}]
    outcome = simulate({"application": both, "network": {"routing": "minimal"}})
    for kind, times in (
        ("terminal", outcome.timeline.terminal_bytes),
        ("local", outcome.timeline.local_bytes),
        ("global", outcome.timeline.global_bytes),
    ):
        assert sum(times) == sum(link.bytes for link in outcome.links if link.kind == kind)
    routers = outcome.routers()
    assert [router.number for router in routers] == list(range(264))
    for application in range(2):
        by_links = sum(link.bytes_by_application[application] for link in outcome.links)
        assert sum(router.bytes_by_application[application] for router in routers) == by_links > 0
    for application in outcome.applications:
        latency = application.message_latency
        assert sum(count for _, count in latency.buckets) == latency.count
        assert latency.cumulative()[-1] == (latency.max_s, 1.0)
        assert latency.quantile(0.5) == latency.median_s
    assert outcome.timeline.interval_s * len(outcome.timeline.local_bytes) <= outcome.end_s * 1.01
    assert outcome.memory_bytes > 1 << 20


def test_everything_that_was_sent_arrives() -> None:
    outcome = simulate(scenario(synthetic={**TRAFFIC, "message_bytes": 10_000}))
    assert outcome.packets == 1056 * 5 * 3
    assert sum(link.bytes for link in outcome.links if link.kind == "terminal") == 1056 * 5 * 10_000


def test_applications_report_what_their_ranks_waited_for() -> None:
    application = [{"name": "milc", "nodes": NODES, "iterations": 1}]
    outcome = simulate({"network": {"routing": "minimal"}, "application": application})
    (milc,) = outcome.applications
    # Two exchanges with eight neighbours, two allreduces of 2,136 messages.
    assert milc.messages_sent == 2 * 8 * 300 + 2 * 2136
    assert milc.bytes_sent == 2 * 8 * 300 * 497_664 + 2 * 2136 * 8
    assert max(milc.io_s) == 0
    assert milc.compute_s == pytest.approx([2 * 25e-9] * 300)
    assert max(milc.communication_s) <= milc.elapsed_s <= outcome.end_s


def test_two_runs_in_one_machine_share_its_links() -> None:
    small = {"name": "milc", "iterations": 1}
    other = list(range(300, 600))
    both = simulate({"application": [{**small, "nodes": NODES}, {**small, "nodes": other}]})
    assert [application.messages_sent for application in both.applications] == [2 * 8 * 300 + 2 * 2136] * 2
    assert [application.name for application in both.applications] == ["milc", "milc 2"]


def test_no_application_is_called_as_the_network_is() -> None:
    named = [{"name": name, "program": "milc.ncptl", "ranks": 1} for name in ("network", "a", "a 2", "a")]
    checked = Scenario.checked({"application": named}, ROOT / "examples/programs")
    assert checked.names() == ["network 2", "a", "a 2", "a 3"]


@pytest.mark.parametrize("fidelity", ["packet", "flow"])
def test_the_latency_of_messages_has_their_wait_at_the_interface(fidelity: str) -> None:
    # Ten messages of a node at once: the last one waits for the nine before it, and all have arrived at the end.
    traffic = {"pattern": "shift", "message_bytes": 4096, "mean_gap_ns": 0, "gaps": "even", "messages": 10}
    machine = {"topology": "single-switch", "nodes": 4}
    outcome = simulate({"fidelity": fidelity, "network": machine, "synthetic": traffic})
    assert outcome.message_latency is not None
    assert outcome.message_latency.count == 40
    sent_s = 4096 / (16 * 2**30)
    assert outcome.message_latency.max_s > 9 * sent_s
    assert outcome.end_s >= outcome.message_latency.max_s
    assert outcome.throughput() == pytest.approx(40 * 4096 / outcome.end_s)
    rows = {row["quantity"]: row["value"] for row in outcome.rows()}
    assert rows["message_latency_us_max"] == outcome.message_latency.max_s * 1e6
    assert (rows["latency_us_max"] is None) == (fidelity == "flow")


def test_what_a_listener_raises_stops_the_run() -> None:
    def tell(simulated_s: float, packets: int) -> None:
        raise RuntimeError(f"enough after {packets}")

    with pytest.raises(RuntimeError, match="enough after"):
        simulate(scenario(synthetic={**TRAFFIC, "messages": 1000}), tell=tell)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"synthetic": None}, r"scenario: give either a table \[synthetic\] or entries \[\[application\]\]"),
        (
            {"network": {"routing": "shortest"}},
            r"is 'shortest'; accepted by a dragonfly are minimal, valiant, ugal, par$",
        ),
        (
            {"network": {"topology": "torus", "extents": [3, 3], "routing": "minimall"}},
            r"network.routing: is 'minimall'; accepted by a torus are minimal, valiant$",
        ),
        ({"network": {"global": {"bandwidth_gib_per_s": 0}}}, r"network.global.bandwidth_gib_per_s: is 0"),
        ({"network": {"extents": [0]}}, r"network.extents: .*has 0; each must be at least 1"),
        ({"threads": 0}, r"threads: is 0"),
        ({"modell": "x"}, r"modell: unknown key; did you mean 'model'\?"),
        (
            {"network": {"global": {"speed": 1}}},
            r"global.speed: unknown key; accepted are bandwidth_gib_per_s, delay_ns, credit_delay_ns, buffer_bytes",
        ),
        ({"network": {"globl": {}}}, r"network.globl: unknown key; did you mean 'global'\?"),
        ({"storage": {"hdd": {"rpn": 1}}}, r"storage.hdd.rpn: unknown key; did you mean 'rpm'\?"),
        (
            {"storage": {"ssd": {"page_bytes": 0}}},
            r"storage.ssd.page_bytes: is 0; should be greater than or equal to 1",
        ),
        ({"synthetic": {**TRAFFIC, "messages": 0}}, r"synthetic.messages: is 0"),
        (
            {"synthetic": None, "application": [{"name": "milc", "nodes": "nowhere.conf"}]},
            r"there is no file 'nowhere.conf'; give one beside the scenario, or one of mfnetsim/cont",
        ),
        (
            {"synthetic": None, "application": [{"name": "nekbone", "nodes": NODES, "iterations": 3}]},
            r"nekbone has no iterations; only milc has",
        ),
    ],
)
def test_a_wrong_scenario_is_refused_with_the_key(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Scenario.load(scenario(**changes))


@pytest.mark.parametrize("network", MACHINES[1:], ids=lambda network: network["topology"])
def test_a_topology_has_the_routings_that_a_refusal_lists(network: dict[str, Any]) -> None:
    wrong = "par" if network["topology"] != "dragonfly" else "adaptive"
    with pytest.raises(InvalidError) as refused:
        simulate(scenario(network={**network, "routing": wrong}))
    assert str(refused.value).endswith(f"accepted are {', '.join(ROUTINGS[network['topology']])}")


def test_a_folder_is_no_scenario(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is a folder; give the path of a \.json or \.toml file"):
        Scenario.load(tmp_path)


@pytest.mark.parametrize("network", MACHINES[1:], ids=lambda network: network["topology"])
def test_rows_are_of_links_that_the_machine_has(network: dict[str, Any]) -> None:
    outcome = simulate(scenario(network=network))
    told = {row["quantity"].partition("_")[0] for row in outcome.rows() if row["quantity"].endswith("_saturated_ms")}
    kinds = {"torus": {"terminal", "local"}, "single-switch": {"terminal"}}
    assert told == kinds.get(network["topology"], {"terminal", "local", "global"})


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (list(range(299)), "299 nodes for checkpoint, an application of 300 ranks"),
        ([0, *range(299)], "node 0 is given to two ranks"),
        ([*range(299), 990], "there is no compute node 990"),
    ],
)
def test_nodes_that_do_not_fit_are_refused(nodes: list[int], message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        simulate({"application": [{"name": "checkpoint", "nodes": nodes}]})


def test_storage_is_as_slow_as_the_numbers_of_its_devices() -> None:
    def io_s(**storage: Any) -> float:
        application = [{"name": "checkpoint", "placement": "round-robin-groups"}]
        (found,) = simulate(
            {"storage": {"arrangement": "node-local", **storage}, "application": application}
        ).applications
        return max(found.io_s)

    # Records of whole pages one after the other: twice the time from page to page is nearly twice the time of all.
    ssd = {"write_channel_us": 2 * 10.07}
    assert io_s(device="ssd", ssd=ssd) == pytest.approx(2 * io_s(device="ssd"), rel=0.01)
    assert io_s(device="hdd", hdd={"track_bytes": "1MB"}) > io_s(device="hdd")
    with pytest.raises(InvalidError, match="rpm: this storage has no hdd; accepted are numbers of ssd"):
        io_s(device="ssd", hdd={"rpm": 5400})


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({"groups": 34, "routers": 8, "nodes": 4, "global_links": 4}, "34 groups need a multiple of 33"),
        ({"topology": "torus", "extents": [4]}, "a torus needs nodes; it has extents, nodes"),
        ({"topology": "torus", "extents": [4], "nodes": 0}, "terminals = 0; accepted are 1 to 1024"),
        ({"topology": "fat-tree", "down": [4, 4], "up": []}, "0 levels of links up for 2 levels down"),
        ({"topology": "single-switch", "nodes": 8, "routing": "par"}, 'no routing "par"; accepted are minimal'),
        (
            {"topology": "torus", "extents": [4], "nodes": 1, "global": {"delay_ns": 1}},
            "no global links; it has terminal, local",
        ),
        ({"topology": "single-switch", "nodes": 8, "local": {"delay_ns": 1}}, "no local links; it has terminal"),
        ({"local": {"buffer_bytes": 100}}, "a local buffer of 100 bytes; it must hold 1 to 1024 packets of 4096"),
    ],
)
def test_an_impossible_network_is_refused(network: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        simulate(scenario(network={"routing": "minimal", **network}))


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"1 2 3\n", "has no line 2 of nodes; it has 1"), (b"1 2\xff\n", "byte 3 is not UTF-8; expected a text file")],
)
def test_a_file_of_nodes_that_has_none_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "nodes.conf").write_bytes(content)
    (tmp_path / "run.toml").write_text('[[application]]\nname = "milc"\nnodes = "nodes.conf"\nline = 2\n')
    with pytest.raises(InvalidError, match=message):
        simulate(tmp_path / "run.toml")


def test_every_scenario_that_is_shipped_is_one() -> None:
    files = sorted((ROOT / "examples/scenarios").glob("*.toml"))
    assert len(files) == 25
    for file in files:
        Scenario.load(file)


def test_synthetic_traffic_agrees_with_the_published_model() -> None:
    rows = [row for case in ("uniform-2000-minimal", "next-group-par") for row in validate(case)]
    assert [row["quantity"] for row in rows] == ["latency_us_mean", "hops_mean", "latency_us_mean"]
    assert [row for row in rows if not row["within"]] == []
    assert len(cases()) == 10 + 16 + 1


def test_the_command_writes_rows(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text('[synthetic]\npattern = "shift"\nmessage_bytes = 100\nmean_gap_ns = 10.0\nmessages = 1\n')
    done = thalweg("sim", "run", str(file), "--model", "mfnetsim-artifact", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert {"application": "network", "quantity": "packets", "value": 1056} in rows
    wrong = thalweg("sim", "run", str(file), "--model", "papers")
    assert wrong.returncode == 2
    assert "model: is 'papers'" in wrong.stderr
    assert thalweg("sim", "validate", "--only", "nothing").returncode == 2
