"""What walpost prints to be pasted: SQL, its own commands, Kafka's tools."""

import re
import shlex
import subprocess

from harness.kafka_java import run_tool
from harness.paths import walpost_binary

_SQL = re.compile(r"\b(?:ALTER|GRANT|CREATE|COMMENT|SELECT(?= [\w.]+\()|DROP|"
                  r"DELETE(?= FROM)|UPDATE(?= \S+ SET)|ROLLBACK|create table|"
                  r"create index|alter table|do(?= \$))\b")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|(\$\w*\$).*?\1", re.S)
_WORD = r"(?:'(?:[^']|'\\'')*'|[^\s;,'()])+"
_OWN = re.compile(rf"\bwalpost [a-z-]+ -c {_WORD}(?: --set {_WORD})*"
                  r"((?: (?:list|show|release|retry|discard))?"
                  rf"(?: (?:--table {_WORD}|--[a-z-]+|"
                  r"[0-9A-F]+/[0-9A-F]+(?:/[0-9]+)?|REASON|COLUMN|ID))*)")
_TOOL = re.compile(rf"\bkafka-[a-z-]+\.sh(?: {_WORD})+")
_SHELL = re.compile(rf"\b(?:mkdir -p {_WORD}|mv {_WORD} {_WORD})")


def statements(text):
    """The SQL in a text, each statement up to its semicolon."""
    found, position = [], 0
    while begin := _SQL.search(text, position):
        end = _end_of_statement(text, begin.end())
        if end is None:
            position = begin.end()
            continue
        found.append(text[begin.start():end])
        position = end
    return found


def _end_of_statement(text, position):
    while position < len(text) and text[position] not in ";\n":
        quoted = _QUOTED.match(text, position)
        position = quoted.end() if quoted else position + 1
    is_whole = position < len(text) and text[position] == ";"
    return position + 1 if is_whole else None


def command_lines(text):
    """The commands of walpost in a text."""
    return [found[0].rstrip(".:") for found in _OWN.finditer(text)]


def commands(text):
    """Their words, without `walpost`."""
    return [shlex.split(line)[1:] for line in command_lines(text)]


def tool_lines(text):
    """The commands of Kafka's tools in a text."""
    return [found[0].rstrip(".:") for found in _TOOL.finditer(text)]


def tools(text):
    """Their words."""
    return [shlex.split(line) for line in tool_lines(text)]


def shell_lines(text):
    """What makes or moves files."""
    return [found[0] for found in _SHELL.finditer(text)]


def run_command(words, seconds=60):
    """Runs one of `commands`, with a reason where one is asked for."""
    words = [word.replace("REASON", "a test") for word in words]
    return subprocess.run([walpost_binary(), *words], capture_output=True,
                          text=True, timeout=seconds, check=False)


_PROGRAMS = {"kafka-topics.sh": "TopicCommand",
             "kafka-acls.sh": "AclCommand",
             "kafka-configs.sh": "kafka.admin.ConfigCommand",
             "kafka-transactions.sh": "TransactionsCommand"}


def run_printed_tool(words, bootstrap=None):
    """Runs one of `tools`; at this address, if an administrator has one of
    their own."""
    assert words[1] == "--bootstrap-server", words
    assert "..." not in " ".join(words), words
    run_tool(bootstrap or words[2], _PROGRAMS[words[0]], *words[3:])
