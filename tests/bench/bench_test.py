"""The benchmark's own arithmetic: figures, charts, report, the broker's log; and
what is published of it."""

import json
import pathlib
import re
import struct
import tempfile
import unittest
import xml.etree.ElementTree

from compare import aims, charts, contenders, plan, report, sections
from compare.broker_log import BrokerLog
from compare.consumer import latencies_ms
from compare.figures import (Rows, Spread, percentiles,
                             quantile, short)
from compare.outbox import judged
from compare.records import Records

RUN = {"level": "short", "at": "2026-11-21T12:00:00", "round": 1}


def drain_row(contender, events_per_s, void="", **others):
    return {**RUN, "rows": 1000, "per_transaction": 100, "payload_bytes": 250,
            "contender": contender, "events_per_s": events_per_s,
            "void": void, **others}


class FiguresTest(unittest.TestCase):
    def test_quantile_is_a_measured_value_that_enough_do_not_exceed(self):
        hundred = list(range(1, 101))
        for fraction, expected in ((0.5, 50), (0.95, 95), (0.99, 99),
                                   (0.999, 100), (1.0, 100)):
            self.assertEqual(quantile(hundred, fraction), expected)
        self.assertEqual(quantile([7], 0.5), 7)
        self.assertEqual(quantile([1, 2], 0.5), 1)

    def test_percentiles_sort_and_name(self):
        self.assertEqual(percentiles([3, 1, 2], "ms"),
                         {"ms_p50": 2, "ms_p95": 3, "ms_p99": 3, "ms_p999": 3,
                          "ms_max": 3})
        self.assertIsNone(percentiles([], "ms")["ms_max"])

    def test_short_keeps_three_digits(self):
        for value, text in ((0, "0"), (0.012345, "0.0123"), (1.234, "1.23"),
                            (12.34, "12.3"), (123.4, "123"),
                            (45_678, "45,700"), (-0.5, "-0.500"),
                            (99.96, "100"), (9.996, "10.0")):
            self.assertEqual(short(value), text)

    def test_spread_leaves_out_what_is_missing(self):
        self.assertEqual(Spread([3, None, 1, 2]).text(), "2.00 (1.00–3.00)")
        self.assertEqual(Spread([5, 5]).text(scale=100), "500")
        self.assertEqual(Spread([None]).text(), "–")
        self.assertFalse(Spread([]))

    def test_void_rows_count_in_no_median_and_are_named(self):
        rows = Rows([drain_row("walpost", 10), drain_row("walpost", 20),
                     drain_row("walpost", 9000, void="3 missing")])
        self.assertEqual(rows.spread("events_per_s").high, 20)
        self.assertEqual(rows.voids(), ["3 missing"])


class LatencyTest(unittest.TestCase):
    def test_counts_from_the_commit_and_never_understates_the_broker(self):
        arrivals = {(1, 0): (2_500_000, 2_000), (2, 0): (3_000_000, 2_999)}
        commits = {1: 1_999_100, 2: 2_990_000}
        broker, consumer = latencies_ms(arrivals, commits, 0)
        self.assertAlmostEqual(broker[0], 1.9)  # appended before 2,001 ms
        self.assertAlmostEqual(consumer[0], 500.9)
        broker, _ = latencies_ms(arrivals, commits, 2_000_000)
        self.assertEqual(len(broker), 1)  # the other one was warm-up


class BrokerLogTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.data = pathlib.Path(self._folder.name)
        self.segment = self.data / "run1.order-0" / f"{0:020}.log"
        self.segment.parent.mkdir()
        self.segment.touch()
        self.log = BrokerLog(self.data, "run1.")

    @staticmethod
    def batch(records, appended_ms, attributes=0, body=b"x" * 30):
        rest = struct.pack(">ibIhiqqqhii", 0, 2, 0, attributes, records - 1, 0,
                           appended_ms, -1, -1, -1, records) + body
        return struct.pack(">qi", 0, len(rest)) + rest

    def append(self, data):
        with open(self.segment, "ab") as segment:
            segment.write(data)

    def test_counts_records_and_notes_when(self):
        self.append(self.batch(3, 1000) + self.batch(5, 1007))
        self.assertEqual(self.log.read(), 8)
        self.append(self.batch(1, 1009))
        self.assertEqual(self.log.read(), 9)
        self.assertEqual((self.log.first_ms, self.log.last_ms), (1000, 1009))

    def test_every_prefix_counts_only_whole_batches(self):
        whole = self.batch(3, 1000)
        for length in range(len(whole)):
            self.segment.write_bytes(whole[:length])
            self.assertEqual(BrokerLog(self.data, "run1.").read(), 0, length)
        self.log.read()
        self.segment.write_bytes(whole)
        self.assertEqual(self.log.read(), 3)

    def test_other_topics_and_transaction_markers_do_not_count(self):
        self.append(self.batch(1, 1000, attributes=0x20))
        other = self.data / "run10.order-0"
        other.mkdir()
        (other / f"{0:020}.log").write_bytes(self.batch(4, 1000))
        self.assertEqual(self.log.read(), 0)


class ChartTest(unittest.TestCase):
    @staticmethod
    def bars(svg):
        root = xml.etree.ElementTree.fromstring(svg)
        return [float(bar.get("width"))
                for bar in root.iter("{http://www.w3.org/2000/svg}rect")]

    def test_lengths_are_in_proportion(self):
        svg = charts.bar_chart("a & b", "<note>", [
            charts.Bar("one", Spread([100]), "ours"),
            charts.Bar("two", Spread([25]))], "/s")
        one, two = self.bars(svg)
        self.assertAlmostEqual(one / two, 4, places=2)
        self.assertIn("a &amp; b", svg)
        self.assertIn("prefers-color-scheme: dark", svg)

    def test_logarithmic_lengths_differ_by_the_same_for_each_decade(self):
        one, ten, hundred = self.bars(charts.bar_chart("", "", [
            charts.Bar("", Spread([value])) for value in (1, 10, 100)], "",
            logarithmic=True))
        self.assertAlmostEqual(ten - one, hundred - ten, delta=0.2)

    def test_a_long_name_is_squeezed_rather_than_cut(self):
        svg = charts.bar_chart("", "", [
            charts.Bar("short", Spread([1])),
            charts.Bar("a name that is too long for its place", Spread([1]))],
            "/s")
        self.assertEqual(svg.count("textLength"), 1)

    def test_a_contender_without_a_valid_run_has_no_bar(self):
        svg = charts.bar_chart("", "", [charts.Bar("lost", Spread([]))], "/s")
        self.assertEqual(self.bars(svg), [])
        self.assertIn(">void<", svg)


