"""The packages, installed in fresh roots of Debian, against real servers.

They are those in build/packages (scripts/package 12; scripts/package 13). Needs
root, and Debian's packages for what they depend on.
"""

import contextlib
import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

from harness import Kafka, KafkaReader, Postgres, wait_until
from harness import run_sql_file
from harness.paths import REPOSITORY

_PACKAGES = REPOSITORY / "build" / "packages"
_ENTER = r"""
set -euo pipefail
root=$1; shift
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
exec chroot "$root" "$@"
"""
# What a service runs with, as far as there is no systemd.
_AS_SERVICE = ["setpriv", "--reuid=walpost", "--regid=walpost", "--init-groups",
               "env", "HOME=/", "--chdir=/var/lib/walpost"]


class _Root:
    """A fresh root file system of a release."""

    def __init__(self, release, folder):
        self.release = release
        self.path = pathlib.Path(folder, f"debian{release}")
        base = subprocess.run(
            [REPOSITORY / "scripts" / "debian", release, "--base"], check=True,
            text=True, stdout=subprocess.PIPE).stdout.strip()
        self.path.mkdir()
        subprocess.run(["tar", "-xf", base, "-C", self.path, "--numeric-owner"],
                       check=True)
        for name in ("resolv.conf", "ssl/certs/ca-certificates.crt"):
            shutil.copy(f"/etc/{name}", self.path / "etc" / name)

    def command(self, *words):
        return ["unshare", "--mount", "--propagation", "private", "bash", "-c",
                _ENTER, "enter", self.path, *map(str, words)]

    def run(self, *words, code=0):
        ran = subprocess.run(self.command(*words), capture_output=True, text=True,
                             timeout=300, check=False)
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr

    def file(self, name):
        return self.path / name.lstrip("/")

    def bring(self, package):
        shutil.copy(package, self.path)
        return f"/{package.name}"

    def install(self, package):
        return self.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get",
                        "install", "-y", "-qq", "--no-install-recommends",
                        self.bring(package))

    @contextlib.contextmanager
    def service(self, told=None):
        """`walpost run` as the unit runs it; its notifications go to `told`."""
        environment = [f"NOTIFY_SOCKET=@{told}"] if told else []
        ran = subprocess.Popen(
            self.command(*_AS_SERVICE, *environment, "walpost", "run"),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            yield ran
        finally:
            ran.kill()
            ran.wait()


def _package(release, name="walpost"):
    architecture = subprocess.run(["dpkg", "--print-architecture"], check=True,
                                  text=True, stdout=subprocess.PIPE).stdout.strip()
    found = sorted(_PACKAGES.glob(f"{name}_*+deb{release}_{architecture}.deb"))
    assert found, f"scripts/package {release}"
    return found[-1]


def _older(package, folder):
    """The same package, as one of an earlier version."""
    work = pathlib.Path(folder, "older")
    subprocess.run(["dpkg-deb", "-R", package, work], check=True)
    control = work / "DEBIAN" / "control"
    control.write_text(re.sub(r"(?m)^Version: .*", "Version: 0.1.9-1",
                              control.read_text()))
    made = pathlib.Path(folder, "walpost_0.1.9-1_amd64.deb")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", work,
                    made], check=True, stdout=subprocess.DEVNULL)
    return made


@pytest.fixture(scope="module")
def servers():
    with tempfile.TemporaryDirectory(prefix="walpost-packages-") as folder:
        pathlib.Path(folder).chmod(0o755)
        postgres = Postgres(pathlib.Path(folder, "postgres")).start()
        kafka = Kafka(pathlib.Path(folder, "kafka")).start()
        yield postgres, kafka
        kafka.close()
        postgres.close()


@pytest.fixture(params=["12", "13"])
def root(request):
    with tempfile.TemporaryDirectory(prefix="walpost-root-") as folder:
        yield _Root(request.param, folder)


def _stop(process):
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 0, output
    return output


