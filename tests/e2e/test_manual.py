"""The manual page and the completion: both say what `--help` says."""

import os
import pty
import re
import select
import signal
import subprocess
import time

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


@pytest.mark.long
def test_bash_completes_the_options_of_a_verb():
    for verb in _verbs():
        assert set(_options(verb)) <= set(_complete(verb, "--")), verb
    assert _complete("verify", "--fail-on-u") == ["--fail-on-unknown"]


@pytest.mark.long
def test_bash_leaves_values_to_itself():
    """Which completes the names of files."""
    assert _complete("run", "-c", "w") == []
    assert _complete("verify", "--json", "--ta") == ["--table"]


@pytest.mark.long
def test_bash_completes_actions():
    assert {"list", "show", "release", "discard", "accept"} < set(
        _complete("parked", '""'))
    assert _complete("dead-letters", "re") == ["retry"]
    assert _complete("completion", "z") == ["zsh"]


@pytest.mark.long
def test_another_shell_is_refused():
    ran = subprocess.run([walpost_binary(), "completion", "ksh"], timeout=30,
                         capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr == ("walpost: SHELL: 'ksh' is not one of bash, zsh, fish; see "
                          "walpost completion --help\n")


def _complete_in_fish(line):
    script = f"{walpost_binary()} completion fish | source; complete -C '{line}'"
    ran = subprocess.run(
        ["fish", "--no-config", "-c", script], timeout=30, check=True,
        capture_output=True, text=True)
    assert ran.stderr == ""
    return [entry.split("\t")[0] for entry in ran.stdout.splitlines()]


def _complete_in_zsh(line, tmp_path):
    """What zsh lists when TAB is pressed behind the line."""
    folder = tmp_path / "zsh"
    folder.mkdir(exist_ok=True)
    (folder / "_walpost").write_text(_say("completion", "zsh"))
    (folder / ".zshrc").write_text(
        f"fpath=({folder} $fpath)\nautoload -U compinit\n"
        f"compinit -u -d {folder}/dump\nPROMPT='ready> '\n"
        "zstyle ':completion:*' list-separator '|'\nLISTMAX=1000\n"
        "unsetopt auto_menu menu_complete\nsetopt no_list_beep\n")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe("zsh", ["zsh", "-i", "-d"], {
            **os.environ, "ZDOTDIR": str(folder), "TERM": "dumb",
            "COLUMNS": "200", "LINES": "100"})
    try:
        said = _read_until(terminal, "ready> ")
        os.write(terminal, line.encode() + b"\t")
        said = _read_until(terminal, None)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)
    return said


def _read_until(terminal, wanted):
    """What it writes until it has written `wanted`, or is silent for 1 s."""
    said, end = "", time.monotonic() + 20
    while wanted is None or wanted not in said:
        ready, _, _ = select.select([terminal], [], [], 1 if wanted is None and said
                                    else 20)
        if not ready:
            assert wanted is None, said
            break
        said += os.read(terminal, 65536).decode()
        assert time.monotonic() < end, said
    return said


def test_fish_completes_verbs_actions_and_options():
    assert set(_verbs()) == set(_complete_in_fish("walpost "))
    assert set(_complete_in_fish("walpost parked ")) == {
        "list", "show", "release", "discard", "accept"}
    assert "list" not in _complete_in_fish("walpost parked show ")
    for verb in _verbs():
        assert set(_options(verb)) <= set(
            _complete_in_fish(f"walpost {verb} --")), verb


def test_zsh_completes_verbs_actions_and_options(tmp_path):
    verbs = _complete_in_zsh("walpost ", tmp_path)
    for verb in _verbs():
        assert re.search(rf"\b{verb}\b", verbs), verb
    actions = _complete_in_zsh("walpost dead-letters ", tmp_path)
    for action in ("list", "show", "retry", "discard"):
        assert re.search(rf"\b{action}\b", actions), action
    assert "retry" not in _complete_in_zsh("walpost parked ", tmp_path)
    options = _complete_in_zsh("walpost verify --", tmp_path)
    for option in set(_options("verify")):
        assert re.search(rf"{option}\b", options), option
    (tmp_path / "shop.yaml").write_text("")
    assert "shop.yaml" in _complete_in_zsh(f"walpost run -c {tmp_path}/sh",
                                           tmp_path)


def test_install(tmp_path):
    subprocess.run(["cmake", "--install", REPOSITORY / "build" / "release",
                    "--prefix", tmp_path], check=True, timeout=60,
                   capture_output=True)
    there = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")
             if path.is_file()}
    assert there == {"bin/walpost", "share/man/man1/walpost.1",
                     "share/bash-completion/completions/walpost",
                     "share/zsh/vendor-completions/_walpost",
                     "share/fish/vendor_completions.d/walpost.fish"}
    page = (tmp_path / "share/man/man1/walpost.1").read_text()
    assert page == _say("man")