class ReportTest(unittest.TestCase):
    ROWS = (drain_row("walpost", 100, peak_mb=30),
            drain_row("naive-100ms", 40, peak_mb=15),
            drain_row("debezium", 500, void="3 missing"),
            drain_row("pg_recvlogical", 120), drain_row("discard", 150),
            drain_row("produce", 200))

    def test_the_ceiling_is_the_lower_of_source_and_sink(self):
        rows = Rows(self.ROWS)
        self.assertEqual(report.ceiling(rows), 150)
        self.assertEqual(report.ceiling(rows.where(contender="walpost")), None)
        shares = report.with_shares("drain", rows).where(contender="walpost")
        self.assertAlmostEqual(shares.spread("of_ceiling").median, 2 / 3)

    def test_other_builds_and_settings_come_behind_walpost(self):
        names = ("walpost", "walpost+a=b", "walpost@/tmp/x", "naive-100ms")
        rows = Rows([drain_row(name, 1) for name in reversed(names)])
        found = report._ordered(rows)  # pylint: disable=protected-access
        self.assertEqual(found, list(names))

    def test_columns_in_which_walpost_is_behind_are_found(self):
        columns = [sections.Column("events/s", "events_per_s",
                                   better=sections.MORE),
                   sections.Column("peak MB", "peak_mb", better=sections.LESS)]
        found = [(column.name, name) for column, name, _, _ in
                 report.fallen_behind(Rows(self.ROWS), columns)]
        # Neither ceilings nor the void run count.
        self.assertEqual(found, [("peak_mb", "naive-100ms")])

    def test_the_report_shows_figures_voids_and_losses(self):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder)
            records = Records(target / "raw")
            for row in self.ROWS:
                records.add("drain", row)
            report.write_report(records, _environment(), target)
            text = (target / "RESULTS.md").read_text()
            drawn = {path.name for path in (target / "charts").iterdir()}
        self.assertIn("| walpost | 100 | 66.7 |", text)
        self.assertIn("Debezium, defaults — **void**", text)
        self.assertIn("- Drain a backlog: Debezium, defaults: 3 missing", text)
        self.assertIn("peak MB: naive poller, 100 ms 15.0, walpost 30.0", text)
        self.assertIn("250 B, 100 per transaction, 1,000 rows", text)
        for name in drawn:
            self.assertIn(f"(charts/{name})", text)

    def test_figures_survive_the_file_and_a_later_column(self):
        with tempfile.TemporaryDirectory() as folder:
            records = Records(folder)
            records.add("drain", {**RUN, "contender": "a", "void": "died"})
            records.add("drain", drain_row("b", 1.5, peak_mb=None))
            first, second = records.of("drain").rows
            self.assertIsNone(first["events_per_s"])
            self.assertEqual(second["events_per_s"], 1.5)
            self.assertEqual(second["rows"], 1000)
            self.assertIsNone(second["peak_mb"])
            Records(folder).add("drain", drain_row("c", 1))  # the next run
            self.assertEqual(len(records.of("drain")), 1)


class AimsTest(unittest.TestCase):
    @staticmethod
    def lines(*rows):
        with tempfile.TemporaryDirectory() as folder:
            records = Records(folder)
            for row in rows:
                records.add("drain", row)
            return {line[0].partition(",")[0]: line[1:]
                    for line in aims.lines(records)}

    def test_ratios_are_of_the_same_round(self):
        rows = [drain_row(name, rate, round=number, peak_mb=memory,
                          walsender_on_cpu=0.5, machine_busy=0.95)
                for name, number, rate, memory in (
                    ("walpost", 1, 100, 20), ("debezium-tuned", 1, 20, 800),
                    ("walpost", 2, 30, 20), ("debezium-tuned", 2, 10, 800),
                    ("walpost", 3, 9000, 20))]
        lines = self.lines(*rows)
        self.assertEqual(lines["drain rate"],
                         ["≥ 4 ×", "4.00 (3.00–5.00) ×", "yes", "–"])
        self.assertEqual(lines["peak memory"],
                         ["≥ 50 ×", "40.0 ×", "**no**", "–"])
        self.assertEqual(lines["walsender or machine busy while draining"],
                         ["≥ 90 %", "95.0 %", "yes", "–"])

    def test_ceilings_do_a_part_each(self):
        lines = self.lines(*(
            drain_row(name, rate, relay_cpu_s_per_million=cpu)
            for name, rate, cpu in (
                ("walpost", 100, 4), ("debezium-tuned", 20, 60),
                ("discard", 120, 1), ("produce", 500, 2))))
        self.assertEqual(lines["drain rate"],
                         ["≥ 4 ×", "5.00 ×", "yes", "6.00 ×"])
        self.assertEqual(
            lines["relay CPU-seconds per event"],
            ["≥ 20 ×", "15.0 ×", "**no**", "20.0 ×"])

    def test_a_void_run_reaches_nothing(self):
        self.assertNotIn("drain rate", self.lines(
            drain_row("walpost", 100, void="1 missing"),
            drain_row("debezium-tuned", 10)))


