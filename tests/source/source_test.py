"""Holds the rules that the compiler does not: layers, coroutines, lengths.

Each check reads the files of src/ as text and names file and line.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src"

# What a folder may include of the others, directly or not.
LAYERS = {
    "base": set(),
    "pgoutput": {"base"},
    "debezium": {"base", "pgoutput"},
    "outbox": {"base", "pgoutput", "debezium"},
    "dead_letters": {"base", "pgoutput", "debezium", "outbox"},
    "delivery": {"base", "pgoutput", "debezium", "outbox"},
    "log": {"base"},
    "loop": {"base"},
}
LAYERS["parking"] = LAYERS["delivery"] | {"delivery", "dead_letters"}
LAYERS["checkpoint"] = LAYERS["delivery"] | {"delivery"}
LAYERS["backfill"] = LAYERS["checkpoint"] | {"checkpoint"}
LAYERS["health"] = LAYERS["checkpoint"] | {"checkpoint"}
LAYERS["session"] = LAYERS["health"] | {"health"}
LAYERS["postgres"] = LAYERS["session"] | LAYERS["parking"] | {
    "session", "parking", "loop", "log"}
# The rooms of sinks.
SINKS = re.search(r"set\(WALPOST_SINKS ([\w ]+)\)",
                  (SOURCE / "CMakeLists.txt").read_text())[1].split()
for sink in SINKS:
    LAYERS[sink] = LAYERS["health"] | {"health", "loop", "log"}
LAYERS["admin"] = LAYERS["health"] | {"health", "log"}
# verify shares nothing with what it judges, except the configuration.
LAYERS["verify"] = {"base", "outbox", "pgoutput", "debezium"}
LAYERS["polling"] = LAYERS["postgres"] | {"postgres"}
LAYERS["retention"] = LAYERS["polling"] | {"polling"}
# import makes a configuration of another tool's; it loads none.
LAYERS["import"] = LAYERS["outbox"] | {"outbox"}
LAYERS["config"] = {*LAYERS}  # but only headers of options, see below
LAYERS["app"] = {*LAYERS}
LAYERS["cli"] = {*LAYERS}

# The folders inside a room: each includes only those before it, and itself.
# The sources of the room itself come last.
SUBFOLDERS = {
    "postgres": ("connect", "catalog", "tables", "slot", "parking",
                 "checkpoint", "stream"),
    "kafka": ("client", "topics", "transactions", "producer", "checkpoint",
              "checks"),
    "app": ("process", "sink", "checkpoint", "stored", "backfill", "live",
            "polling"),
    "cli": ("shared", "check", "init", "recovery", "events"),
}

PURE = ("base", "pgoutput", "debezium", "outbox", "import", "dead_letters", "delivery", "parking",
        "checkpoint", "backfill", "health", "session")
NOT_PURE = re.compile(
    r"<(boost/|libpq|librdkafka|thread>|mutex>|atomic>|future>|unistd|sys/|"
    r"netinet/|fstream>)|system_clock::now|steady_clock::now|clock_gettime|"
    r"\bgetenv\b")

# The one place that reads the clock, for the folders that may.
CLOCK = SOURCE / "base" / "time.h"

# Headers outside of config/ that declare what config/ fills in.
# (routes and topic templates are parsed there, so that errors name a line).
OPTIONS = re.compile(
    r"options\.h$|^outbox/(fields|route|table_pattern|topic_template|"
    r"dead_letter_topic)\.h$|"
    r"^delivery/(acknowledgement_window|error_actions|sink_kind)\.h$|^base/")

LONGEST_FILE_LINES = 500


def _is_debian_12():
    return 'VERSION_ID="12"' in pathlib.Path("/etc/os-release").read_text()


def files(folder="."):
    return sorted(path for path in (SOURCE / folder).rglob("*")
                  if path.suffix in (".h", ".cc"))


def includes(path):
    """(line number, included path) of the project's own headers."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r'#include "(\w+/[\w/]+\.h)"', line)
        if found and found[1].split("/")[0] in LAYERS:
            yield number, found[1]


