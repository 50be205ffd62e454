"""What the packages bring, as far as it needs no package: units, the commented
configuration, manual pages, the bill of materials, scripts, versions, releases.
"""

import json
import re
import shutil
import subprocess

import pytest
import yaml

from harness.paths import REPOSITORY, walpost_binary

_UNIT_FILES = REPOSITORY / "deploy" / "systemd"
_UNITS = ("walpost.service", "walpost@.service")


def _run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, timeout=120,
                          capture_output=True, text=True, **options).stdout


def _config(form):
    return _run(walpost_binary(), "config", form)


def _print_config(path):
    return _run(walpost_binary(), "run", "--print-config", "-c", path, "--set",
                "postgres.conninfo=host=a", "--set", "kafka.brokers=a:1")


def _uncommented(sample):
    """All of it but the sections of other sinks, which are refused."""
    text = re.sub(r"(?m)^#", "", sample)
    return re.sub(r"(?m)^(?:nats|rabbitmq|redis):\n(?: .*\n)+", "", text)


def test_the_commented_configuration_is_the_one_of_the_defaults(tmp_path):
    sample = tmp_path / "walpost.yaml"
    sample.write_text(_config("sample"))
    assert yaml.safe_load(sample.read_text()) is None  # all of it is commented out
    empty = _print_config("/dev/null")
    assert _print_config(sample) == empty
    # Its keys stand for themselves: with all of them set nothing changes.
    sample.write_text(_uncommented(sample.read_text()))
    assert yaml.safe_load(sample.read_text())["postgres"]["slot"] == "walpost"
    assert _print_config(sample) == empty


@pytest.mark.long
def test_the_commented_configuration_has_each_key_with_its_sentence():
    sample = _config("sample")
    page = _config("manual")
    documented = (REPOSITORY / "docs" / "configuration.md").read_text()
    table = documented.split("| Key | Values", 1)[1].split("\n\n", 1)[0]
    names = re.findall(r"^\| `([\w.\[\]]+)`", table, re.M)
    assert len(names) > 80
    for name in names:
        if not name.endswith(("CLASS", "NAME", "FIELD")):
            last = name.rpartition(".")[2]
            assert re.search(rf"^#.*\b{last}( \(|:)", sample, re.M), name
        assert f".B {name}".replace("-", "\\-") in page, name
    lines = sample.splitlines()
    for number, line in enumerate(lines):
        if re.match(r"#( {2})+\w+: ", line):
            above = "\n".join(lines[max(0, number - 14):number])
            assert re.search(r"^#\s+# ", above, re.M), line
    assert max(map(len, lines)) <= 100


def test_the_manual_page_of_the_configuration_has_no_error():
    ran = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-rLL=100n"],
                         input=_config("manual").encode("ascii", "replace"),
                         capture_output=True, check=True, timeout=30)
    assert ran.stderr == b""


@pytest.mark.parametrize("unit", _UNITS)
@pytest.mark.sample(2)
def test_a_unit_is_hardened(unit):
    said = _run("systemd-analyze", "security", "--offline=true", "--no-pager",
                _UNIT_FILES / unit)
    score = re.search(r"Overall exposure level for \S+: ([\d.]+)", said)[1]
    assert float(score) <= 2.0, said