class JudgeTest(unittest.TestCase):
    @staticmethod
    def report(**found):
        return {"findings": {kind: {"count": count}
                             for kind, count in found.items()}}

    def test_a_clean_run_is_not_void(self):
        self.assertEqual(judged(self.report(missing=0, newer=7)), ("", 0))

    def test_what_is_missing_or_altered_voids(self):
        void, _ = judged(self.report(missing=2, altered=1, unconfirmed=3))
        self.assertIn("5 missing", void)
        self.assertIn("1 altered", void)

    def test_duplicates_void_unless_they_are_expected(self):
        report = self.report(duplicates=4)
        self.assertEqual(judged(report), ("4 duplicates", 4))
        self.assertEqual(judged(report, may_double=True), ("", 4))


class PlanTest(unittest.TestCase):
    def test_every_contender_of_every_level_exists(self):
        for level in plan.LEVELS:
            for group in plan.groups(level):
                for name in group.contenders:
                    if group.scenario == "insert":
                        self.assertIn(name, plan.EVENTS)
                    elif name != "none":
                        self.assertTrue(contenders.title(name))
                self.assertTrue(group.title())

    def test_polling_joins_every_group_of_relays(self):
        for group in plan.groups("full"):
            polling = [name for name in group.contenders
                       if name.startswith("polling-")]
            expected = {"insert": 0, "drain": 3}.get(group.scenario, 12)
            self.assertEqual(len(polling), expected, group.scenario)
            for name in polling:
                self.assertTrue(contenders.title(name))

    def test_each_round_has_everybody_once_and_a_seed_repeats_the_order(self):
        group, = plan.groups("core", only=["cold_start"])
        order = list(group.order(plan.dice("seed")))
        self.assertEqual(order, list(group.order(plan.dice("seed"))))
        for number in range(1, group.rounds + 1):
            self.assertEqual(
                sorted(name for round_of, name in order if round_of == number),
                sorted(group.contenders))

    def test_the_command_line_narrows(self):
        chosen = plan.groups("core", contenders=["walpost", "discard"],
                             rounds=1, rows=1000)
        by_scenario = {group.scenario: group for group in chosen}
        self.assertEqual(by_scenario["drain"].contenders,
                         ("walpost", "discard"))
        self.assertEqual(by_scenario["rate"].contenders,
                         ("walpost", "discard"))
        self.assertEqual(by_scenario["idle"].contenders, ("walpost",))
        self.assertEqual(by_scenario["insert"].contenders, plan.EVENTS)
        self.assertTrue(all(group.shape["rows"] == 1000 for group in chosen
                            if group.scenario == "drain"))

    def test_walpost_with_another_setting_is_a_contender(self):
        changed = contenders.make("walpost+kafka.properties.linger.ms=5")
        self.assertIn("linger.ms=5", changed.title)
        for name in ("nobody", "walpost+linger", "walpost@/no/such/file"):
            with self.assertRaises(KeyError):
                contenders.make(name)

    def test_another_build_is_a_contender(self):
        changed = contenders.make(f"walpost@{__file__}+http.listen=x")
        self.assertEqual(changed.title, f"walpost, {__file__}, http.listen=x")


