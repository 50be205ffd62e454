"""The code blocks and inline commands of README.md and docs/."""

import dataclasses
import re

from harness.paths import REPOSITORY

_FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.S | re.M)
_INDENTED = re.compile(r"(?:^ {4,}\S.*\n)(?:^(?: {4,}.*)?\n)*", re.M)
# A piece of a program, between two comments of any language.
_EXCERPT = re.compile(r"^ *\S+ begin: (\w+)\n(.*?)^\s*\S+ end: \1$", re.S | re.M)
_INLINE = re.compile(r"`(walpost [a-z][^`]*)`")


@dataclasses.dataclass(frozen=True)
class Block:
    page: str   # as docs/verify.md
    text: str   # without its indentation
    language: str = ""  # of a fenced block

    @property
    def first_line(self):
        return self.text.splitlines()[0]

    def __str__(self):
        return f"{self.page}: {self.first_line}"


def _pages():
    return [REPOSITORY / "README.md", *sorted(REPOSITORY.glob("docs/*.md"))]


def _without_indent(text):
    lines = text.rstrip().splitlines()
    indent = min(len(line) - len(line.lstrip()) for line in lines if line)
    return "\n".join(line[indent:] for line in lines) + "\n"


def blocks():
    """All code blocks, in the order of the pages."""
    found = []
    for path in _pages():
        page = str(path.relative_to(REPOSITORY))
        text = path.read_text()
        found += [Block(page, _without_indent(match[3]), match[2])
                  for match in _FENCED.finditer(text)]
        found += [Block(page, _without_indent(match[0]))
                  for match in _INDENTED.finditer(_FENCED.sub("", text))]
    return found


def excerpts(folder):
    """The pieces of the files below a folder of docs/ that a page may show."""
    return [_without_indent(match[2])
            for path in sorted((REPOSITORY / folder).rglob("*"))
            if path.is_file()
            for match in _EXCERPT.finditer(path.read_text())]


def inline_commands():
    """(page, command) of each `walpost ...` in running text."""
    return sorted({(str(path.relative_to(REPOSITORY)), command)
                   for path in _pages()
                   for command in _INLINE.findall(path.read_text())})
