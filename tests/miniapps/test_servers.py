"""Servers are real, answer when started, and leave nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest

from thalweg import DataStore, ServerManager
from thalweg.errors import AccessError, ConfigError, FullError, InvalidError, MissingLibraryError, ServerGoneError
from thalweg.servers import directories

needs_redis = pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")
PATIENCE_S = 30.0


def redis_of(info):
    import redis

    client = redis.Redis(**info["instances"][0])
    try:
        return client.info("server")["process_id"], client.config_get("*")
    finally:
        client.close()


def wait_gone(pid):
    until = time.monotonic() + PATIENCE_S
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < until, f"process {pid} still runs"
        threading.Event().wait(0.01)


@needs_redis
def test_redis_listens_on_loopback_with_a_password_and_saves_nothing():
    with ServerManager("s", "redis") as server:
        info = server.get_server_info()
        pid, settings = redis_of(info)
        assert (settings["bind"], settings["save"], settings["appendonly"]) == ("127.0.0.1", "", "no")
        command = " ".join(psutil.Process(pid).cmdline())
        assert info["instances"][0]["password"] not in command
        with pytest.raises(AccessError, match="refused the password"):
            DataStore("d", {**info, "instances": [{**info["instances"][0], "password": "wrong"}]})
        import redis

        client = redis.Redis(**info["instances"][0])
        with pytest.raises(redis.ResponseError):
            client.save()  # whoever has the password cannot make it leave a file either
        client.close()
    wait_gone(pid)


@needs_redis
def test_redis_dies_with_the_process_that_started_it_and_leaves_no_file(tmp_path):
    script = (
        "from thalweg import ServerManager; import redis, time\n"
        "info = ServerManager('s', 'redis').start_server()\n"
        "client = redis.Redis(**info['instances'][0])\n"
        "print(client.info('server')['process_id'], flush=True); time.sleep(1000)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    pid = int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()
    wait_gone(pid)
    assert list(tmp_path.iterdir()) == []


@needs_redis
def test_redis_started_in_a_thread_that_ends_keeps_running():
    server = ServerManager("s", "redis")
    thread = threading.Thread(target=server.start_server)
    thread.start()
    thread.join()
    with DataStore("d", server.get_server_info()) as store:
        store.stage_write("a", b"1")
        assert bytes(store.stage_read("a", 0)) == b"1"
    server.stop_server()


@needs_redis
def test_a_port_that_is_taken_is_a_clear_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigError, match=rf"port: {port} on 127.0.0.1 is taken by another program; give another one, or 0"
        ):
            ServerManager("s", {"type": "redis", "port": port}).start_server()


@needs_redis
def test_a_free_port_that_is_snatched_is_tried_again(monkeypatch):
    import thalweg.servers.redis_process as module

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        real, ports = module._free_port, [taken.getsockname()[1]]
        monkeypatch.setattr(module, "_free_port", lambda host: ports.pop() if ports else real(host))
        with ServerManager("s", "redis") as server, DataStore("d", server.get_server_info()) as store:
            store.stage_write("a", b"")
        assert not ports


@needs_redis
def test_values_over_the_piece_size_are_cut_joined_replaced_and_removed():
    with ServerManager("s", "redis") as server:
        info = {**server.get_server_info(), "piece_bytes": 1000}
        with DataStore("d", info) as store:
            import redis

            client = redis.Redis(**info["instances"][0])
            for count in (125, 126, 10_000, 4000, 10):
                value = np.random.default_rng(count).random(count)
                store.stage_write("a", value)
                assert np.array_equal(store.stage_read("a", 0), value)
                into = np.zeros(count)
                assert np.array_equal(store.stage_read("a", 0, into=into), value)
            store.stage_write("b", np.zeros(5000))
            assert store.clean_staged_data("b")
            assert store.clean_staged_data("a")
            assert client.keys("*:c:*") == []
            client.close()


@needs_redis
def test_a_redis_that_is_full_says_so():
    server = ServerManager("s", {"type": "redis", "memory_limit_bytes": 4 << 20})
    with server, DataStore("d", server.get_server_info()) as store, pytest.raises(FullError, match="memory limit"):
        for number in range(10):
            store.stage_write(f"a/{number}", np.zeros(1 << 17))


@needs_redis
def test_a_redis_that_does_not_start_says_why(tmp_path):
    program = tmp_path / "broken-redis"
    program.write_text("#!/bin/sh\necho no room on this ship >&2\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(ServerGoneError, match="did not start: no room on this ship"):
        ServerManager("s", {"type": "redis", "executable": str(program)}).start_server()


def test_a_program_that_is_not_there_names_what_to_install():
    with pytest.raises(MissingLibraryError, match="there is no program 'no-redis'; install it"):
        ServerManager("s", {"type": "redis", "executable": "no-redis"}).start_server()


def test_each_run_has_its_own_namespace_and_removes_it(tmp_path):
    config = {"type": "filesystem", "path": str(tmp_path), "shards": 4}
    with ServerManager("s", config) as one, ServerManager("s", config) as two:
        with DataStore("d", one.get_server_info()) as first, DataStore("d", two.get_server_info()) as second:
            first.stage_write("a", b"1")
            assert not second.poll_staged_data("a")
        assert len(list(tmp_path.glob("thalweg-*"))) == 2
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_is_removed_by_the_next_and_a_living_one_is_kept(tmp_path):
    script = (
        "import sys, time; from thalweg import ServerManager\n"
        "print(ServerManager('s', {'type': 'node-local', 'path': sys.argv[1]}).start_server()['path'], flush=True)\n"
        "time.sleep(1000)\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    dead, living = (Path(process.stdout.readline().strip()) for process in processes)
    processes[0].send_signal(signal.SIGKILL)
    processes[0].wait()
    try:
        with ServerManager("s", {"type": "node-local", "path": str(tmp_path)}):
            assert not dead.exists()
            assert living.exists()
    finally:
        processes[1].kill()
        processes[1].wait()
        for process in processes:
            process.stdout.close()


_MAKE_A_NAMESPACE = """
import fcntl, json, os, signal, sys
import thalweg.servers.directories as directories
from thalweg import ServerManager
real_owner, real_flock, real_rmtree = directories.owner, fcntl.flock, directories.shutil.rmtree

