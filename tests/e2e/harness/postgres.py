"""A private PostgreSQL server."""

import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import time

import psycopg2

from harness.data_folder import make_data_folder
from harness.database import Database
from harness.paths import postgres_bin
from harness.ports import free_port
from harness.process import Process
from harness.waiting import wait_until

# Durable against the death of processes, which is what the tests do; not
# against the death of the machine, so fsync is off.
_SETTINGS = {
    "wal_level": "logical",
    "max_replication_slots": 20,
    "max_wal_senders": 20,
    "track_commit_timestamp": "on",
    "fsync": "off",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "log_min_messages": "info",
    "timezone": "UTC",
}

# The role `locked` needs its password; everybody else on this machine is let
# in. Logical replication matches the database's name, so "all" covers it.
_HBA = """\
host all locked 127.0.0.1/32 scram-sha-256
host all all    127.0.0.1/32 trust
host replication all 127.0.0.1/32 trust
"""


def _children(pid):
    return [int(child) for child in pathlib.Path(
        f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _is_alive(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


class Postgres:
    """A server with its own data folder, wal_level=logical and a free port.

    Postgres refuses to run as root; then it runs as `postgres`, or as `nobody`
    where there is no such user. `bin_dir` chooses another major. Settings are
    added to those above and may override them.
    """

    def __init__(self, directory, bin_dir=None, settings=None, copy_of=None,
                 is_standby=True):
        self._directory = pathlib.Path(directory)
        self._directory.mkdir(parents=True)
        self._user = _server_user()
        self._programs = pathlib.Path(bin_dir or postgres_bin())
        self._bin = self._usable_bin(self._programs)
        self._data = self._directory / "data"
        self._settings = {**_SETTINGS, **(settings or {})}
        self._process = None
        self.port = free_port()
        if copy_of is None:
            self._make()
        else:
            self._copy(copy_of, is_standby)

    def make_standby(self, directory, slot, **settings):
        """A hot standby that streams through the physical slot `slot`.

        Restarts this server for the copy. The standby is not started yet.
        """
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("select pg_create_physical_replication_slot(%s)",
                           (slot,))
        self.stop()
        standby = Postgres(
            directory, self._programs, copy_of=self._data,
            settings={**self._settings, "hot_standby_feedback": "on",
                      "primary_conninfo": self.conninfo(),
                      "primary_slot_name": slot, **settings})
        self.start()
        return standby

    def clone(self, directory):
        """A server of its own, from a snapshot of this one's volume: with its
        identifier, timeline and slots.

        Restarts this server for the copy. The clone is not started yet.
        """
        self.stop()
        clone = Postgres(directory, self._programs, copy_of=self._data,
                         settings=self._settings, is_standby=False)
        self.start()
        return clone

    def take_slot(self, slot, server):
        """Has the logical slot of another server, as Patroni brings one to a
        standby: its files, while this server is down."""
        target = self._data / "pg_replslot" / slot
        shutil.rmtree(target, ignore_errors=True)
        # pylint: disable-next=protected-access
        shutil.copytree(server._data / "pg_replslot" / slot, target,
                        ignore=shutil.ignore_patterns("*.tmp"))
        self._own()

    def promote(self):
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("select pg_promote()")
            assert cursor.fetchone()[0]

    def begin_timeline(self):
        """The next timeline, as after a promotion: its positions are higher."""
        self.stop()
        (self._data / "standby.signal").touch()
        self._own()
        self.start()
        self.promote()

    def wait_synchronised(self, primary, slot):
        """Waits until this standby has the failover slot of `primary`, a
        database there. The copying worker naps for up to 30 s, and what it
        copies is temporary until the slot on the primary has moved past it."""
        def synchronised():
            primary.execute("select pg_log_standby_snapshot()")
            with self.connect() as connection, connection.cursor() as cursor:
                cursor.execute(
                    "select synced and not temporary from "
                    "pg_replication_slots where slot_name = %s", (slot,))
                row = cursor.fetchone()
                return row is not None and row[0]

        wait_until(synchronised, "the slot to be on the standby", seconds=150,
                   pause=0.5)

    @property
    def pid(self):
        return self._process.pid

    def conninfo(self, database=None, user=None):
        return (f"host=127.0.0.1 port={self.port} "
                f"dbname={database or 'postgres'} user={user or 'postgres'}")

    def connect(self, database=None, user=None):
        """A psycopg2 connection; every statement is its own transaction."""
        connection = psycopg2.connect(self.conninfo(database, user),
                                      connect_timeout=5)
        connection.autocommit = True
        return connection

    def create_database(self, options=""):
        """A fresh database; the caller drops it. `options`: of the SQL."""
        return Database(self, options)

    def configure(self, **settings):
        """Changes settings for the next start."""
        self._settings.update(settings)

    def start(self):
        options = [word for name, value in self._settings.items()
                   for word in ("-c", f"{name}={value}")]
        self._process = Process(
            [self._bin / "postgres", "-D", self._data, "-p", self.port,
             *options],
            self._directory / "postgres.log", user=self._user,
            cwd=self._directory, death_signal=signal.SIGQUIT)
        wait_until(self._accepts, lambda: "Postgres to start:\n" +
                   self._process.log_tail())
        return self

    def stop(self, mode="fast", seconds=30):
        """Ends the server like `pg_ctl stop -m <mode>`; returns the seconds.

        A shutdown that takes longer is a failure, and then ends the hard way.
        """
        number = {"smart": signal.SIGTERM, "fast": signal.SIGINT,
                  "immediate": signal.SIGQUIT}[mode]
        begun = time.monotonic()
        self._process.send(number)
        try:
            self._process.wait(seconds)
        except TimeoutError:
            self._process.end(signal.SIGQUIT)
            raise
        return time.monotonic() - begun

    def restart(self, mode="fast"):
        self.stop(mode)
        return self.start()

    def upgrade_from(self, old, *words):
        """Makes this server, which is new and down, what pg_upgrade makes of
        `old`, which is down, too. Adds `words` to the command."""
        # pylint: disable=protected-access
        old_hba = old._data / "pg_hba.conf"
        old_hba.write_text("local all all trust\n" + _HBA)
        (self._data / "pg_hba.conf").write_text(old_hba.read_text())
        settings = " ".join(f"-c {name}={self._settings[name]}" for name in (
            "wal_level", "max_replication_slots", "fsync"))
        self._run("pg_checksums", "--disable", "-D", self._data)
        self._run("pg_upgrade", "-U", "postgres", "-s", "/tmp",
                  "-b", old._bin, "-d", old._data, "-o", settings,
                  "-B", self._bin, "-D", self._data, "-O", settings, *words)
        return self

    def _run(self, program, *words):
        """A program of the server, with its user."""
        ran = Process([self._bin / program, *words],
                      self._directory / f"{program}.log", user=self._user,
                      cwd=self._directory)
        if ran.wait(120) != 0:
            raise RuntimeError(f"{program} failed:\n" + ran.log_tail(60))

    def refuse(self, database, refused):
        """Whether a database takes no new connections."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"alter database {database} allow_connections = "
                           f"{str(not refused).lower()}")

    def crash(self):
        """Kills every process of the server at once, and leaves it down."""
        self._process.send(signal.SIGSTOP)  # so that it has no more children
        children = _children(self.pid)
        self._process.send(signal.SIGKILL)
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._process.wait(10)
        # Until then the next server finds their shared memory in use.
        wait_until(lambda: not any(_is_alive(child) for child in children),
                   "the killed server's processes to end", pause=0.01)

    def hba(self):
        return (self._data / "pg_hba.conf").read_text()

    def set_hba(self, text):
        """Other lines of pg_hba.conf, from now on."""
        (self._data / "pg_hba.conf").write_text(text)
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("select pg_reload_conf()")

    def freeze(self):
        """Stops every process of the server where it is. The kernel goes on
        taking connections for it."""
        self._process.send(signal.SIGSTOP)  # so that it has no more children
        for child in _children(self.pid):
            os.kill(child, signal.SIGSTOP)

    def close(self):
        """Ends the server, if it runs, whatever it is doing."""
        if self._process is not None:
            self._process.end(signal.SIGQUIT)

    def log_tail(self, lines=30):
        return self._process.log_tail(lines)

    def _accepts(self):
        if not self._process.running():
            raise RuntimeError("Postgres ended while starting:\n" +
                               self._process.log_tail())
        try:
            self.connect().close()
            return True
        except psycopg2.OperationalError:
            return False

    def _make(self):
        if self._user is not None:
            os.chown(self._directory, self._user.pw_uid, self._user.pw_gid)
        make_data_folder(self._data, self._programs, self._bin, self._user)
        (self._data / "pg_hba.conf").write_text(_HBA)

    def _copy(self, data, is_standby):
        """A stopped server's folder, made that of its standby."""
        shutil.copytree(data, self._data)
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        if is_standby:
            (self._data / "standby.signal").touch()
        self._own()

    def backup(self, directory):
        """Keeps the folder of this server, which is stopped for it."""
        self.stop()
        shutil.copytree(self._data, directory)
        self.start()

    def restore(self, directory):
        """Puts it back."""
        self.stop()
        shutil.rmtree(self._data)
        shutil.copytree(directory, self._data)
        self._own()
        self.start()

    def _own(self):
        if self._user is not None:
            for path in (self._directory, *self._directory.rglob("*")):
                os.chown(path, self._user.pw_uid, self._user.pw_gid)
        self._data.chmod(0o700)

    def _usable_bin(self, bin_dir):
        """`bin_dir`, or a copy where the server's user may not go there."""
        if not (bin_dir / "initdb").exists():
            raise RuntimeError(f"no PostgreSQL in {bin_dir}: run scripts/"
                               "install, or set WALPOST_TEST_PG_BIN")
        if self._user is None:
            return bin_dir
        try:
            subprocess.run([bin_dir / "postgres", "--version"], check=True,
                           user=self._user.pw_uid, group=self._user.pw_gid,
                           extra_groups=[], stdout=subprocess.DEVNULL)
            return bin_dir
        except PermissionError:
            copy = self._directory / "server"
            shutil.copytree(bin_dir.parent, copy, symlinks=True,
                            copy_function=_link_or_copy)
            return copy / bin_dir.name


def _link_or_copy(source, target):
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def _server_user():
    """Who runs the server: None means ourselves."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("no user to run Postgres as: make a user `postgres`")
