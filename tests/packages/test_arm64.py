"""The package for arm64, which cross compilers have made: as far as an emulator
can tell. Nothing here talks to a server.

It is that in build/packages (scripts/package 13 arm64). Needs qemu-user-static.
"""

import json
import os
import shutil
import subprocess

import pytest

from harness.paths import REPOSITORY, walpost_binary

_PACKAGES = REPOSITORY / "build" / "packages"
_EM_AARCH64 = 183
_CONFIG = {
    "postgres": {"conninfo": "host=127.0.0.1 dbname=shop user=walpost"},
    "kafka": {"brokers": "127.0.0.1:9092"},
}


@pytest.fixture(scope="module", name="package")
def _package():
    found = sorted(_PACKAGES.glob("walpost_*+deb13_arm64.deb"))
    assert found, "scripts/package 13 arm64"
    return found[-1]


@pytest.fixture(scope="module", name="unpacked")
def _unpacked(package, tmp_path_factory):
    folder = tmp_path_factory.mktemp("arm64")
    subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
    return folder


@pytest.fixture(scope="module", name="walpost")
def _walpost(unpacked):
    """Runs a verb in the emulator, with the libraries of the root in which the
    package was made."""
    assert shutil.which("qemu-aarch64-static"), "apt-get install qemu-user-static"
    root = subprocess.run(
        [REPOSITORY / "scripts" / "debian", "13", "--root"], check=True, text=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "ARCHITECTURE": "arm64"}).stdout.strip()

    def run(*words):
        return subprocess.run(
            ["qemu-aarch64-static", "-L", root, unpacked / "usr/bin/walpost", *words],
            capture_output=True, text=True, timeout=120, check=False)

    return run


def test_the_package_is_for_arm64(package, unpacked):
    said = subprocess.run(["dpkg-deb", "--field", package, "Architecture"],
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    assert said == "arm64\n"
    head = (unpacked / "usr/bin/walpost").read_bytes()[:20]
    assert head[:4] == b"\x7fELF"
    assert int.from_bytes(head[18:20], "little") == _EM_AARCH64
    for name in ("usr/share/man/man1/walpost.1.gz", "etc/walpost/walpost.yaml"):
        assert (unpacked / name).stat().st_size > 1000


def test_version_names_what_it_was_built_with(walpost, unpacked):
    ran = walpost("version", "--json")
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["built_with"]["librdkafka"] >= "2.14"
    bill = json.loads((unpacked / "usr/share/doc/walpost/sbom.cdx.json").read_text())
    assert {"arch=arm64"} == {
        component["purl"].partition("?")[2].partition("&")[0]
        for component in bill["components"] if "pkg:deb" in component["purl"]}


def test_it_checks_a_configuration(walpost, tmp_path):
    path = tmp_path / "walpost.yaml"
    path.write_text(json.dumps(_CONFIG))
    ran = walpost("check", "--offline", "-c", path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    path.write_text(json.dumps({**_CONFIG, "kafak": {}}))
    ran = walpost("check", "--offline", "-c", path)
    assert ran.returncode == 2
    assert "kafak" in ran.stdout + ran.stderr


def test_its_texts_are_those_of_this_machine(walpost):
    for words in (("config", "schema"), ("config", "sample"), ("man",)):
        here = subprocess.run([walpost_binary(), *words], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        assert walpost(*words).stdout == here