def stop():
    if sys.argv[2].endswith("dies"):
        os.kill(os.getpid(), signal.SIGKILL)
    print("reached", flush=True)
    sys.stdin.readline()

def owner(*args):
    directories.owner = real_owner
    stop()
    return real_owner(*args)

def flock(*args):
    fcntl.flock = real_flock
    stop()
    return real_flock(*args)

def rmtree(*args, **options):
    stop()

directories.owner = owner if sys.argv[2].startswith("owner") else real_owner
server = ServerManager("s", {"type": "node-local", "path": sys.argv[1]})
if sys.argv[2].startswith("lock"):
    directories.sweep = lambda base: fcntl.__setattr__("flock", flock)
path = server.start_server()["path"]
print(path, flush=True)
directories.shutil.rmtree = rmtree if sys.argv[2].startswith("removal") else real_rmtree
sys.stdin.readline()
server.stop_server()
"""


def make_a_namespace(base, where):
    return subprocess.Popen(
        [sys.executable, "-c", _MAKE_A_NAMESPACE, str(base), where],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("where", ["owner, dies", "lock, dies", "removal, dies"])
def test_what_was_killed_while_a_namespace_was_made_or_removed_is_swept(where, tmp_path):
    process = make_a_namespace(tmp_path, where)
    process.communicate("\n\n")
    assert process.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    with ServerManager("s", {"type": "node-local", "path": str(tmp_path)}):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["owner", "lock"])
def test_a_namespace_that_is_just_being_made_is_there_for_its_maker(where, tmp_path):
    process = make_a_namespace(tmp_path, where)
    assert process.stdout.readline() == "reached\n"
    with ServerManager("s", {"type": "node-local", "path": str(tmp_path)}):
        process.stdin.write("\n")
        process.stdin.flush()
        made = Path(process.stdout.readline().strip())
        assert (made / "owner.json").read_text()
        assert len(list(made.iterdir())) == 17
    with ServerManager("s", {"type": "node-local", "path": str(tmp_path)}):
        assert made.is_dir()
    process.communicate("\n")
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_forked_child_that_outlives_the_owner_does_not_keep_its_namespace(tmp_path):
    script = (
        "import os, sys, time; from thalweg import ServerManager\n"
        "server = ServerManager('s', {'type': 'node-local', 'path': sys.argv[1]}); server.start_server()\n"
        "child = os.fork()\n"
        "print(os.getpid(), flush=True) if not child else None\n"
        "time.sleep(1000)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    child = int(owner.stdout.readline())
    try:
        with ServerManager("s", {"type": "node-local", "path": str(tmp_path)}):
            assert len(list(tmp_path.iterdir())) == 2
        owner.kill()
        owner.wait()
        with ServerManager("s", {"type": "node-local", "path": str(tmp_path)}):
            assert len(list(tmp_path.iterdir())) == 1
    finally:
        owner.kill()
        os.kill(child, signal.SIGKILL)
        owner.stdout.close()


def test_a_living_owner_in_another_process_namespace_keeps_its_data(tmp_path):
    with ServerManager("s", {"type": "node-local", "path": str(tmp_path)}) as living:
        root = Path(living.get_server_info()["path"])
        described = json.loads((root / "owner.json").read_text())
        (root / "owner.json").write_text(json.dumps({**described, "pid": 1, "start": "another process here"}))
        with ServerManager("s", {"type": "node-local", "path": str(tmp_path)}):
            assert root.is_dir()


def test_what_another_host_or_an_older_release_made_is_judged_as_before(tmp_path):
    foreign, living, dead = (tmp_path / f"thalweg-{name}" for name in ("foreign", "living", "dead"))
    unfinished = tmp_path / ".thalweg-s-1.0123456789ab.new"
    me = {key: value for key, value in directories.owner(None).items() if key != "lock"}
    for root, described in ((foreign, {**me, "host": "other", "pid": 0}), (living, me), (dead, {**me, "start": "0"})):
        root.mkdir()
        (root / "owner.json").write_text(json.dumps(described))
    unfinished.mkdir()
    (tmp_path / "thalweg-notes").mkdir()
    assert directories.sweep(tmp_path) == [dead]
    assert sorted(tmp_path.iterdir()) == sorted([unfinished, foreign, living, tmp_path / "thalweg-notes"])


def test_a_directory_that_cannot_be_made_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"path: .* cannot be made: Not a directory; give a directory"):
        ServerManager("s", {"type": "filesystem", "path": str(tmp_path / "file" / "x")}).start_server()


def test_starting_twice_is_refused_and_stopping_twice_is_not():
    server = ServerManager("s", "node-local")
    server.start_server()
    with pytest.raises(InvalidError, match="'s' runs already; stop it first"):
        server.start_server()
    server.stop_server()
    server.stop_server()
    assert os.path.isdir("/dev/shm")


@needs_redis
@pytest.mark.parametrize("cluster", [False, True])
def test_several_redis_servers_share_the_keys_and_the_memory_limit(cluster):
    config = {"type": "redis", "instances": 3, "cluster": cluster, "memory_limit_bytes": 90 << 20}
    with ServerManager("s", config) as server, DataStore("d", server.get_server_info()) as store:
        keys = [f"k/{number}" for number in range(60)] + ["}brace", "{}", "a{b}c"]
        store.stage_write_many({key: key.encode() for key in keys})
        assert {key: bytes(value).decode() for key, value in store.stage_read_many(keys).items()} == {
            key: key for key in keys
        }
        counts = []
        for instance in server.get_server_info()["instances"]:
            _, settings = redis_of({"instances": [instance]})
            assert (settings["maxmemory"], settings["bind"], settings["save"]) == (str(30 << 20), "127.0.0.1", "")
            counts.append(keys_of(instance))
        assert sum(counts) == 2 * len(keys)
        assert min(counts) > 0
        assert len({instance["password"] for instance in server.get_server_info()["instances"]}) == (
            1 if cluster else 3
        )


def keys_of(instance):
    import redis

    client = redis.Redis(**instance)
    try:
        return client.dbsize()
    finally:
        client.close()


@needs_redis
@pytest.mark.parametrize("cluster", [False, True])
def test_one_of_several_redis_servers_that_dies_is_named_and_the_others_serve_on(cluster):
    config = {"type": "redis", "instances": 3, "cluster": cluster}
    with ServerManager("s", config) as server, DataStore("d", server.get_server_info()) as store:
        dead = server.get_server_info()["instances"][1]
        pid, _ = redis_of({"instances": [dead]})
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(store.wait, [f"never/{number}" for number in range(60)], 10 * PATIENCE_S)
            os.kill(pid, signal.SIGKILL)
            address = rf"127\.0\.0\.1:{dead['port']}"
            with pytest.raises(ServerGoneError, match=rf"wait: the Redis server at {address} does not answer"):
                waiting.result(PATIENCE_S)
        served = 0
        for number in range(60):
            try:
                store.stage_write(f"k/{number}", b"")
                served += 1
            except ServerGoneError as error:
                assert f"the Redis server at 127.0.0.1:{dead['port']} does not answer" in str(error)
        assert 0 < served < 60


@needs_redis
def test_a_redis_cluster_leaves_no_process_and_no_file_also_when_its_starter_is_killed(tmp_path):
    base = tmp_path / "base"
    base.mkdir()
    script = (
        "import sys, time; from pathlib import Path\n"
        "import thalweg.servers.redis as module; from thalweg import ServerManager\n"
        "module.default_base = lambda: Path(sys.argv[1])\n"
        "server = ServerManager('s', {'type': 'redis', 'instances': 3, 'cluster': True})\n"
        "server.start_server()\n"
        "print(*(process._process.pid for process in server._server._processes), flush=True)\n"
        "sys.stdin.readline() or time.sleep(1000)\n"
        "server.stop_server()\n"
    )
    for killed in (False, True):
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(base)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert len(pids) == 3
        assert len(list(base.glob("thalweg-*/nodes-*.conf"))) == 3
        if killed:
            process.kill()
            process.communicate()
        else:
            process.communicate("\n")
        for pid in pids:
            wait_gone(pid)
        assert len(list(base.iterdir())) == killed
    directories.Namespace(base, "next", 0).remove()
    assert list(base.iterdir()) == []


@needs_redis
def test_a_bus_port_that_is_taken_is_a_clear_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1] - 10_000
        taken.listen()
        with pytest.raises(
            ConfigError,
            match=rf"^ServerManager: port: {port + 10_000} \(the cluster bus of port {port}, that is 10000 more\) on "
            r"127\.0\.0\.1 is taken by another program; give another one, or 0 for a free one$",
        ):
            ServerManager("s", {"type": "redis", "instances": 3, "cluster": True, "port": port}).start_server()


@needs_redis
def test_named_ports_are_in_a_row():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with ServerManager("s", {"type": "redis", "instances": 2, "port": port}) as server:
        assert [instance["port"] for instance in server.get_server_info()["instances"]] == [port, port + 1]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"cluster": True}, "cluster needs 3 instances or more, instances is 1; set instances to 3"),
        ({"instances": 0}, "instances: .*0"),
        ({"instances": 2, "port": 65535}, "port is 65535, too high for 2 instances in a row; give at most 65534"),
        (
            {"instances": 3, "cluster": True, "port": 60000},
            "port is 60000, too high for 3 instances in a row with a bus port each; give at most 55533",
        ),
        (
            {"instances": 3, "memory_limit_bytes": 2 << 20},
            "memory_limit_bytes is 2097152, shared by 3 instances; give at least 3145728",
        ),
    ],
)
def test_a_wrong_number_of_redis_servers_is_refused_before_anything_starts(config, message):
    with pytest.raises(ConfigError, match=message):
        ServerManager("s", {"type": "redis", **config})
