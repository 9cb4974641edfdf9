"""A file is in use until its last descriptor, stream and mapping are gone."""

from __future__ import annotations

import pytest

RULES = """
deadline_s = 200
[components]
writer = "writer.py"
reader = "reader.py"
[[files]]
match = "*.nc"
"""
#: Each writes one half, seems to have done with the file, and writes the other one later.
WAYS = {
    "a copy": """
        file = os.open("step.nc", os.O_RDWR | os.O_CREAT)
        os.write(file, half)
        again = os.dup(file)
        os.close(file)
        later()
        os.write(again, half)
        os.close(again)
    """,
    "a copy that could not be made": """
        file = os.open("step.nc", os.O_RDWR | os.O_CREAT)
        os.write(file, half)
        other = os.open("other.nc", os.O_RDWR | os.O_CREAT)
        try:
            os.dup2(10**6, file)
        except OSError as error:
            print("refused:", error.errno)
        later()
        os.write(file, half)
        os.close(file)
    """,
    "a mapping": """
        with open("step.nc", "wb+") as file:
            file.truncate(2 * len(half))
            memory = mmap.mmap(file.fileno(), 0)
        memory[: len(half)] = half
        later()
        memory[len(half) :] = half
        memory.close()
    """,
    "an array": """
        import numpy as np
        array = np.memmap("step.nc", np.uint8, "w+", shape=2 * len(half))
        array[: len(half)] = 120
        later()
        array[len(half) :] = 120
        del array
        time.sleep(1)
    """,
    "many closed": """
        file = os.open("step.nc", os.O_RDWR | os.O_CREAT)
        os.write(file, half)
        os.closerange(file + 1, file + 50)
        later()
        os.write(file, half)
        ctypes.CDLL(None).close_range(file, file + 50, 0)
        time.sleep(1)
    """,
    "a stream": """
        c = ctypes.CDLL(None)
        c.freopen.restype = c.fopen.restype = ctypes.c_void_p
        stream = ctypes.c_void_p(c.fopen(b"/dev/null", b"w"))
        assert c.freopen(b"step.nc", b"w", stream)
        c.fputs(half, stream)
        c.fflush(stream)
        later()
        c.fputs(half, stream)
        assert c.freopen(b"/dev/null", b"w", stream)
        time.sleep(1)
    """,
}
READ = "data = open('step.nc', 'rb').read(); print('read', len(data), set(data))"


@pytest.mark.parametrize("way", WAYS)
def test_who_reads_a_file_finds_both_halves(coupled, program, way):
    lines = "\n".join(line.strip() if not line.startswith(" " * 12) else line[8:] for line in WAYS[way].splitlines())
    head = "import ctypes, mmap, os, time\nhalf = b'x' * 5000\ndef later(): time.sleep(0.5)\n"
    done = coupled(RULES, *program("writer.py", head + lines), ":", *program("reader.py", READ))
    assert done.returncode == 0, done.stderr
    assert "read 10000 {120}" in done.stdout


def test_a_child_ends_nothing_that_its_parent_has_mapped(coupled, program):
    write = """
import mmap, os, time
with open("step.nc", "wb+") as file:
    file.truncate(8192)
    memory = mmap.mmap(file.fileno(), 0)
if os.fork() == 0:
    memory.close()
    os._exit(0)
assert os.wait()[1] == 0
time.sleep(0.5)
memory[:] = b"x" * 8192
memory.close()
"""
    done = coupled(RULES, *program("writer.py", write), ":", *program("reader.py", READ))
    assert done.returncode == 0, done.stderr
    assert "read 8192 {120}" in done.stdout


def test_links_lead_to_files_in_memory(coupled, program, tmp_path):
    write = """
import os
with open("step-7.nc", "wb") as file:
    file.write(b"seven")
os.symlink("step-7.nc", "latest.nc")
print(os.path.islink("latest.nc"), open("latest.nc").read(), os.path.getsize("latest.nc"))
os.remove("latest.nc")
print(os.path.lexists("latest.nc"), open("step-7.nc").read())
os.symlink("loop.nc", "loop.nc")
try:
    open("loop.nc")
except OSError as error:
    print(error.strerror)
"""
    done = coupled(RULES, *program("writer.py", write))
    assert done.stdout == "True seven 5\nFalse seven\nToo many levels of symbolic links\n", done.stderr
    assert not (tmp_path / "step-7.nc").exists()
