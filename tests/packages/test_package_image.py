"""The image of scripts/image, run without an engine as an orchestrator would:
as its user, on a read-only root file system, with its entry point.

It is the archive in build/packages. Needs root.
"""

import json
import os
import pathlib
import signal
import subprocess
import tarfile
import tempfile
import time

import pytest

from harness import Kafka, KafkaReader, Postgres, wait_until
from harness import run_sql_file
from harness.paths import REPOSITORY

_MAX_COMPRESSED_BYTES = 45e6
_ENTER = r"""
set -euo pipefail
root=$1 config=$2 user=$3; shift 3
mount --bind "$root" "$root"
mount --bind "$config" "$root/etc/walpost"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount -o remount,bind,ro "$root"
exec /usr/sbin/chroot --userspec="$user" "$root" "$@"
"""


def _archive():
    found = sorted((REPOSITORY / "build" / "packages").glob("walpost-*[0-9]-image.tar"),
                   key=lambda path: path.stat().st_mtime)
    assert found, "scripts/image"
    return found[-1]


class _Image:
    def __init__(self, folder):
        self.root = pathlib.Path(folder, "root")
        with tarfile.open(_archive()) as archive:
            manifest, = json.load(archive.extractfile("manifest.json"))
            self.layers = manifest["Layers"]
            self.config = json.load(
                archive.extractfile(manifest["Config"]))["config"]
            archive.extractall(folder)
        self.root.mkdir()
        for layer in self.layers:
            subprocess.run(["tar", "-xf", pathlib.Path(folder, layer), "-C",
                            self.root, "--numeric-owner"], check=True)
        # As each engine does.
        (self.root / "etc" / "hosts").write_text("127.0.0.1 localhost\n")
        self.environment = dict(entry.split("=", 1)
                                for entry in self.config["Env"])

    def start(self, config_folder, words, **environment):
        return subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "bash", "-c",
             _ENTER, "enter", self.root, config_folder, self.config["User"],
             *words], env={**os.environ, **self.environment, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture(scope="module")
def image():
    with tempfile.TemporaryDirectory(prefix="walpost-image-") as folder:
        pathlib.Path(folder).chmod(0o755)
        yield _Image(folder)


@pytest.fixture(scope="module")
def servers():
    with tempfile.TemporaryDirectory(prefix="walpost-image-") as folder:
        pathlib.Path(folder).chmod(0o755)
        postgres = Postgres(pathlib.Path(folder, "postgres")).start()
        kafka = Kafka(pathlib.Path(folder, "kafka")).start()
        yield postgres, kafka
        kafka.close()
        postgres.close()


def test_it_is_small_and_has_one_layer(image):
    size = _archive().with_suffix(".tar.gz").stat().st_size
    print(f"{size / 1e6:.1f} MB compressed")
    assert size <= _MAX_COMPRESSED_BYTES
    assert len(image.layers) == 1


def test_user_and_health_check_are_those_of_the_dockerfile(image):
    dockerfile = (REPOSITORY / "docker" / "Dockerfile").read_text()
    assert f"USER {image.config['User']}\n" in dockerfile
    kind, *words = image.config["Healthcheck"]["Test"]
    assert kind == "CMD"
    assert json.dumps(words[2])[1:-1] in dockerfile
    assert image.config["Entrypoint"] == ["walpost"]
    assert image.config["Cmd"] == ["run"]


def test_nothing_in_it_gives_rights(image):
    """No setuid file, no package manager, no file that its user may write."""
    found = []
    for path in image.root.rglob("*"):
        if not path.is_symlink() and path.is_file():
            status = path.stat()
            if status.st_mode & 0o6002 or status.st_uid != 0:
                found.append(path)
    assert found == []
    programs = {path.name for path in (image.root / "usr/bin").iterdir()}
    assert programs == {"walpost", "bash", "dash", "sh", "rbash"}
    assert not list((image.root / "usr/sbin").iterdir())


def test_it_has_the_licenses_of_what_it_contains(image):
    documents = image.root / "usr/share/doc"
    for package in ("walpost", "libc6", "bash", "libpq5"):
        assert (documents / package / "copyright").is_file(), package


def test_it_delivers_is_healthy_and_drains(image, servers, tmp_path):
    postgres, kafka = servers
    database = postgres.create_database()
    run_sql_file(database, "outbox.sql")
    tmp_path.chmod(0o755)
    (tmp_path / "walpost.yaml").write_text(json.dumps({
        "postgres": {"conninfo": database.conninfo(), "create": True,
                     # By name, and with a program.
                     "password_command": ["sh", "-c", "echo secret"]},
        "kafka": {"brokers": kafka.bootstrap.replace("127.0.0.1", "localhost")},
        "http": {"listen": "127.0.0.1:19188"}}))
    begun = time.monotonic()
    ran = image.start(tmp_path, ["walpost", "run"])

    def say(*words):
        said = image.start(tmp_path, words, WALPOST_HEALTH_PORT="19188")
        output, _ = said.communicate(timeout=60)
        return said.returncode, output

    try:
        health = image.config["Healthcheck"]["Test"][1:]
        wait_until(lambda: say(*health)[0] == 0, "the health check to pass", 60)
        # With the slot: rows from before it are not published.
        wait_until(lambda: say("walpost", "status")[0] == 0, "readiness")
        database.execute("insert into outbox (aggregate_type, aggregate_id, "
                         "payload) values ('order', '1', '{}')")
        reader = KafkaReader(kafka.bootstrap)
        wait_until(lambda: reader.read_all("outbox.event.order"),
                   lambda: f"the event; {say('walpost', 'status')}")
        print(f"{time.monotonic() - begun:.1f} s to the first record")
        for verb in ("status", "check", "verify"):
            code, output = say("walpost", verb)
            assert code == 0, output
        begun = time.monotonic()
        ran.send_signal(signal.SIGTERM)
        output, _ = ran.communicate(timeout=15)
        assert ran.returncode == 0, output
        assert "ended; confirmed" in output
        assert time.monotonic() - begun < 11
        assert say(*health)[0] != 0
    finally:
        ran.kill()
