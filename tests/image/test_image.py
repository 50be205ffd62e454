"""The image of docker/Dockerfile, built and run without a Docker engine.

buildah builds it in a chroot, on a base that scripts/debian13 makes and that is
tagged here with the names in the Dockerfile. It is run as an orchestrator
would run it: as its user, on a read-only root file system, with its entry
point, command and health check. Needs root, 20 GB of disk and half an hour.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "e2e"))

# pylint: disable=wrong-import-position
from harness import Kafka, KafkaReader, Postgres, wait_until  # noqa: E402
from harness import run_sql_file  # noqa: E402

_BUILDAH = ["buildah", "--storage-driver", "vfs"]
_MOST_BYTES = 60 << 20  # of the image, without its base
# Enters the image as an orchestrator does: read-only, and with fewer rights.
_ENTER = r"""
set -euo pipefail
root=$1 config=$2 user=$3; shift 3
mount --bind "$root" "$root"
mount --bind "$config" "$root/etc/walpost"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mount -o remount,bind,ro "$root"
exec chroot --userspec="$user" "$root" "$@"
"""


def _buildah(storage, *words, **options):
    return subprocess.run(
        [*_BUILDAH, "--root", storage / "root", "--runroot", storage / "run",
         *map(str, words)], check=True, text=True, **options)


@pytest.fixture(scope="module")
def storage():
    with tempfile.TemporaryDirectory(prefix="walpost-image-") as folder:
        yield pathlib.Path(folder)


def _make_base(storage):
    """The base images of the Dockerfile; returns its size in bytes."""
    archive = subprocess.run(
        [REPOSITORY / "scripts" / "debian13", "--base"], check=True, text=True,
        stdout=subprocess.PIPE).stdout.strip()
    container = _buildah(storage, "from", "scratch",
                         stdout=subprocess.PIPE).stdout.strip()
    _buildah(storage, "add", "--quiet", container, archive, "/")
    # What this machine trusts, for npm in the build stage.
    bundle = "/etc/ssl/certs/ca-certificates.crt"
    _buildah(storage, "copy", "--quiet", container, bundle, bundle)
    _buildah(storage, "config", "--env", f"NODE_EXTRA_CA_CERTS={bundle}",
             container)
    _buildah(storage, "commit", "--quiet", container, "walpost-base")
    dockerfile = (REPOSITORY / "docker" / "Dockerfile").read_text()
    for name in re.findall(r"^FROM (\S+)", dockerfile, re.M):
        for registry in ("docker.io/library", "localhost"):
            _buildah(storage, "tag", "walpost-base", f"{registry}/{name}")
    return _size_of(storage, "walpost-base")


def _inspect(storage, image):
    return json.loads(_buildah(storage, "inspect", "--type", "image", image,
                               stdout=subprocess.PIPE).stdout)


@contextlib.contextmanager
def _mounted(storage, image):
    """The files of an image, as a folder."""
    container = _buildah(storage, "from", "--pull-never", image,
                         stdout=subprocess.PIPE).stdout.strip()
    try:
        yield _buildah(storage, "mount", container,
                       stdout=subprocess.PIPE).stdout.strip()
    finally:
        _buildah(storage, "rm", container, stdout=subprocess.DEVNULL)


def _size_of(storage, image):
    with _mounted(storage, image) as root:
        listed = subprocess.run(["du", "-sxb", root], check=True, text=True,
                                stdout=subprocess.PIPE)
    return int(listed.stdout.split()[0])


class _Image:
    """A built image, mounted, and what its configuration says."""

    def __init__(self, root, configuration, own_bytes):
        self.root = root
        self.own_bytes = own_bytes
        self.user = configuration["User"]
        self.entry_point = configuration["Entrypoint"]
        self.command = configuration["Cmd"]
        self.health_check = configuration["Healthcheck"]["Test"]
        self.environment = dict(entry.split("=", 1)
                                for entry in configuration["Env"])

    def start(self, config_folder, words, environment=None):
        """Runs `words` in it; returns the process."""
        return subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "bash", "-c",
             _ENTER, "enter", self.root, str(config_folder), self.user,
             *words], env={**self.environment, **(environment or {})},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture(scope="module")
def image(storage):
    base_bytes = _make_base(storage)
    _buildah(storage, "build", "--isolation", "chroot", "--layers=false",
             "--pull-never", "--format", "docker", "--file",
             REPOSITORY / "docker" / "Dockerfile", "--tag", "walpost",
             REPOSITORY)
    described = _inspect(storage, "walpost")["Docker"]["config"]
    with _mounted(storage, "walpost") as root:
        pathlib.Path(root, "etc", "walpost").mkdir(exist_ok=True)
        yield _Image(root, described, _size_of(storage, "walpost")
                     - base_bytes)


@pytest.fixture(scope="module")
def servers():
    with tempfile.TemporaryDirectory(prefix="walpost-image-") as folder:
        os.chmod(folder, 0o755)
        postgres = Postgres(pathlib.Path(folder, "postgres")).start()
        kafka = Kafka(pathlib.Path(folder, "kafka")).start()
        yield postgres, kafka
        kafka.close()
        postgres.close()


def test_it_is_small(image):
    print(f"{image.own_bytes / 2**20:.1f} MiB besides the base")
    assert image.own_bytes < _MOST_BYTES


def test_it_has_no_compiler_and_no_source(image):
    for name in ("usr/bin/g++", "walpost", "runtime-packages"):
        assert not pathlib.Path(image.root, name).exists(), name


def test_it_is_not_root(image):
    assert image.user.split(":")[0].isnumeric()
    assert int(image.user.split(":")[0]) > 0


def test_it_says_its_version(image, tmp_path):
    ran = image.start(tmp_path, [*image.entry_point, "version"])
    assert "walpost" in ran.communicate(timeout=30)[0]
    assert ran.returncode == 0


def test_it_delivers_is_healthy_and_drains(image, servers, tmp_path):
    postgres, kafka = servers
    database = postgres.create_database()
    run_sql_file(database, "outbox.sql")
    tmp_path.chmod(0o755)
    port = image.environment["WALPOST_HEALTH_PORT"]
    (tmp_path / "walpost.yaml").write_text(json.dumps({
        "postgres": {"conninfo": database.conninfo(), "create": True},
        "kafka": {"brokers": kafka.bootstrap},
        "http": {"listen": f"127.0.0.1:{port}"}}))
    ran = image.start(tmp_path, [*image.entry_point, *image.command])

    def health():
        kind, *words = image.health_check
        assert kind == "CMD"
        check = image.start(tmp_path, words)
        check.communicate(timeout=30)
        return check.returncode

    try:
        wait_until(lambda: health() == 0, "the health check to pass", 60)
        database.execute("insert into outbox (aggregate_type, aggregate_id, "
                         "payload) values ('order', '1', '{}')")
        reader = KafkaReader(kafka.bootstrap)
        wait_until(lambda: reader.read_all("outbox.event.order"), "the event")
        begun = time.monotonic()
        ran.send_signal(signal.SIGTERM)
        output, _ = ran.communicate(timeout=15)
        assert ran.returncode == 0, output
        assert "ended; confirmed" in output
        assert time.monotonic() - begun < 11
        assert health() != 0
    finally:
        ran.kill()


def test_buildah_is_there():
    """A test that did not run is a failure, never a skip."""
    assert shutil.which("buildah"), "apt-get install buildah"