@pytest.mark.parametrize("unit", _UNITS)
@pytest.mark.sample(2)
def test_a_unit_has_no_error(unit, tmp_path):
    """With a program in the place of the installed one."""
    text = (_UNIT_FILES / unit).read_text()
    text = text.replace("/usr/bin/walpost", str(walpost_binary()))
    text = re.sub(r"(?m)^Documentation=.*\n", "", text)
    (tmp_path / unit).write_text(text)
    ran = subprocess.run(["systemd-analyze", "verify", tmp_path / unit],
                         capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.long
def test_the_units_differ_in_names_alone():
    one, many = ((_UNIT_FILES / unit).read_text() for unit in _UNITS)
    differ = set(many.splitlines()) - set(one.splitlines())
    assert all("%i" in line for line in differ), differ


@pytest.mark.long
def test_a_restart_is_for_what_it_can_help():
    """The exit codes are those of README.md."""
    unit = (_UNIT_FILES / "walpost.service").read_text()
    assert "RestartPreventExitStatus=2 4\n" in unit
    readme = (REPOSITORY / "README.md").read_text()
    assert "| 2 | wrong command line or configuration" in readme
    assert "| 4 | Kafka rejects the configuration" in readme
    # A shutdown has its time.
    assert "TimeoutStopSec=30s\n" in unit


def test_the_scripts_have_no_finding():
    scripts = [path for path in (REPOSITORY / "scripts").iterdir()
               if path.is_file() and path.read_text().startswith(
                   "#!/usr/bin/env bash")]
    assert len(scripts) > 8
    _run("shellcheck", "-x", "--severity=warning", *scripts,
         *(REPOSITORY / "deploy" / "debian").glob("p*"), cwd=REPOSITORY)


@pytest.mark.long
def test_the_version_is_in_one_place():
    project = (REPOSITORY / "CMakeLists.txt").read_text()
    version = re.search(r"project\(walpost VERSION ([\d.]+)", project)[1]
    build = json.loads(_run(walpost_binary(), "version", "--json"))
    assert build["version"] == version
    assert _run(walpost_binary(), "--version") == f"walpost {version}\n"
    assert build["runs_with"]["librdkafka"] == build["built_with"]["librdkafka"]
    assert build["compiler"].startswith("GNU ")
    assert all(build["built_with"].values()), build


def test_the_bill_of_materials_has_what_is_linked():
    bill = json.loads(_run(REPOSITORY / "scripts" / "sbom", walpost_binary()))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    linkage = {entry["name"]: entry["properties"][0]["value"]
               for entry in bill["components"]}
    assert linkage["abseil"] == "static"
    assert linkage["libc6"] == linkage["libpq5"] == "dynamic"
    assert all(entry["version"] and entry["purl"] for entry in bill["components"])
    loaded = re.findall(r"=> (/\S+)", _run("ldd", walpost_binary()))
    assert len(loaded) >= list(linkage.values()).count("dynamic") > 20


def _git(folder, *words):
    return _run("git", "-c", "user.name=a", "-c", "user.email=a@b", *words, cwd=folder)


@pytest.fixture
def tree(tmp_path):
    """A repository with what scripts/release looks at."""
    for path in ("CMakeLists.txt", "CHANGELOG.md", "scripts/release",
                 "deploy/kubernetes/walpost/Chart.yaml"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / path, tmp_path / path)
    _git(tmp_path, "init", "-q")
    _commit(tmp_path)
    return tmp_path


def _commit(folder):
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", "a")


def _release(folder):
    ran = subprocess.run([folder / "scripts" / "release", "--dry-run"], check=False,
                         capture_output=True, text=True)
    return ran.returncode, ran.stdout, ran.stderr


def _replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_release_has_the_notes_of_its_version(tree):
    _replace(tree / "CHANGELOG.md", "## [Unreleased]",
             "## [9.0.0] - 2027-01-01\n\nOf this version.\n\n## [8.9.0]")
    _replace(tree / "CMakeLists.txt", "VERSION 0.2.0", "VERSION 9.0.0")
    code, _, error = _release(tree)
    assert (code, "Chart.yaml: version is 0.2.0, and CMakeLists.txt has 9.0.0"
            in error) == (1, True)
    chart = tree / "deploy/kubernetes/walpost/Chart.yaml"
    chart.write_text(chart.read_text().replace("0.2.0", "9.0.0"))
    code, _, error = _release(tree)
    assert (code, "not committed" in error) == (1, True)
    _commit(tree)
    assert _release(tree) == (0, "\nOf this version.\n", "")
    _git(tree, "tag", "v9.0.0")
    code, _, error = _release(tree)
    assert (code, "the tag v9.0.0 exists" in error) == (1, True)


@pytest.mark.long
def test_a_release_without_notes_is_refused(tree):
    for path in ("CMakeLists.txt", "deploy/kubernetes/walpost/Chart.yaml"):
        (tree / path).write_text((tree / path).read_text().replace("0.2.0", "9.0.0"))
    _commit(tree)
    code, _, error = _release(tree)
    assert (code, "no section '## [9.0.0]'" in error) == (1, True)
