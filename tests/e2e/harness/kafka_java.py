"""Kafka's programs, started quickly.

Most of a broker's start goes into loading classes, and a JVM of its own into
the formatting of its folder. Both are done once, in build/kafka: there is an
archive of the loaded classes, which a JVM maps into its memory, and a formatted
folder to copy from. Another JVM or another Kafka gets a place of its own there.
"""

import base64
import fcntl
import functools
import hashlib
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import tempfile

from harness.paths import REPOSITORY, kafka_jars
from harness.ports import free_port
from harness.process import Process
from harness.waiting import wait_until

# Small and quick to start; a test is over before the big compiler pays.
_JVM = ["-Xmx512m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
        "-Xshare:auto"]

_ARCHIVE = "classes.jsa"
_BOOTSTRAP = "bootstrap.checkpoint"


def java(program, *words, jvm=()):
    """The command that runs one of Kafka's programs."""
    archive = f"-XX:SharedArchiveFile={_prepared() / _ARCHIVE}"
    return _java(program, *words, jvm=[archive, *jvm])


def run_tool(bootstrap, name, *words, seconds=60):
    """Runs one of `org.apache.kafka.tools`, or a class that is named in full;
    returns what it prints.

    Fails if the tool does.
    """
    done = subprocess.run(
        java(name if name.startswith("kafka.") else
             f"org.apache.kafka.tools.{name}", "--bootstrap-server", bootstrap,
             *map(str, words)),
        capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def format_folder(data, node_id, cluster_id):
    """Does what `StorageTool format` does for a node.

    The features with which a cluster begins are the same for all.
    """
    data.mkdir()
    shutil.copy(_prepared() / _BOOTSTRAP, data)
    (data / "meta.properties").write_text(
        f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\n"
        f"directory.id={new_id()}\n")


def new_id():
    """A random id as Kafka writes them."""
    # Its text must not begin with a dash: that would be an option.
    number = base64.urlsafe_b64encode(b"w" + secrets.token_bytes(15))
    return number.decode().rstrip("=")


def answers(bootstrap):
    """Whether a broker is there."""
    asked = subprocess.run(
        ["kcat", "-b", bootstrap, "-L", "-J", "-m", "2"],
        capture_output=True, text=True)
    return asked.returncode == 0 and '"brokers":[{' in asked.stdout


def _java(program, *words, jvm):
    return ["java", *_JVM, *jvm, "-cp", f"{kafka_jars()}/*", program, *words]


@functools.cache
def _prepared():
    """The folder of the archive and the checkpoint, made when missing."""
    folder = REPOSITORY / "build" / "kafka" / _versions()
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Tests that start together: one makes it, the others wait.
    with open(folder.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=folder.parent) as work:
                made = pathlib.Path(work, "made")
                made.mkdir()
                _prepare(pathlib.Path(work), made)
                made.rename(folder)
    return folder


def _versions():
    """A name for the JVM and the jars; the JVM takes no other's archive."""
    jvm = pathlib.Path(shutil.which("java") or "java").resolve()
    jars = sorted(pathlib.Path(kafka_jars()).iterdir())
    known = [(str(path), os.stat(path).st_mtime_ns, os.stat(path).st_size)
             for path in (jvm, *jars)]
    return hashlib.sha256(repr(known).encode()).hexdigest()[:16]


def _prepare(work, made):
    """Formats a folder, and lets a broker serve a record from it."""
    config = work / "server.properties"
    broker, controller = (f"127.0.0.1:{free_port()}" for _ in range(2))
    config.write_text(f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{controller}
listeners=BROKER://{broker},CONTROLLER://{controller}
listener.security.protocol.map=BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=BROKER
log.dirs={work / "data"}
""")
    formatting = Process(
        _java("kafka.tools.StorageTool", "format", "-t", new_id(), "-c",
              config, jvm=[]), work / "format.log")
    if formatting.wait(120) != 0:
        raise RuntimeError("Kafka's StorageTool failed:\n" +
                           formatting.log_tail())
    shutil.copy(work / "data" / _BOOTSTRAP, made)
    server = Process(
        _java("kafka.Kafka", config,
              jvm=[f"-XX:ArchiveClassesAtExit={made / _ARCHIVE}"]),
        work / "kafka.log", cwd=work)
    wait_until(lambda: answers(broker),
               lambda: "Kafka to start:\n" + server.log_tail(), 120, pause=0.2)
    subprocess.run(["kcat", "-b", broker, "-P", "-t", "topic"], input=b"record",
                   check=True, timeout=60)
    subprocess.run(["kcat", "-b", broker, "-C", "-t", "topic", "-e"],
                   check=True, timeout=60, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    server.end(signal.SIGTERM, seconds=120)
    assert (made / _ARCHIVE).exists(), server.log_tail()