def string_literals(path):
    """The texts of a file, adjacent literals as one."""
    text = re.sub(r"(?m)^\s*(//|#).*$|\s//[^\n\"]*$", "", path.read_text())
    literal = r'"((?:[^"\\\n]|\\.)*)"'
    for group in re.finditer(rf"{literal}(?:\s*{literal})*", text):
        yield "".join(re.findall(literal, group[0]))


def reached(path, seen):
    for _, header in includes(path):
        if header not in seen:
            seen.add(header)
            reached(SOURCE / header, seen)
    return seen


class LayeringTest(unittest.TestCase):
    def test_every_folder_has_its_layer(self):
        self.assertEqual({path.name for path in SOURCE.iterdir()
                          if path.is_dir()}, set(LAYERS))

    def test_a_folder_reaches_only_what_lies_below_it(self):
        wrong = []
        for folder, below in LAYERS.items():
            for path in files(folder):
                for header in sorted(reached(path, set())):
                    if header.split("/")[0] not in below | {folder}:
                        wrong.append(f"{path.relative_to(SOURCE)} reaches "
                                     f"{header}")
        self.assertEqual(wrong, [])

    def test_a_subfolder_includes_only_those_before_it(self):
        wrong = []
        for room, order in SUBFOLDERS.items():
            place = {name: at for at, name in enumerate(order)}
            for path in files(room):
                for number, header in includes(path):
                    above, below = path.parent.name, header.split("/")
                    if (below[0] == room and len(below) == 3 and
                            place[below[1]] > place.get(above, len(order))):
                        wrong.append(f"{path.relative_to(SOURCE)}:{number}: "
                                     f"{header}")
        self.assertEqual(wrong, [])

    # Who may know which sink there is: the factories, and verbs that read the
    # topics.
    KNOW_SINKS = {
        "app/sink/kafka_broker.cc", "app/sink/nats_broker.cc",
        "app/sink/rabbitmq_broker.cc", "app/sink/redis_broker.cc",
        "app/sink/checked_topics.h", "app/sink/topic_reader_options.h",
        "app/checkpoint/checkpoint_stores.cc",
        "app/stored/dead_letter_topic_reader.cc", "config/config.h",
        "config/nats_section.cc", "config/rabbitmq_section.h",
        "config/redis_section.h"}

    def test_who_knows_which_sink_there_is(self):
        found = {str(path.relative_to(SOURCE)) for path in files()
                 if path.relative_to(SOURCE).parts[0] not in SINKS
                 for _, header in includes(path)
                 if header.split("/")[0] in SINKS}
        self.assertEqual(found, self.KNOW_SINKS)

    # What another checkpoint store, or another action of on_error, would have
    # to touch (docs/architecture.md): no other place tells them apart.
    def test_one_factory_knows_the_checkpoint_stores(self):
        self.assertEqual(self._found(r"\bCheckpointOptions::Store\b"), {
            "app/checkpoint/checkpoint_stores.cc",
            "config/delivery_section.cc"})

    def test_who_tells_all_actions_of_on_error_apart(self):
        self.assertLessEqual(self._found(r"\bcase ErrorAction::"), {
            "delivery/sender_divert.cc", "backfill/table_backfill.cc"})

    @staticmethod
    def _found(pattern):
        return {str(path.relative_to(SOURCE)) for path in files()
                if re.search(pattern, path.read_text())}

    def test_every_subfolder_has_its_place(self):
        for room, order in SUBFOLDERS.items():
            self.assertEqual({path.name for path in (SOURCE / room).iterdir()
                              if path.is_dir()}, set(order), room)

    def test_every_include_of_ours_exists(self):
        for path in files():
            for number, header in includes(path):
                self.assertTrue((SOURCE / header).exists(),
                                f"{path}:{number}: {header}")

    def test_config_knows_only_options(self):
        wrong = [f"{path.relative_to(SOURCE)}:{number}: {header}"
                 for path in files("config")
                 for number, header in includes(path)
                 if not header.startswith("config/")
                 and not OPTIONS.search(header)]
        self.assertEqual(wrong, [])

    def test_pure_folders_own_no_clock_socket_or_thread(self):
        wrong = [f"{path.relative_to(SOURCE)}:{number}: {line}"
                 for folder in PURE for path in files(folder)
                 for number, line in enumerate(
                     path.read_text().splitlines(), 1)
                 if NOT_PURE.search(line.split("//")[0])
                 and path != CLOCK]
        self.assertEqual(wrong, [])


