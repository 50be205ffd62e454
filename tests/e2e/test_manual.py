"""The manual page and the completion: both say what `--help` says."""

import re
import subprocess

import pytest

from harness.paths import REPOSITORY, walpost_binary


def _say(*words):
    return subprocess.run([walpost_binary(), *words], timeout=30, check=True,
                          capture_output=True, text=True).stdout


def _verbs():
    return re.findall(r"^  ([a-z-]+)  ", _say("--help").split(
        "Subcommands:")[1], re.M)


def _options(verb):
    return re.findall(r"(--[a-z-]+)(?: |$)", "\n".join(
        re.findall(r"^  (?:-\w,)?--.*", _say(verb, "--help"), re.M)))


def _complete(*words):
    """What bash offers for the last one of the words."""
    script = (f"source <({walpost_binary()} completion); COMP_WORDS=(walpost "
              f"{' '.join(words) or chr(34) * 2}); "
              "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _walpost; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    return subprocess.run(["bash", "-euc", script], timeout=30, check=True,
                          capture_output=True, text=True).stdout.split()


@pytest.fixture(scope="module")
def page():
    """As `man` shows it; groff warns of what it does not understand."""
    ran = subprocess.run(
        ["groff", "-man", "-ww", "-Tascii", "-rLL=500n", "-P-cbou"],
        input=_say("man"), timeout=30, check=True, capture_output=True,
        text=True)
    assert ran.stderr == ""
    return ran.stdout


def test_the_page_has_every_verb_and_option(page):
    verbs = _verbs()
    assert {"run", "verify", "recover", "man"} <= set(verbs)
    sections = dict(re.findall(r"^   walpost ([\w-]+)\n(.*?)(?=^   ?\w|^\w)", page,
                               re.M | re.S))
    assert list(sections) == verbs
    for verb in verbs:
        for option in set(_options(verb)) - {"--help"}:
            assert option in sections[verb], (verb, option)
        assert "Exit code" in sections[verb]


def test_bash_completes_verbs():
    assert set(_verbs()) < set(_complete())
    assert _complete("re") == ["replay", "recover", "resume"]


def test_bash_completes_the_options_of_a_verb():
    for verb in _verbs():
        assert set(_options(verb)) <= set(_complete(verb, "--")), verb
    assert _complete("verify", "--fail-on-u") == ["--fail-on-unknown"]


def test_bash_leaves_values_to_itself():
    """Which completes the names of files."""
    assert _complete("run", "-c", "w") == []
    assert _complete("verify", "--json", "--ta") == ["--table"]


def test_install(tmp_path):
    subprocess.run(["cmake", "--install", REPOSITORY / "build" / "release",
                    "--prefix", tmp_path], check=True, timeout=60,
                   capture_output=True)
    there = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")
             if path.is_file()}
    assert there == {"bin/walpost", "share/man/man1/walpost.1",
                     "share/bash-completion/completions/walpost"}
    page = (tmp_path / "share/man/man1/walpost.1").read_text()
    assert page == _say("man")
