"""Each source of src/ is in a unit test program, or in unlinked.txt.

    linked_test.py PROGRAM...            what CTest runs, as unit.linked
    linked_test.py --shrink PROGRAM...   takes what is linked off the list

A static library gives a program only the members that it needs, and the debug
information of a program names them: what is in none has no unit test. The list
has those that nothing tests without a server; it only gets shorter.

A build in batches (WALPOST_UNITY) links a batch whole: there a source counts as
linked if another of its batch is, and only a build of single sources tells what
is on the list and linked.
"""

import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src"
LIST = pathlib.Path(__file__).with_name("unlinked.txt")
_UNIT = re.compile(r"DW_AT_name .*?(/\S+\.(?:cc|cxx))$", re.M)
_OF_BATCH = re.compile(r'^#include "(\S+)"$', re.M)


def linked(programs):
    """The sources, and whether they were compiled in batches."""
    units = set()
    for program in programs:
        said = subprocess.run(
            ["readelf", "--debug-dump=info", "--dwarf-depth=1", program],
            check=True, capture_output=True, text=True, errors="replace")
        units.update(_UNIT.findall(said.stdout))
    batches = {unit for unit in units if unit.endswith("_cxx.cxx")}
    for batch in batches:
        units.update(_OF_BATCH.findall(pathlib.Path(batch).read_text()))
    return {unit.rpartition("/src/")[2] for unit in units}, bool(batches)


def sources():
    return {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.cc")}


def main(words):
    shrinks = words[:1] == ["--shrink"]
    there, in_batches = linked(words[1:] if shrinks else words)
    if not there & sources():
        return "no program has debug information of src/"
    allowed = set(LIST.read_text().split())
    if shrinks and in_batches:
        return "a build in batches does not tell"
    if shrinks:
        LIST.write_text("".join(f"{path}\n" for path in sorted(
            allowed & sources() - there)))
        return None
    wrong = [f"src/{path} is in no unit test program: write a test, or take what "
             "it decides into a pure class that has one"
             for path in sorted(sources() - there - allowed)]
    wrong += [f"src/{path} is on the list of {LIST.name}, and is linked or gone: "
              "take it off (--shrink)"
              for path in sorted((set() if in_batches else allowed & there)
                                 | allowed - sources())]
    return "\n".join(wrong) or None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