def test_from_installation_to_purge(root, servers, tmp_path):
    postgres, kafka = servers
    package = _package(root.release)
    begun = time.monotonic()
    root.run("apt-get", "update", "-qq")
    root.install(_older(package, tmp_path))
    installed = time.monotonic()
    conffile = root.file("/etc/walpost/walpost.yaml")
    assert conffile.stat().st_mode & 0o777 == 0o640
    assert "/var/lib/walpost" in root.run("getent", "passwd", "walpost")
    # Nothing is configured yet, and it says what to do.
    assert "postgres.conninfo is missing" in root.run(
        *_AS_SERVICE, "walpost", "run", code=2)

    database = postgres.create_database()
    run_sql_file(database, "outbox.sql")
    topics = f"debian{root.release}."
    text = conffile.read_text()
    for key, value in (("postgres", None), ("  conninfo", database.conninfo()),
                       # The two roots share a server.
                       ("  slot", f"debian{root.release}"),
                       ("  create", "true"), ("kafka", None),
                       ("  brokers", kafka.bootstrap), ("route", None),
                       ("  topic", f"'{topics}{{aggregate_type}}'"),
                       ("http", None), ("  listen", "127.0.0.1:19187")):
        line = f"{key}:" + (f" {value}" if value else "")
        text, count = re.subn(rf"(?m)^#{key}:.*", line, text, count=1)
        assert count == 1, key
    conffile.write_text(text)

    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    name = f"walpost-test-{root.release}"
    manager.bind(f"\0{name}")
    manager.settimeout(30)
    reader = KafkaReader(kafka.bootstrap)
    sent = 0

    def insert(count):
        nonlocal sent
        for _ in range(count):
            database.execute("insert into outbox (aggregate_type, aggregate_id, "
                             "payload) values ('order', %s, '{}')", (sent % 5,))
            sent += 1

    def await_events():
        wait_until(lambda: len(reader.read_all(topics + "order")) >= sent,
                   f"{sent} records", 60)

    with root.service(name) as running:
        while b"READY=1" not in manager.recv(4096):
            pass
        insert(1)
        await_events()
        print(f"Debian {root.release}: {installed - begun:.0f} s to install, "
              f"{time.monotonic() - begun:.0f} s to the first record")
        root.run("walpost", "check")
        insert(200)
        # The upgrade, while it streams.
        said = root.install(package)
        assert "walpost" in said or said == ""
        insert(200)
        assert running.poll() is None
        assert root.run("walpost", "status").startswith("state      streaming")
        await_events()
        insert(50)
        assert "ended; confirmed" in _stop(running)
    assert conffile.read_text() == text  # without a question
    insert(50)
    with root.service() as running:
        await_events()
        _stop(running)
    records = reader.read_all(topics + "order")
    assert len(records) == len({record.id for record in records}) == sent
    assert "clean" in root.run("walpost", "verify").lower()

    root.run("apt-get", "remove", "-y", "-qq", "walpost")
    assert not root.file("/usr/bin/walpost").exists()
    assert conffile.exists()
    root.run("apt-get", "purge", "-y", "-qq", "walpost")
    assert not root.file("/etc/walpost").exists()
    assert not root.file("/var/lib/walpost").exists()
    root.run("getent", "passwd", "walpost", code=2)
    left = [line for line in root.run("find", "/etc", "/usr", "/var/lib", "-xdev",
                                      "-name", "*walpost*").splitlines()
            if "/var/lib/dpkg" not in line and "/systemd/" not in line]
    assert left == []


@pytest.mark.parametrize("release", ["12", "13"])
@pytest.mark.parametrize("name", ["walpost", "walpost-dbgsym"])
def test_lintian_finds_nothing(release, name):
    ran = subprocess.run(
        ["lintian", "--no-cfg", "--allow-root", "--fail-on", "error,warning",
         _package(release, name)], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout + ran.stderr


@pytest.mark.parametrize("release", ["12", "13"])
def test_the_symbols_fit_the_binary(release, tmp_path):
    for name in ("walpost", "walpost-dbgsym"):
        subprocess.run(["dpkg-deb", "-x", _package(release, name), tmp_path],
                       check=True)
    said = subprocess.run(["readelf", "-n", tmp_path / "usr/bin/walpost"],
                          check=True, capture_output=True, text=True).stdout
    build_id = re.search(r"Build ID: (\w+)", said)[1]
    symbols = tmp_path / "usr/lib/debug/.build-id" / build_id[:2] / (
        build_id[2:] + ".debug")
    sections = subprocess.run(["readelf", "-SW", symbols], check=True,
                              capture_output=True, text=True).stdout
    assert ".debug_info" in sections
    stripped = subprocess.run(["readelf", "-SW", tmp_path / "usr/bin/walpost"],
                              check=True, capture_output=True, text=True).stdout
    assert ".debug_info" not in stripped and ".symtab" not in stripped


@pytest.mark.parametrize("release", ["12", "13"])
def test_it_is_small_and_has_what_it_should(release, tmp_path):
    package = _package(release)
    print(f"{package.name}: {package.stat().st_size / 1e6:.1f} MB")
    assert package.stat().st_size < 8e6
    subprocess.run(["dpkg-deb", "-x", package, tmp_path], check=True)
    for name in ("usr/bin/walpost", "etc/walpost/walpost.yaml",
                 "usr/lib/systemd/system/walpost.service",
                 "usr/lib/systemd/system/walpost@.service",
                 "usr/share/man/man1/walpost.1.gz",
                 "usr/share/man/man5/walpost.yaml.5.gz",
                 "usr/share/bash-completion/completions/walpost",
                 "usr/share/zsh/vendor-completions/_walpost",
                 "usr/share/fish/vendor_completions.d/walpost.fish",
                 "usr/share/doc/walpost/copyright",
                 "usr/share/doc/walpost/sql/outbox.sql"):
        assert (tmp_path / name).is_file(), name
    bill = json.loads((tmp_path / "usr/share/doc/walpost/sbom.cdx.json").read_text())
    commit, = [entry["value"] for entry in
               bill["metadata"]["component"]["properties"]
               if entry["name"] == "walpost:commit"]
    assert re.fullmatch(r"[0-9a-f]{40}", commit)