class WordsTest(unittest.TestCase):
    """The worst habits of our prose, in code and docs."""

    NAMES = re.compile(r"\bk(?:Most|Least|Longest|Shortest)[A-Z]\w*")
    WORDS = re.compile(r"\b(?:anew|amid|mend(?:s|ed|ing)?|whereto)\b", re.I)
    OPENINGS = re.compile(r"(?m)^(?!\s*//)(?:.*\n)(\s*// (?:Of|Or) .*)")

    def test_limits_are_called_max_and_min(self):
        self.assertEqual(self._found(self.NAMES, files()), [])

    def test_words_are_those_of_the_field(self):
        root = SOURCE.parent
        docs = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
        self.assertEqual(self._found(self.WORDS, [*files(), *docs]), [])

    def test_comments_begin_with_their_noun(self):
        self.assertEqual(self._found(self.OPENINGS, files()), [])

    @staticmethod
    def _found(pattern, paths):
        return [f"{path.name}: {found.group(found.lastindex or 0).strip()}"
                for path in paths
                for found in pattern.finditer(path.read_text())]


class CommandsTest(unittest.TestCase):
    """A command in a message can be pasted (base/own_arguments.h)."""

    VERBS = re.compile(r'AddDecision\(app, exit_code, "([\w-]+)"|'
                       r'Verb verb\(app, "([\w-]+)"')
    # Their text is a name, the help, which has no configuration, or the manual
    # page, whose commands use the default.
    ALLOWED = re.compile(r"see walpost \S+ --help|^walpost parked$|"
                         r"^hashtextextended|^Position of the event|"
                         r"is not a position|^\.TH WALPOST 1 ")

    def test_commands_have_their_configuration(self):
        verbs = {name for path in files("cli")
                 for found in self.VERBS.findall(path.read_text())
                 for name in found if name} - {"run", "man", "version",
                                               "completion", "config"}
        self.assertIn("dead-letter", verbs)
        bare = re.compile(
            rf"\bwalpost (?:{'|'.join(sorted(verbs, key=len)[::-1])})\b"
            r"(?!-)(?! -c FILE)")
        # Texts of the documentation are about a verb.
        wrong = [f"{path.name}: {text}" for path in files()
                 if path.name != "key_texts.cc"
                 for text in string_literals(path)
                 if bare.search(text) and not self.ALLOWED.search(text)]
        self.assertEqual(wrong, [])

    def test_verbs_print_through_one_function(self):
        wrong = [path.name for path in files("cli")
                 if path.name != "output.h"
                 and re.search(r"(?<!// from )fmt::print\(",
                               path.read_text())]
        self.assertEqual(wrong, [])


class CoroutineTest(unittest.TestCase):
    """GCC 12 destroys some temporaries of an awaiting expression twice, or
    copies them bitwise: initializer lists, lambdas, conditional expressions
    and literals that become strings. So a statement with co_await has none.
    """

    _SUSPECT = re.compile(r'[{\["?]')

    def test_awaiting_statements_have_only_plain_arguments(self):
        wrong = []
        for path in files():
            text = re.sub(r"//[^\n]*", "", path.read_text())
            for found in re.finditer(r"[^;{}]*\bco_await\b[^;]*;", text):
                statement = found[0]
                # The head of an if or a loop has its brace after it.
                awaited = statement[statement.index("co_await"):]
                depth, end = 0, len(awaited)
                for i, letter in enumerate(awaited):
                    depth += (letter == "(") - (letter == ")")
                    if depth < 0:
                        end = i
                        break
                before = statement[:statement.index("co_await")]
                if "?" in before or self._SUSPECT.search(awaited[:end]):
                    line = text.count("\n", 0, found.end()) + 1
                    wrong.append(f"{path.relative_to(SOURCE)}:{line}: "
                                 f"{' '.join(statement.split())}")
        self.assertEqual(wrong, [])


