"""Every wait ends, and both programs hear why."""

from __future__ import annotations

import time

import pytest

from thalweg.errors import ConfigError
from thalweg.redirect import Coupling

RULES = """
deadline_s = {deadline}
[components]
writer = "writer.py"
reader = "reader.py"
[[files]]
match = "*.nc"
turns = {turns}
"""
READ = "print(open('step.nc', 'rb').read())"
#: Does its work until it is told that the exchange has failed.
PERSIST = """
import time
for _ in range(600):
    try:
        with open("answer.nc", "wb") as file:
            file.write(b"x")
    except OSError as error:
        raise SystemExit(f"heard: {error.strerror}")
    time.sleep(0.1)
"""


def rules(deadline: float, turns: list[str]) -> str:
    return RULES.format(deadline=deadline, turns=turns)


def test_a_killed_writer_is_heard_of_by_its_reader(coupled, program):
    die = "import os, signal; file = open('step.nc', 'wb'); os.kill(os.getpid(), signal.SIGKILL)"
    begin = time.monotonic()
    done = coupled(rules(60, []), *program("writer.py", die), ":", *program("reader.py", READ))
    assert time.monotonic() - begin < 50, "nobody waits for the deadline"
    assert done.returncode == 1
    # By its connection, or by the launcher, whichever was faster.
    closed, failed = 'ended before it had closed "', 'component "writer" failed: killed by SIGKILL'
    assert closed in done.stderr or failed in done.stderr
    assert "component 'writer' failed: killed by SIGKILL" in done.stderr


def test_a_killed_reader_is_heard_of_by_its_writer(coupled, program):
    die = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    done = coupled(rules(60, []), *program("writer.py", PERSIST), ":", *program("reader.py", die))
    assert done.returncode == 1
    assert "heard: Input/output error" in done.stderr
    assert 'redirect: component "reader" failed: killed by SIGKILL' in done.stderr


def test_who_would_wait_for_a_component_that_has_ended_is_told(coupled, program):
    done = coupled(rules(60, ["writer", "reader"]), *program("writer.py", ""), ":", *program("reader.py", READ))
    assert done.returncode == 1
    assert 'step.nc" waits for component "writer", whose turn it is, but nobody is left to do so' in done.stderr


def test_what_nobody_writes_in_time_is_named_with_whom_it_waited_for(coupled, program):
    sleeps = "import time; time.sleep(3)"
    done = coupled(rules(1, ["writer", "reader"]), *program("writer.py", sleeps), ":", *program("reader.py", READ))
    assert done.returncode == 1
    assert 'step.nc" waited 1 s for component "writer", whose turn it is' in done.stderr
    assert "TimeoutError" in done.stderr


def test_a_program_that_goes_on_after_a_failure_is_ended(coupled, program):
    stays = "import time; time.sleep(100)"
    done = coupled(rules(0.5, []), *program("writer.py", "raise SystemExit(3)"), ":", *program("reader.py", stays))
    assert done.returncode == 1
    assert "component 'writer' failed: exit status 3" in done.stderr
    assert "component 'reader' failed: killed by SIGTERM" in done.stderr


def test_a_file_that_cannot_be_written_behind_memory_fails_the_command(coupled, program, tmp_path):
    gone = "import os; file = open('sub/step.nc', 'wb'); file.write(b'x'); os.rmdir('sub'); file.close()"
    (tmp_path / "sub").mkdir()
    done = coupled(rules(5, []) + 'mode = "both"', *program("writer.py", gone))
    assert done.returncode == 1
    assert "redirect: files could not be written:" in done.stderr and "sub/step.nc" in done.stderr


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "redirect: files: is missing"),
        ({"files": []}, "holds 0 files; give 1 to 256"),
        ({"files": [{"match": "*.nc", "modes": "memory"}]}, "redirect: files[0].modes"),
        ({"files": [{"match": "*.nc", "mode": "disk"}]}, "redirect: files[0].mode: is 'disk'"),
        ({"files": [{"match": ""}]}, "redirect: files[0].match"),
        ({"files": [{"match": "a\tb"}]}, "redirect: files[0].match"),
        ({"files": [{"match": "*"}], "deadline_s": 0}, "redirect: deadline_s: is 0"),
        ({"files": [{"match": "*", "turns": ["b"]}], "components": {"a": "a.out"}}, "'b' in the turns of '*'"),
    ],
)
def test_wrong_rules_are_refused_with_their_key(source, message):
    with pytest.raises(ConfigError) as refused:
        Coupling.load(source)
    assert message in str(refused.value)


def test_a_command_that_does_not_exist_is_refused(coupled):
    done = coupled(rules(5, []), "no-such-program")
    assert (done.returncode, done.stderr) == (
        2,
        "thalweg: error: redirect: 'no-such-program' cannot be started: No such file or directory\n",
    )


def test_no_file_is_made_beyond_the_limit_of_memory(coupled, program):
    fill = """
import errno
for n in range(10):
    try:
        with open(f"step{n}.nc", "wb") as file:
            file.write(bytes(1 << 20))
    except OSError as error:
        print(n, errno.errorcode[error.errno])
        break
"""
    limited = 'memory_limit_bytes = 4_000_000\n[[files]]\nmatch = "*.nc"\n'
    done = coupled(limited, *program("writer.py", fill))
    assert done.stdout == "4 ENOSPC\n"
    assert "redirected files take 4 MiB of 3.81 MiB" in done.stderr


def test_a_component_alone_is_told_at_once_what_is_not_there(coupled, program):
    read = "try: open('step.nc')\nexcept FileNotFoundError as error: print(error.strerror)"
    rules = 'deadline_s = 60\ncomponents.reader = "reader.py"\n[[files]]\nmatch = "*.nc"\n'
    begin = time.monotonic()
    done = coupled(rules, *program("reader.py", read))
    assert (done.returncode, done.stdout, done.stderr) == (0, "No such file or directory\n", "")
    assert time.monotonic() - begin < 40, "nobody waits for the deadline"
