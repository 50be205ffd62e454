"""Data folders of Postgres, made quickly.

initdb takes two seconds, one of them CPU time. It runs once for each set of
programs, into build/postgres; servers get a copy of that. A copy has a system
identifier of its own, as if initdb had made it: walpost tells clusters by it.
"""

import fcntl
import hashlib
import os
import pathlib
import secrets
import shutil
import subprocess
import tempfile

from harness.paths import REPOSITORY
from harness.process import Process

# In pg_control and on the first page of a WAL segment (XLogLongPageHeader).
_IDENTIFIER_BYTES = 8
_PLACE_IN_CONTROL = 0
_PLACE_IN_SEGMENT = 24


def make_data_folder(data, programs, usable, user):
    """Does what `initdb -D data` does.

    `usable` are the programs, or a copy of them, where `user` may go, who owns the
    folder; None: we do.
    """
    template = _template(programs, usable, user)
    subprocess.run(["cp", "-r", "--sparse=always", template, data], check=True)
    identifier = secrets.randbits(62).to_bytes(_IDENTIFIER_BYTES, "little")
    control = data / "global" / "pg_control"
    content = bytearray(control.read_bytes())
    size = _checked_size(content)
    _put(content, _PLACE_IN_CONTROL, identifier)
    _put(content, size, _crc32c(content[:size]))
    control.write_bytes(content)
    for segment in (data / "pg_wal").iterdir():
        if segment.is_file():
            with open(segment, "r+b") as file:
                file.seek(_PLACE_IN_SEGMENT)
                file.write(identifier)
    if user is not None:
        subprocess.run(["chown", "-R", f"{user.pw_uid}:{user.pw_gid}", data],
                       check=True)
    data.chmod(0o700)


def _template(programs, usable, user):
    """What initdb has made, once for these programs."""
    server = (programs / "postgres").resolve()
    known = repr((str(server), os.stat(server).st_mtime_ns,
                  os.stat(server).st_size))
    folder = (REPOSITORY / "build" / "postgres" /
              hashlib.sha256(known.encode()).hexdigest()[:16])
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Tests that start together: one makes it, the others wait.
    with open(folder.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(prefix="walpost-e2e-") as work:
                _initdb(pathlib.Path(work), usable, user)
                with tempfile.TemporaryDirectory(dir=folder.parent) as beside:
                    made = pathlib.Path(beside, "data")
                    shutil.copytree(pathlib.Path(work, "data"), made)
                    made.rename(folder)
    return folder


def _initdb(work, bin_dir, user):
    if user is not None:
        os.chown(work, user.pw_uid, user.pw_gid)
    initdb = Process(
        [bin_dir / "initdb", "-D", work / "data", "-U", "postgres", "-A",
         "trust", "-E", "UTF8", "--no-locale", "--no-sync"],
        work / "initdb.log", user=user, cwd=work)
    if initdb.wait(120) != 0:
        raise RuntimeError("initdb failed:\n" + initdb.log_tail())


def _checked_size(control):
    """How many bytes of pg_control its checksum covers, which follows them: each
    major has other fields."""
    for size in range(200, 512, 4):
        if _crc32c(control[:size]) == bytes(control[size:size + 4]):
            return size
    raise RuntimeError("no checksum in pg_control")


def _put(content, place, value):
    content[place:place + len(value)] = value


def _crc32c(content):
    """Castagnoli's checksum, in the order of bytes of this machine."""
    value = 0xFFFFFFFF
    for byte in content:
        value = _TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return (value ^ 0xFFFFFFFF).to_bytes(4, "little")


def _table_entry(value):
    for _ in range(8):
        value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value


_TABLE = [_table_entry(byte) for byte in range(256)]
