"""Functions of components that end badly; beside each workflow file of failures.toml."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import sys
import threading
import time

from thalweg import DataStore
from thalweg.workflow import submit


def nothing():
    pass


def raises():
    raise ValueError("viscosity is negative")


def raises_with_a_child():
    if os.fork() == 0:
        time.sleep(1000)
    raise ValueError("viscosity is negative")


def exits(status):
    print("no convergence")
    sys.exit(status)


def dies(signal_name):
    os.kill(os.getpid(), getattr(signal, signal_name))


def sleeps():
    time.sleep(1000)


def eats_memory():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    bytearray(1 << 31)


def returns_a_lock():
    return threading.Lock()


def reads_what_nobody_writes(server):
    with DataStore("reader", server) as store:
        store.stage_read("field/0", timeout_s=0.2)


def writes_too_much(server):
    with DataStore("writer", server) as store:
        store.stage_write("field/0", bytes(8 << 20))


def kills_the_server(server):
    import redis

    instance = server["instances"][0]
    with redis.Redis(**instance) as client:
        pid = client.info("server")["process_id"]
    with DataStore("reader", server) as store:
        os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):  # until nobody listens any more
            while True:
                socket.create_connection((instance["host"], instance["port"])).close()
        store.stage_read("field/0", timeout_s=30)


def stages_an_object(server):
    with DataStore("writer", server) as store:
        store.stage_write("field/0", {"rho": 1.0})


def divide(a, b):
    return a / b


def task_raises():
    submit(divide, 1, 0).result()


def task_that_nobody_looks_at_raises():
    submit(divide, 1, 0)


def task_is_killed():
    submit(dies, "SIGKILL").result()


def a_rank_raises():
    if os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK")) == "1":
        raise ValueError("viscosity is negative")
    time.sleep(1000)


def wrong_simulation():
    from thalweg import Simulation

    Simulation("solver", {"kernels": []})
