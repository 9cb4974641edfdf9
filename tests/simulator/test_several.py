"""Runs in folders, sweeps and comparisons, and the page that shows them."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace

import numpy as np
import pytest

from command_line import thalweg
from thalweg import __version__
from thalweg.errors import CorruptDataError, ExistsError, InvalidError, NotFoundError, ThalwegError
from thalweg.report.run_labels import told_apart
from thalweg.report.simulated import interference, write_simulated
from thalweg.report.simulated_charts import Heat, link_map, traffic_over_time
from thalweg.report.simulated_facts import shared
from thalweg.report.topology_layout import Layout
from thalweg.simulator import Scenario, simulate
from thalweg.simulator.outcome import Application, Distribution, Link
from thalweg.simulator.recorded import Run, done_before, load, save
from thalweg.simulator.several import combinations, listed, simulate_all

TRAFFIC = {"pattern": "uniform-random", "message_bytes": "4KiB", "mean_gap_ns": 2000, "messages": 3}
UNIFORM = {"synthetic": TRAFFIC}
MILC = {"name": "milc", "iterations": 1, "nodes": "mfnetsim/cont-1d-1056-300p1.conf"}
OTHER = {"name": "milc", "iterations": 1, "nodes": "mfnetsim/cont-1d-1056-300p2.conf"}


def application_of(name):
    nothing = Distribution(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, [])
    return Application(name, 1.0, [1.0], [0.0], [0.0], 1, 1, nothing)


def ran(name, content):
    scenario = Scenario.load(content)
    return Run.of(name, scenario, simulate(scenario))


@pytest.fixture(scope="module")
def alone():
    return ran("alone", {"application": [MILC]})


@pytest.fixture(scope="module")
def together():
    return ran("together", {"application": [MILC, OTHER]})


@pytest.fixture(scope="module")
def flows():
    return ran("flows", {"fidelity": "flow", **UNIFORM})


@pytest.mark.parametrize("kind", ["together", "flows"])
def test_a_run_is_the_same_when_it_comes_from_its_folder(kind, request, tmp_path):
    run = request.getfixturevalue(kind)
    found = load(save(run, tmp_path / "run"))
    assert found == run
    assert Scenario.load(found.scenario).network.routing == "minimal"


def test_a_folder_has_one_run(alone, tmp_path):
    save(alone, tmp_path / "run")
    with pytest.raises(ExistsError, match="has a run already"):
        save(alone, tmp_path / "run")
    with pytest.raises(NotFoundError, match="there is no run in"):
        load(tmp_path)
    (tmp_path / "run/links.parquet").write_bytes(b"none")
    with pytest.raises(CorruptDataError, match="holds no whole run"):
        load(tmp_path / "run")


def test_scenarios_side_by_side_give_what_they_give_alone():
    wanted = {f"{seed}": Scenario.load({**UNIFORM, "seed": seed}) for seed in range(1, 4)}
    found = dict(simulate_all(wanted, 2))
    assert {name: outcome.events for name, outcome in found.items()} == {
        name: simulate(scenario).events for name, scenario in wanted.items()
    }


WRONG = {"application": [{**MILC, "nodes": [1, 1]}]}


def test_what_cannot_run_leaves_the_others_alone():
    found = dict(simulate_all({"wrong": Scenario.load(WRONG), "fine": Scenario.load(UNIFORM)}, 1))
    assert isinstance(found["wrong"], InvalidError) and "nodes" in str(found["wrong"])
    assert found["fine"].packets == 3168
    assert found["fine"].memory_bytes is None, "the process held what other runs needed too"
    assert simulate(UNIFORM).memory_bytes > 0


def test_who_goes_stops_the_runs():
    endless = Scenario.load({"synthetic": {**TRAFFIC, "messages": 1_000_000}})
    runs = simulate_all({"endless": endless, "wrong": Scenario.load(WRONG)}, 2)
    assert next(runs)[0] == "wrong"
    runs.close()


def test_every_combination_of_values_has_a_name():
    found = combinations({"network": {"routing": "minimal"}}, [("network.routing", ["par", "ugal"]), ("seed", [1, 2])])
    assert list(found) == ["routing=par,seed=1", "routing=par,seed=2", "routing=ugal,seed=1", "routing=ugal,seed=2"]
    assert found["routing=ugal,seed=2"] == {"network": {"routing": "ugal"}, "seed": 2}
    content = {"application": [{"name": "milc"}]}
    assert (
        combinations(content, [("application.0.iterations", [7])])["iterations=7"]["application"][0]["iterations"] == 7
    )
    assert content == {"application": [{"name": "milc"}]}


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("application.routing", "application is a list; name one of its entries by number: application.0.routing"),
        ("application.3.nodes", "there is no table application.3 in the scenario"),
        ("seed.more", "there is no table seed in the scenario"),
    ],
)
def test_values_for_what_is_not_there_are_refused(key, message):
    with pytest.raises(InvalidError, match=message):
        combinations({"seed": 1, "application": [{}]}, [(key, [1])])


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([("seed", [1, 2]), ("network.routing", ["par"])], ["seed=1,routing=par", "seed=2,routing=par"]),
        ([("application.0.nodes", ["a/b.conf", "a_b.conf"])], ["nodes=a_b.conf", "nodes=a_b.conf~2"]),
        ([("application[0].nodes", [[0, 1], "../x"])], ["nodes=0_1", "nodes=.._x"]),
        (
            [("application.0.name", ["a"]), ("application.1.name", ["b"])],
            ["application.0.name=a,application.1.name=b"],
        ),
        ([("application.0.nodes", [list(range(300))])], ["nodes=" + "_".join(map(str, range(300)))[:144]]),
    ],
)
def test_combinations_are_called_so_that_folders_can_be(values, names):
    assert list(combinations({"application": [{}, {}]}, values)) == names


def test_commas_in_brackets_and_quotation_marks_do_not_part_values():
    assert listed("minimal,par") == ["minimal", "par"]
    assert listed('[0,1],{a=[2,3]}, "x,]y"') == ["[0,1]", "{a=[2,3]}", '"x,]y"']


@pytest.mark.parametrize("there", [False, True])
def test_a_run_is_written_as_a_whole_or_not_at_all(alone, there, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    if there:
        (tmp_path / "run").mkdir()
        (tmp_path / "run/notes.txt").write_text("mine")
    kept = sorted(tmp_path.rglob("*"))
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.write_text", interrupted)
        with pytest.raises(KeyboardInterrupt):
            save(alone, tmp_path / "run")
    assert sorted(tmp_path.rglob("*")) == kept
    assert load(save(alone, tmp_path / "run")) == alone


def test_a_run_done_before_is_of_the_same_scenario(alone, tmp_path):
    nodes = tmp_path / "nodes.conf"
    nodes.write_text(" ".join(map(str, range(300))))
    content = {"application": [{**MILC, "nodes": str(nodes)}]}
    folder, run = tmp_path / "run", Run.of("run", Scenario.load(content), alone.outcome)
    assert done_before("run", Scenario.load(content), folder) is None
    save(run, folder)
    assert done_before("run", Scenario.load(content), folder) == run
    with pytest.raises(ExistsError, match="not known to be of this scenario"):
        done_before("run", Scenario.load({**content, "seed": 2}), folder)
    with pytest.raises(ExistsError):
        done_before("other", Scenario.load(content), folder)
    os.utime(nodes, (2**32, 2**32))
    with pytest.raises(ExistsError):
        done_before("run", Scenario.load(content), folder)
    text = (folder / "outcome.json").read_text()
    (folder / "outcome.json").write_text(text.replace('"version": "', '"version": "0.'))
    os.utime(nodes, (0, 0))
    with pytest.raises(ExistsError):
        done_before("run", Scenario.load(content), folder)


def test_what_was_found_is_told_where_it_cannot_be_written(alone, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    with pytest.raises(ThalwegError, match=r"run could not be written: No space left on device"):
        save(alone, tmp_path / "run")


def test_what_shares_a_machine_is_put_beside_itself_alone(alone, together):
    (row,) = interference([alone, together])
    assert (row["run"], row["application"], row["alone"]) == ("together", "milc", "alone")
    shared, own = together.outcome.applications[0], alone.outcome.applications[0]
    assert row["elapsed"] == pytest.approx(shared.elapsed_s / own.elapsed_s)
    assert row["maximum latency"] == pytest.approx(shared.message_latency.max_s / own.message_latency.max_s)
    assert row["I/O"] is None, "there was none"
    assert interference([replace(alone, scenario={**alone.scenario, "seed": 2}), together]) == []
    assert len(interference([replace(alone, scenario={**alone.scenario, "threads": 2}), together])) == 1


def test_what_gets_other_nodes_than_alone_is_beside_nothing():
    chosen = {"name": "milc", "iterations": 1, "placement": "random-nodes"}
    alone = replace(ran("alone", UNIFORM), scenario={"application": [chosen]})
    outcome = alone.outcome
    alone = replace(alone, outcome=replace(outcome, applications=[application_of("milc")]))
    applications = [application_of("milc"), application_of("milc 2")]
    two = replace(
        alone, scenario={"application": [chosen, chosen]}, outcome=replace(outcome, applications=applications)
    )
    assert [row["application"] for row in interference([alone, two])] == ["milc"]
    listed = replace(two, scenario={"application": [chosen, OTHER]})
    assert interference([alone, listed]) == []


def test_the_page_has_all_charts(alone, together, tmp_path):
    page = write_simulated([alone, together, ran("uniform", UNIFORM)], tmp_path / "page.html").read_text()
    for title in (
        "milc: message latency",
        "milc: communication time of its ranks",
        "Traffic of local links",
        "Saturation of global links",
        "together: traffic over time",
        "uniform: links on the topology",
        "Beside the same application alone",
    ):
        assert title in page
    assert "I/O time of its ranks" not in page, "nobody did any"


def test_a_page_shows_no_frame_for_what_is_not_there(flows, tmp_path):
    flat = {**UNIFORM, "network": {"topology": "single-switch", "nodes": 6}}
    tree = {**UNIFORM, "network": {"topology": "fat-tree", "down": [4, 2, 2], "up": [2, 2]}}
    page = write_simulated([flows, ran("flat", flat)], tmp_path / "page.html").read_text()
    assert "fidelity: flow, packet" in page and "traffic: uniform-random" in page
    assert "dragonfly of 1,056 nodes" in page and "single-switch of 6 nodes" in page
    assert "Packet latency" in page and "flows: links on the topology" in page
    assert "flat: links on the topology" not in page, "one router has no links to others"
    alone = write_simulated([flows], tmp_path / "flows.html").read_text()
    assert "Packet latency" not in alone and "fidelity: flow" in alone
    for content, absent in ((flat, ("local", "global")), (tree, ())):
        page = write_simulated([ran("run", content)], tmp_path / "run.html").read_text()
        for kind in ("local", "global"):
            assert (f"Traffic of {kind} links" in page) == (kind not in absent)


def test_a_page_says_what_ran_once_where_it_is_the_same(alone, together):
    behind = {**alone.scenario, "storage": {"arrangement": "storage-side"}, "seed": 2}
    same, apart = shared([alone, together, replace(alone, scenario=behind, version="")])
    assert same == {
        "fidelity": "packet",
        "model": "default",
        "topology": "dragonfly of 1,056 nodes",
        "routing": "minimal",
    }
    assert apart[1] == {
        "placement": "cont-1d-1056-300p1.conf, cont-1d-1056-300p2.conf",
        "storage": "compute-side, ssd",
        "seed": "1",
        "version": __version__,
    }
    assert apart[2]["storage"] == "storage-side, ssd below 64 KiB, else hdd"
    assert (apart[2]["seed"], apart[2]["version"]) == ("2", "not known")
    assert shared([alone])[1] == [{}]


def test_traffic_over_time_goes_on_to_the_end_of_the_run():
    moved = np.array([4e3, 2e3])
    figure = traffic_over_time([("local", moved)], 1e-6, 5e-6)
    (line,) = figure.data
    np.testing.assert_allclose(line.x, [0.5e-3, 1.5e-3, 2.5e-3, 5e-3])
    np.testing.assert_allclose(line.y, [4, 2, 0, 0])
    np.testing.assert_allclose(figure.layout.xaxis.range, [0, 5e-3])


def test_latencies_say_whose_they_are(tmp_path):
    checkpoint = {"application": [{"name": "checkpoint"}], "fidelity": "flow"}
    page = write_simulated([ran("stores", checkpoint)], tmp_path / "page.html").read_text()
    assert "checkpoint: latency of transfers to and from storage" in page
    assert "checkpoint: message latency" not in page


@pytest.mark.parametrize(
    ("names", "what", "labels"),
    [
        (["a,seed=1,routing=par", "a,seed=2,routing=par"], "seed", ["1", "2"]),
        (["a,seed=1", "b,seed=2"], "seed", ["a, 1", "b, 2"]),
        (["a,seed=1", "a,routing=par"], "", ["a,seed=1", "a,routing=par"]),
        (["a", "a,seed=1"], "", ["a", "a,seed=1"]),
        (["a,seed=1"], "", ["a,seed=1"]),
    ],
)
def test_labels_say_what_tells_runs_apart(names, what, labels):
    assert told_apart(names) == (what, labels)


TREE = {"topology": "fat-tree", "down": [4, 2, 3], "up": [2, 3]}


@pytest.mark.parametrize(
    ("network", "routers"),
    [
        ({}, 264),
        ({"groups": 1, "routers": 4, "nodes": 1, "global_links": 0}, 4),
        ({"topology": "torus", "extents": [3, 4]}, 12),
        ({"topology": "torus", "extents": [1, 9]}, 9),
        ({"topology": "torus", "extents": [2, 24]}, 48),
        ({"topology": "torus", "extents": [3, 4, 5, 3]}, 180),
        (TREE, 6 + 3 * 2 + 6),
        ({"topology": "k-ary-tree", "arity": 3, "levels": 3}, 27),
    ],
    ids=str,
)
def test_routers_stand_apart_in_no_strip(network, routers):
    points = Layout.of(network, routers).points
    assert points.shape == (routers, 2)
    assert len({tuple(point) for point in points.round(6)}) == routers
    width, height = points.max(axis=0) - points.min(axis=0)
    assert max(width, height) < 2.5 * min(width, height)


def test_levels_of_a_tree_are_rows_and_its_links_join_neighbouring_ones():
    outcome = ran("tree", {**UNIFORM, "network": TREE}).outcome
    points = Layout.of(TREE, 18).points
    heights = sorted({*points[:, 1].round(6)})
    assert [int((points[:, 1].round(6) == height).sum()) for height in heights] == [6, 6, 6]
    for link in outcome.links:
        if link.kind != "terminal":
            up, down = sorted((points[link.source, 1], points[link.target, 1]), reverse=True)
            assert up - down == pytest.approx(heights[1])


def test_what_closes_a_ring_leads_out_of_the_grid():
    network = {"topology": "torus", "extents": [4, 3], "nodes": 1}
    layout = Layout.of(network, 12)
    outcome = ran("torus", {**UNIFORM, "network": network}).outcome
    pairs = {tuple(sorted((link.source, link.target))) for link in outcome.links if link.kind == "local"}
    ends = np.array(sorted(pairs))
    pieces = layout.lines(ends).reshape(-1, 6, 2)
    cell = layout.points[5] - layout.points[0]
    for (a, b), piece in zip(ends, pieces, strict=True):
        if np.isnan(piece[3, 0]):
            np.testing.assert_allclose(piece[:2], layout.points[[a, b]])
            assert np.abs((piece[1] - piece[0]) / cell).sum() == pytest.approx(1)
        else:
            outside = piece[[1, 4]]
            assert (
                (outside < layout.points.min(axis=0)).any(axis=1) | (outside > layout.points.max(axis=0)).any(axis=1)
            ).all()
    assert np.isnan(pieces[:, 3, 0]).sum() == 3 * 3 + 4 * 2, "all but one link of each ring are straight"


def test_commands_write_folders_and_pages(tmp_path):
    (tmp_path / "uniform.toml").write_text(
        '[synthetic]\npattern = "shift"\nmessage_bytes = "4KiB"\nmean_gap_ns = 2000\nmessages = 2\n'
    )
    done = thalweg(
        "sim",
        "sweep",
        "uniform.toml",
        "--set",
        "network.routing=minimal,par",
        "--out",
        "both",
        "--json",
        "-",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    names = ["uniform,routing=minimal", "uniform,routing=par"]
    assert list(dict.fromkeys(row["scenario"] for row in json.loads(done.stdout)["rows"])) == names
    assert {path.name for path in (tmp_path / "both").iterdir()} == {*names, "report.html"}
    again = thalweg("sim", "compare", "both", "--out", "again.html", cwd=tmp_path)
    assert again.returncode == 0 and (tmp_path / "again.html").exists(), again.stderr
    one = thalweg("sim", "run", "uniform.toml", cwd=tmp_path)
    assert one.returncode == 0 and (tmp_path / "runs/sim-uniform-001/report.html").exists(), one.stderr
    for words, message in (
        (("compare", "runs/sim-uniform-001"), "one run was given, uniform; expected two or more"),
        (("compare", "both", "nowhere"), "there is no run in nowhere"),
        (("sweep", "uniform.toml", "--set", "seed"), "--set 'seed': expected KEY=VALUE,VALUE,…"),
        (("sweep", "uniform.toml", "--set", "seed=1,01"), "uniform,seed=1 and uniform,seed=01 are the same scenario"),
        (("run", "uniform.toml", "--out", "runs/sim-uniform-001"), "has a run already"),
        (("run", "uniform.toml", "--out", "uniform.toml"), "uniform.toml cannot be written to: it is a file"),
        (
            ("sweep", "uniform.toml", "--out", "uniform.toml/in"),
            "uniform.toml/in cannot be written to: Not a directory",
        ),
        (("compare", "both", "--out", "both"), "--out: both is a folder; name a page"),
        (("validate", "--only", "storage-*", "--json", "both"), "--json: both is a folder; name a file"),
    ):
        refused = thalweg("sim", *words, cwd=tmp_path)
        assert refused.returncode != 0 and message in refused.stderr


PROGRAM = (
    "all tasks t asynchronously send a 4 kilobyte message to task (t+1) mod num_tasks then all tasks await completion"
)


def test_a_sweep_does_what_can_run_and_goes_on_where_it_ended(tmp_path):
    (tmp_path / "ring.ncptl").write_text(PROGRAM)
    scenario = tmp_path / "ring.toml"
    scenario.write_text('[[application]]\nprogram = "ring.ncptl"\nranks = 4\n')
    ranks = ("--set", "application.0.ranks=4,4000,8")
    one = thalweg("sim", "sweep", "ring.toml", *ranks[:1], "application.0.ranks=4", "--out", "both", cwd=tmp_path)
    assert one.returncode == 0, one.stderr
    written = (tmp_path / "both/ring,ranks=4/outcome.json").stat().st_mtime_ns
    (tmp_path / "both/ring,ranks=9.partial").mkdir()
    for again, done in ((1, "1 of 3 done before"), (2, "2 of 3 done before")):
        swept = thalweg("sim", "sweep", "ring.toml", *ranks, "--out", "both", cwd=tmp_path)
        assert swept.returncode == 2 and done in swept.stdout, again
        assert "1 of 3 scenarios could not run:\nring,ranks=4000: " in swept.stderr
        assert "ring,ranks=8" in (tmp_path / "both/report.html").read_text()
    assert (tmp_path / "both/ring,ranks=4/outcome.json").stat().st_mtime_ns == written
    assert not (tmp_path / "both/ring,ranks=4000").exists()
    beside = thalweg("sim", "compare", "both", cwd=tmp_path)
    assert beside.returncode == 0 and "ring,ranks=9.partial holds no whole run; it is left out" in beside.stdout
    scenario.write_text(scenario.read_text() + "placement = 'random-nodes'\n")
    other = thalweg("sim", "sweep", "ring.toml", *ranks, "--out", "both", cwd=tmp_path)
    assert other.returncode == 1 and "is not known to be of this scenario" in other.stderr


def test_prints_say_which_runs_are_flows_and_whose_latencies_they_have(tmp_path):
    (tmp_path / "store.toml").write_text('fidelity = "flow"\n[[application]]\nname = "checkpoint"\n')
    one = thalweg("sim", "run", "store.toml", cwd=tmp_path)
    assert one.returncode == 0, one.stderr
    assert one.stdout.startswith("store (fidelity: flow)")
    assert "checkpoint: sends no messages; its latency is that of transfers to and from storage" in one.stdout
    (tmp_path / "uniform.toml").write_text(
        '[synthetic]\npattern = "shift"\nmessage_bytes = "4KiB"\nmean_gap_ns = 2000\nmessages = 2\n'
    )
    both = thalweg("sim", "sweep", "uniform.toml", "--set", "fidelity=packet,flow", "--json", "-", cwd=tmp_path)
    assert both.returncode == 0, both.stderr
    latency = {
        row["scenario"]: row["value"] for row in json.loads(both.stdout)["rows"] if row["quantity"] == "latency_us_max"
    }
    assert latency["uniform,fidelity=flow"] is None and latency["uniform,fidelity=packet"] > 0
    assert "fidelity" in both.stderr


def test_the_benchmark_tells_events_packets_and_the_limit(tmp_path):
    (tmp_path / "small.toml").write_text(
        '[synthetic]\npattern = "shift"\nmessage_bytes = "4KiB"\nmean_gap_ns = 2000\nmessages = 2\n'
    )
    done = thalweg("bench", "sim", "small.toml", "--threads", "1,2", "--repeats", "1", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    one, two = told["rows"]
    assert list(one) == [
        "scenario",
        "fidelity",
        "threads",
        "events",
        "packets",
        "cpu_s",
        "wall_s",
        "packets_per_cpu_s",
        "peak_memory_bytes",
    ]
    assert (one["scenario"], one["packets"], one["events"]) == ("small", 2112, two["events"])
    assert told["limits"]["queue_events_per_cpu_s"] > 0


def test_of_many_links_those_with_most_are_drawn():
    pairs = [(a, b) for a in range(150) for b in range(a)]
    links = [Link(a, b, "local", [number], 0.0) for number, (a, b) in enumerate(pairs)]
    traffic = Heat.of(np.arange(len(pairs)) / 1e6)
    figure = link_map(links, Layout.of({}, 150), traffic, Heat.of(np.zeros(1)))
    drawn = sum(len(line.x) // 3 for line in figure.data if line.mode == "lines" and line.xaxis == "x")
    assert drawn == 6000 < len(pairs)
    assert figure.layout.annotations[0].text == "traffic / MB, those 6,000 of 11,175 links with most"
    assert figure.data[0].name != "0", "links without traffic are left out first"
