"""What a user of the simulator can rely on: the same numbers for the same scenario, and refusals that instruct."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import thalweg
from source_tree import ROOT
from thalweg.errors import ConfigError, InvalidError
from thalweg.simulator import Scenario, simulate
from thalweg.simulator.validation import cases, validate

TRAFFIC = {"pattern": "uniform-random", "message_bytes": "4KiB", "mean_gap_ns": 2000, "messages": 5}
NODES = "mfnetsim/cont-1d-1056-300p1.conf"


def scenario(**changes: Any) -> dict[str, Any]:
    return {"network": {"routing": "par"}, "synthetic": TRAFFIC, **changes}


def test_the_same_scenario_gives_the_same_numbers_and_another_seed_others() -> None:
    def found(seed: int) -> list[dict[str, Any]]:
        rows = simulate(scenario(seed=seed)).rows()
        return [row for row in rows if "cpu_s" not in row["quantity"]]

    assert found(1) == found(1)
    assert found(1) != found(2)


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


def test_what_a_listener_raises_stops_the_run() -> None:
    def tell(simulated_s: float, packets: int) -> None:
        raise RuntimeError(f"enough after {packets}")

    with pytest.raises(RuntimeError, match="enough after"):
        simulate(scenario(synthetic={**TRAFFIC, "messages": 1000}), tell=tell)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"synthetic": None}, r"scenario: give either a table \[synthetic\] or entries \[\[application\]\]"),
        ({"network": {"routing": "shortest"}}, r"network.routing: is 'shortest'; should be 'minimal'"),
        ({"modell": "x"}, r"modell: unknown key; did you mean 'model'\?"),
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


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (list(range(299)), "299 nodes for an application of 300 ranks"),
        ([0, *range(299)], "node 0 is given to two ranks"),
        ([*range(299), 990], "there is no compute node 990"),
    ],
)
def test_nodes_that_do_not_fit_are_refused(nodes: list[int], message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        simulate({"application": [{"name": "checkpoint", "nodes": nodes}]})


def test_a_file_of_nodes_without_the_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nodes.conf").write_text("1 2 3\n")
    (tmp_path / "run.toml").write_text('[[application]]\nname = "milc"\nnodes = "nodes.conf"\nline = 2\n')
    with pytest.raises(InvalidError, match="has no line 2 of nodes; it has 1"):
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
    assert len(cases()) == 10 + 16


def test_the_command_writes_rows(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text('[synthetic]\npattern = "shift"\nmessage_bytes = 100\nmean_gap_ns = 10.0\nmessages = 1\n')
    done = thalweg("sim", "run", str(file), "--model", "mfnetsim-artifact", "--json", "-")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert {"application": "network", "quantity": "packets", "value": 1056} in rows
    wrong = thalweg("sim", "run", str(file), "--model", "paper")
    assert wrong.returncode == 2
    assert "model: is 'paper'" in wrong.stderr
    assert thalweg("sim", "validate", "--only", "nothing").returncode == 2
