"""A private PostgreSQL for one recording: loopback, a free port, its own files.

Run as root it drops to the user `postgres` for the server, which refuses root.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import wire

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "wal_level": "logical",
    "max_prepared_transactions": "5",
    # The truth about commit times.
    "track_commit_timestamp": "on",
    # The least allowed: a transaction of some rows counts as large.
    "logical_decoding_work_mem": "64kB",
    # Messages outside transactions wait for the WAL writer.
    "wal_writer_delay": "10ms",
    # Nothing in the stream that the script did not ask for.
    "autovacuum": "off",
    # A throw-away server.
    "fsync": "off",
    "shared_buffers": "16MB",
    "log_min_messages": "warning",
}


class Server:
    def __init__(self, bin_dir):
        self.bin_dir = pathlib.Path(bin_dir)
        self.user = "postgres" if os.geteuid() == 0 else None
        self.dir = None
        self.port = _free_port()
        self.process = None

    def __enter__(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="walpost-golden-"))
        try:
            return self._start()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            # SIGQUIT: at once, without waiting for the streams to confirm.
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(30)
        shutil.rmtree(self.dir)

    def _start(self):
        if self.user:
            shutil.chown(self.dir, self.user, self.user)
            self._copy_if_out_of_reach()
        data, log = self.dir / "data", self.dir / "log"
        subprocess.run(
            [self.bin_dir / "initdb", "-D", data, "-U", "walpost", "-A",
             "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
            check=True, stdout=subprocess.DEVNULL, user=self.user,
            group=self.user)
        arguments = [f"--{k}={v}" for k, v in SETTINGS.items()]
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                [self.bin_dir / "postgres", "-D", data, "-p", str(self.port)]
                + arguments,
                stdout=output, stderr=output, cwd=self.dir, user=self.user,
                group=self.user)
        deadline = time.monotonic() + 30
        while True:
            try:
                self.connect().close()
                return self
            except (OSError, RuntimeError, wire.ServerError):
                if (self.process.poll() is not None
                        or time.monotonic() > deadline):
                    raise RuntimeError(log.read_text())
                time.sleep(0.05)

    def _copy_if_out_of_reach(self):
        """A server below root's home cannot be run by another user."""
        reach = subprocess.run(["test", "-x", self.bin_dir / "initdb"],
                               user=self.user, group=self.user)
        if reach.returncode != 0:
            copy = self.dir / "server"
            shutil.copytree(self.bin_dir.parent, copy, symlinks=True)
            self.bin_dir = copy / self.bin_dir.name

    def connect(self, **parameters):
        return wire.Connection(
            self.port, user="walpost", database="postgres",
            client_encoding="UTF8", **parameters)


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