class FormTest(unittest.TestCase):
    def test_files_are_short(self):
        long = {str(path.relative_to(SOURCE)): lines for path in files()
                if (lines := path.read_text().count("\n"))
                > LONGEST_FILE_LINES}
        self.assertEqual(long, {})

    def test_clang_format_has_nothing_to_change(self):
        formatter = shutil.which("clang-format-14")
        if formatter is None and not _is_debian_12():
            self.skipTest("that version decides, and it is in Debian 12 alone")
        self.assertIsNotNone(formatter, "scripts/install test brings it")
        ran = subprocess.run(
            [formatter, "--dry-run", "--Werror", *map(str, files()),
             *map(str, files("../tests")), *map(str, files("../bench"))],
            capture_output=True, text=True, check=False)
        self.assertEqual(ran.stderr, "")

    def test_scripts_use_only_names_that_exist(self):
        """A test file that does not load would be noticed an hour later."""
        root = SOURCE.parent
        scripts = [path for folder in ("tests", "bench", "scripts")
                   for path in (root / folder).rglob("*.py")]
        ran = subprocess.run(
            [sys.executable, "-m", "pyflakes", *map(str, scripts)],
            capture_output=True, text=True, check=False)
        self.assertEqual(ran.stdout + ran.stderr, "")


def anchors(page):
    """The addresses of its headings, as the pages of a repository have them."""
    found = set()
    for heading in re.findall(r"(?m)^#+ (.*)", re.sub(
            r"(?ms)^```.*?^```", "", page.read_text())):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", words).strip().lower().replace(" ", "-")
        while slug in found:
            slug += "-1"
        found.add(slug)
    return found


class LinksTest(unittest.TestCase):
    def test_links_lead_to_a_file_and_a_heading(self):
        root = SOURCE.parent
        pages = [page for pattern in ("*.md", "docs/**/*.md", "sql/*.md",
                                      "bench/*.md")
                 for page in root.glob(pattern)]
        links = 0
        for page in pages:
            for path, _, anchor in re.findall(
                    r"\]\(([^)\s:#]*)(#([^)\s]+))?\)", page.read_text()):
                target = page.parent / path if path else page
                links += 1
                with self.subTest(page=page.name, path=path, anchor=anchor):
                    self.assertTrue(target.exists())
                    if anchor and target.suffix == ".md":
                        self.assertIn(anchor, anchors(target))
        self.assertGreater(links, 150)

    def test_a_page_that_something_names_is_there(self):
        """Hints of the program, annotations of alerts, comments."""
        root = SOURCE.parent
        named = 0
        for folder in ("src", "sql", "proto", "monitoring", "deploy", "docker",
                       "scripts", "tests", "bench"):
            for file in sorted((root / folder).rglob("*")):
                if not file.is_file() or file.suffix in (".svg", ".csv"):
                    continue
                for page, _, anchor in re.findall(
                        r"\bdocs/([\w-]+\.md)(#([\w-]+))?",
                        file.read_text(errors="replace")):
                    named += 1
                    with self.subTest(file=file, page=page, anchor=anchor):
                        self.assertTrue((root / "docs" / page).exists())
                        if anchor:
                            self.assertIn(anchor, anchors(root / "docs" / page))
        self.assertGreater(named, 100)


# A path from the root of the repository, as pages name it.
PATH = re.compile(
    r"(?<![\w/.~$}-])((?:bench|cmake|deploy|docker|docs|monitoring|proto|scripts|sql"
    r"|src|tests)/[\w./*-]*[\w/*])")
NO_PATHS = {"deploy/outbox-shop"}  # a Deployment, as kubectl names it