class PublishedTest(unittest.TestCase):
    """bench/RESULTS.md, the figures that it was made from, and pages with them."""

    REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
    CONTENDERS = {"walpost": "walpost", "Debezium, tuned": "Debezium, tuned",
                  "Debezium, defaults": "Debezium, defaults",
                  "polling publisher": "naive poller, 100 ms"}
    # First words of a row of a page: heading and column in the report.
    FIGURES = {
        "Backlog": ("Results", "drain, events/s"),
        "CPU of relay": ("250 B, 100 per transaction", "these three"),
        "Peak memory": ("Results", "peak MB"),
        "Commit to consumer at 1,000 events/s, median": (
            "Results", "commit → consumer at 1,000/s, p50 ms"),
        "Commit to consumer at 1,000 events/s, p99": ("Results", "p99 ms"),
        "Commit to consumer at 5,000 events/s (3,200 to 4,800 reached), p99": (
            "5,000 events a second", "consumer p99"),
        "Start": ("Results", "start → first record, s"),
        "kill -9": ("Results", "kill -9 → new record, s"),
    }
    MORE_FIGURES = {
        "CPU of the broker": ("1,000 events a second", "broker CPU"),
        "Records that came twice": ("Recovery after kill -9", "duplicates"),
    }

    def test_the_report_is_that_of_its_raw_files(self):
        raw = self.REPOSITORY / "bench" / "raw"
        if not raw.exists():
            self.skipTest("nothing has been published since there is bench/raw")
        with tempfile.TemporaryDirectory() as folder:
            report.write_report(
                Records(raw), json.loads((raw / "environment.json").read_text()),
                pathlib.Path(folder))
            again = (pathlib.Path(folder) / "RESULTS.md").read_text()
        published = (self.REPOSITORY / "bench" / "RESULTS.md").read_text()
        self.assertEqual(published, again)

    def test_the_readme_has_the_figures_of_the_report(self):
        self.assertEqual(self.compared("README.md"), set(self.FIGURES))

    def test_the_comparison_has_the_figures_of_the_report(self):
        self.assertLess(set(self.MORE_FIGURES),
                        self.compared("docs/compared.md"))

    def compared(self, page):
        """Compares the page's table with the report; returns its rows."""
        known = {**self.FIGURES, **self.MORE_FIGURES}
        (_, readme), = [
            entry for entry in self.tables(page)
            if entry[1][0][1:3] == ["walpost", "Debezium, tuned"]]
        measured = self.tables("bench/RESULTS.md")
        names = [self.CONTENDERS[name] for name in readme[0][1:]]
        seen = set()
        for label, *cells in readme[1:]:
            row, = [row for row in known if label.startswith(row)]
            seen.add(row)
            beginning, column = known[row]
            lines = next(lines for heading, lines in measured
                         if heading.startswith(beginning))
            place = lines[0].index(column)
            figures = {line[0]: line[place].partition(" (")[0]
                       for line in lines[1:]}
            self.assertEqual([cell.strip("*") for cell in cells],
                             [figures[name] for name in names], label)
        return seen

    def test_the_readme_emphasises_the_best_of_each_row(self):
        (_, readme), = [
            entry for entry in self.tables("README.md")
            if entry[1][0][1:2] == ["walpost"]]
        for label, *cells in readme[1:]:
            values = [float(cell.strip("*").replace(",", ""))
                      for cell in cells]
            best = max(values) if label.startswith("Backlog") else min(values)
            self.assertEqual(
                [cell.startswith("**") for cell in cells],
                [value == best for value in values], label)

    def tables(self, path):
        """(heading above it, lines of cells) of each table of a page."""
        found, heading = [], ""
        for line in (self.REPOSITORY / path).read_text().splitlines():
            if line.startswith("#"):
                heading = line.lstrip("# ")
            if not line.startswith("|"):
                found.append(None)
            elif not re.match(r"[|: -]+$", line):
                cells = [cell.strip() for cell in line[1:-1].split("|")]
                if found and found[-1]:
                    found[-1][1].append(cells)
                else:
                    found.append((heading, [cells]))
        return [entry for entry in found if entry]


def _environment():
    return {name: "x" for name in (
        "machine", "walpost", "postgres", "postgres_settings", "kafka",
        "broker_jvm", "debezium", "debezium_tuned", "debezium_tuned_jvm",
        "debezium_defaults_jvm", "java", "level")} | {"note": "",
                                                      "load_before": 0.5}


if __name__ == "__main__":
    unittest.main()