class PathsTest(unittest.TestCase):
    def test_paths_that_pages_name_are_there(self):
        root = SOURCE.parent
        named = 0
        for page in [*root.glob("*.md"), *root.glob("docs/*.md"),
                     *root.glob("sql/*.md"), *root.glob("bench/*.md")]:
            if page.name == "CHANGELOG.md":  # has what once was
                continue
            text = re.sub(r"https?://\S+", "", page.read_text())
            for path in PATH.findall(text):
                named += 1
                with self.subTest(page=page.name, path=path):
                    self.assertTrue(path in NO_PATHS or any(root.glob(path)))
        self.assertGreater(named, 100)

    def test_tests_that_pages_name_are_there(self):
        """As `test_gaps.py`, without a folder."""
        root = SOURCE.parent
        tests = {file.name for file in (root / "tests").rglob("test_*.py")}
        for page in [*root.glob("*.md"), *root.glob("docs/*.md")]:
            if page.name == "CHANGELOG.md":
                continue
            for name in re.findall(r"(?<![\w/])(test_\w+\.py)", page.read_text()):
                with self.subTest(page=page.name, name=name):
                    self.assertIn(name, tests)


class FindingIdsTest(unittest.TestCase):
    """docs/checks.md has every id of `walpost check`, and no other."""

    # What is between the parentheses: up to two more inside.
    IDS = re.compile(r"\bFindingId\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")
    NAMES = re.compile(r'constexpr char (k\w+)\[\] =\s*"([^"]*)"')
    # Not known before it is found: the code of a gap; see gap_codes.
    FOUND = {"diagnosis.gap"}
    # Reason codes of errors that a finding is made of (FindingIdOf).
    REASONS = {"kReasonCheckpointUnreadable", "kReasonCheckpointOfAnotherSlot"}
    # Ids of what only `walpost init` prints, without them.
    INIT = "init"

    def setUp(self):
        self.sources = [path for path in files()
                        if path.parent.name != self.INIT
                        and path.name != "finding_id.h"]
        self.values = dict(pair for path in files()
                           for pair in self.NAMES.findall(path.read_text()))
        page = (SOURCE.parent / "docs" / "checks.md").read_text()
        self.rows = re.findall(
            r"(?m)^\| `(\w+)` \| (.+?) \| (.+?) \| (.*?)\|$", page)
        self.documented = [row[0] for row in self.rows]

    def arguments(self):
        """Each FindingId(...): path, what is inside."""
        for path in self.sources:
            for found in self.IDS.finditer(path.read_text()):
                yield path, found[1]

    def named(self, argument):
        """The ids that an argument may be."""
        names = set(re.findall(r"\bk[A-Z]\w*", argument))
        return (set(re.findall(r'"(\w+)"', argument)) |
                {self.values[name] for name in names})

    def gap_codes(self):
        """Those of IsGap (delivery/gap.cc)."""
        text = (SOURCE / "delivery" / "gap.cc").read_text()
        array = re.search(r"kGaps\[\] = \{(.*?)\}", text, re.S)[1]
        return self.named(array)

    def test_the_page_has_each_id_once(self):
        found = self.gap_codes() | {self.values[name] for name in self.REASONS}
        for path, argument in self.arguments():
            ids = self.named(argument)
            self.assertTrue(ids or argument in self.FOUND,
                            f"{path.name}: {argument}")
            found |= ids
        self.assertGreater(len(found), 150)
        self.assertEqual(sorted(found), sorted(self.documented))

    def test_an_id_is_written_once(self):
        """One that more than one place finds is a constant."""
        literals = [text for _, argument in self.arguments()
                    for text in re.findall(r'"(\w+)"', argument)]
        literals += [value for name, value in self.values.items()
                     if re.match("k(Finding|Gap|Reason)[A-Z]", name)]
        self.assertEqual([text for text in sorted(set(literals))
                          if literals.count(text) > 1], [])

    def test_ids_are_well_formed(self):
        for name in self.documented:
            self.assertRegex(name, r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")

    def test_the_page_has_the_severities(self):
        severities = {row[0]: row[2].split(", ") for row in self.rows}
        order = ["ok", "note", "warning", "error"]
        for name, its in severities.items():
            self.assertEqual(its, [one for one in order if one in its], name)
        pair = re.compile(r"(?<!: )Severity::k(\w+),\s*" + self.IDS.pattern)
        pairs = 0
        for path in self.sources:
            for found in pair.finditer(path.read_text()):
                for name in self.named(found[2]):
                    pairs += 1
                    self.assertIn(found[1].lower(), severities[name], name)
        self.assertGreater(pairs, 120)


if __name__ == "__main__":
    unittest.main()
