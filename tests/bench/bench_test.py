"""The benchmark's own arithmetic: figures, charts, report, the broker's log; and
what is published of it."""

import json
import pathlib
import re
import struct
import tempfile
import types
import unittest
import xml.etree.ElementTree

from compare import aims, charts, contenders, debezium, pages, plan, report, sections
from compare.broker_log import BrokerLog
from compare.consumer import latencies_ms
from compare.derived import missed_rate, with_derived
from compare.figures import (Rows, Spread, percentiles,
                             quantile, short)
from compare.outbox import judged
from compare.records import Records

RUN = {"level": "short", "at": "2026-11-21T12:00:00", "round": 1}


def drain_row(contender, events_per_s, void="", **others):
    return {**RUN, "rows": 1000, "per_transaction": 100, "payload_bytes": 250,
            "contender": contender, "events_per_s": events_per_s,
            "void": void, **others}


def rate_row(contender, rate=1000, offered=None, catch_up_s=0, **others):
    """A run of 10 + 20 s."""
    offered = rate if offered is None else offered
    return {**RUN, "rate": rate, "warm_up_s": 10, "seconds": 20,
            "contender": contender, "events": 30 * offered,
            "achieved_per_s": offered, "catch_up_s": catch_up_s, "void": "",
            **others}


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
        self.assertEqual(Spread([3, None, 1]).values, (3, 1))
        self.assertEqual(Spread([None]).text(), "–")
        self.assertFalse(Spread([]))

    def test_fewer_than_five_values_are_shown_in_the_order_of_the_rounds(self):
        self.assertEqual(Spread([3, 1, 2, 4]).text(), "3.00 · 1.00 · 2.00 · 4.00")
        self.assertEqual(Spread([3, 1]).middle(100), "300 · 100")
        self.assertEqual(Spread([5, 5]).text(scale=100), "500")

    def test_five_values_have_a_median(self):
        five = Spread([3, 1, 2, 5, 4])
        self.assertEqual(five.text(), "3.00 (1.00–5.00)")
        self.assertEqual(five.middle(), "3.00")
        self.assertEqual(Spread([0] * 5).text(), "0")

    def test_void_rows_count_in_no_median_and_are_named(self):
        rows = Rows([drain_row("walpost", 10), drain_row("walpost", 20),
                     drain_row("walpost", 9000, void="3 missing")])
        self.assertEqual(rows.spread("events_per_s").high, 20)
        self.assertEqual(rows.voids(), ["3 missing"])


class DerivedTest(unittest.TestCase):
    def test_everybody_together_is_a_sum_or_nothing(self):
        parts = {"relay_cpu": 0.2, "walsender_cpu": 0.1, "backends_cpu": 0.05}
        self.assertAlmostEqual(
            with_derived({**parts, "broker_cpu": 0.4})["all_cpu"], 0.75)
        self.assertNotIn("all_cpu", with_derived(parts))

    def test_a_rate_is_reached_by_the_load_and_by_the_records(self):
        for offered, catch_up_s, reached in ((1000, 0, 1000), (640, 0, 640),
                                             (1000, 30, 500)):
            row = with_derived(rate_row("walpost", 1000, offered, catch_up_s))
            self.assertAlmostEqual(row["reached_per_s"], reached)
        # The reader has no consumer that could be late.
        row = with_derived(rate_row("discard", catch_up_s=None))
        self.assertEqual(row["reached_per_s"], 1000)

    def test_nineteen_of_twenty_hold_a_rate(self):
        for offered, held in ((951, True), (949, False)):
            rows = Rows([with_derived(rate_row("walpost", 1000, offered))])
            self.assertEqual(missed_rate(rows) is None, held)
        self.assertIsNone(missed_rate(Rows([drain_row("walpost", 1)])))
        self.assertIsNone(missed_rate(Rows([])))

    def test_what_is_derived_is_not_written(self):
        with tempfile.TemporaryDirectory() as folder:
            records = Records(folder)
            for number in (1, 2):
                records.add("rate", {**rate_row("walpost"), "round": number})
            self.assertIn("reached_per_s", records.of("rate").rows[0])
            self.assertNotIn("reached", (pathlib.Path(folder)
                                         / "rate.csv").read_text())


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
        self.log.read()
        self.assertEqual((self.log.marked_ms, self.log.last_ms), (1000, None))
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

    def test_few_values_are_drawn_each_and_many_as_a_range(self):
        for values, lines, text in (((1, 2, 4), 3, ">1.00 · 2.00 · 4.00 /s<"),
                                    ((1, 2, 3, 4, 5), 1, ">3.00 /s<")):
            svg = charts.bar_chart("", "", [charts.Bar("x", Spread(values))],
                                   "/s")
            self.assertEqual(svg.count("<line"), lines)
            self.assertIn(text, svg)

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
        self.assertEqual(report.ordered(rows.values("contender")), list(names))

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
        self.assertIn("Debezium, defaults, heap 2 GB — **void**", text)
        self.assertIn("- Drain a backlog: Debezium, defaults, heap 2 GB: "
                      "3 missing", text)
        self.assertIn("peak MB: naive poller, 100 ms 15.0, walpost 30.0", text)
        self.assertIn("250 B, 100 per transaction, 1,000 rows", text)
        for name in drawn:
            self.assertIn(f"(charts/{name})", text)

    def written(self, **scenarios):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder)
            records = Records(target / "raw")
            for scenario, rows in scenarios.items():
                for row in rows:
                    records.add(scenario, row)
            report.write_report(records, _environment(), target)
            return (target / "RESULTS.md").read_text()

    def test_who_does_not_hold_a_rate_is_shown_with_what_it_reached(self):
        text = self.written(rate=[
            rate_row("walpost", 3000, 2700, consumer_ms_p99=20),
            rate_row("debezium-tuned", 3000, 3000, consumer_ms_p99=10)])
        self.assertIn("| walpost | 20.0 at 2,700/s |", text)
        self.assertIn("| walpost — **2,700/s reached** |", text)
        self.assertIn("| Debezium, tuned, heap 1 GB | 10.0 |", text)
        self.assertIn("consumer p99: Debezium, tuned, heap 1 GB 10.0, walpost "
                      "20.0 at 2,700/s", text)

    def test_cores_of_everybody_are_a_column_that_can_be_lost(self):
        parts = {"walsender_cpu": 0.1, "backends_cpu": 0, "broker_cpu": 0.4}
        text = self.written(rate=[
            rate_row("walpost", relay_cpu=0.1, **parts),
            rate_row("debezium", relay_cpu=0.05, **parts)])
        self.assertIn("all cores: Debezium, defaults, heap 2 GB 0.550, walpost "
                      "0.600", text)

    def test_duplicates_after_a_crash_are_in_the_summary(self):
        text = self.written(recovery=[
            {**RUN, "contender": name, "recovery_s": 1, "duplicates": found,
             "void": ""} for name, found in (("walpost", 13), ("walpost", 22),
                                             ("walpost-once", 0))])
        self.assertIn("| records twice after kill -9 |", text)
        self.assertIn("| walpost | 1.00 | 13.0 · 22.0 |", text)
        self.assertIn("| walpost, exactly once | 1.00 | 0 |", text)

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


    def test_scenarios_of_an_earlier_run_can_be_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            records = Records(folder)
            for scenario in ("drain", "idle"):
                records.add(scenario, drain_row("walpost", 1))
            records.keep_only({"drain"})
            self.assertEqual([len(records.of(scenario))
                              for scenario in ("drain", "idle")], [1, 0])


class AimsTest(unittest.TestCase):
    @staticmethod
    def whole_lines(*rows, scenario="drain"):
        with tempfile.TemporaryDirectory() as folder:
            records = Records(folder)
            for row in rows:
                records.add(scenario, row)
            return {line[0]: line[1:] for line in aims.lines(records)}

    def lines(self, *rows):
        return {title.partition(",")[0]: cells
                for title, cells in self.whole_lines(*rows).items()}

    def test_ratios_are_of_the_same_round(self):
        rows = [drain_row(name, rate, round=number, peak_mb=memory,
                          walsender_on_cpu=0.5, machine_busy=0.95)
                for name, number, rate, memory in (
                    ("walpost", 1, 100, 20), ("debezium-tuned", 1, 20, 800),
                    ("walpost", 2, 30, 20), ("debezium-tuned", 2, 10, 800),
                    ("walpost", 3, 9000, 20))]
        lines = self.lines(*rows)
        self.assertEqual(lines["drain rate"],
                         ["≥ 4 ×", "5.00 · 3.00 ×", "yes", "–"])
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

    def test_steady_rates_are_compared_at_each_rate(self):
        parts = {"walsender_cpu": 0, "backends_cpu": 0, "broker_cpu": 0}
        rows = [rate_row(name, rate, consumer_ms_p50=median, consumer_ms_p95=8,
                         consumer_ms_p99=p99, relay_cpu=cpu, **parts)
                for name, rate, median, p99, cpu in (
                    ("walpost", 1000, 2, 30, 0.3),
                    ("debezium-tuned", 1000, 16, 20, 0.5),
                    ("walpost", 100, 1, 9, 0.3),
                    ("debezium-tuned", 100, 4, 18, 0.5))]
        lines = self.whole_lines(*rows, scenario="rate")
        self.assertEqual(lines["commit to consumer at 1,000/s, p50"],
                         ["≤ 3 ms", "2.00 ms", "yes", "–"])
        self.assertEqual(
            lines["cores of relay, Postgres and broker at 1,000/s, of tuned "
                  "Debezium's"], ["≤ 0.8 ×", "0.600 ×", "yes", "–"])
        of_rival = "commit to consumer at {}/s, {}, of tuned Debezium's".format
        self.assertEqual(lines[of_rival("1,000", "p99")][1:3],
                         ["1.50 ×", "**no**"])
        self.assertEqual(lines[of_rival("100", "p50")][1:3], ["0.250 ×", "yes"])

    def test_an_aim_says_that_its_rate_was_not_held(self):
        lines = self.whole_lines(
            *(rate_row(name, 5000, offered, consumer_ms_p50=1, consumer_ms_p95=1,
                       consumer_ms_p99=1)
              for name, offered in (("walpost", 5000), ("debezium-tuned", 3000))),
            scenario="rate")
        self.assertTrue(all("5,000/s, which was not held, " in title
                            for title in lines))

    def test_a_void_run_reaches_nothing(self):
        self.assertNotIn("drain rate", self.lines(
            drain_row("walpost", 100, void="1 missing"),
            drain_row("debezium-tuned", 10)))


class TransactionsTest(unittest.TestCase):
    """A record of an open transaction is one that no consumer has."""

    @staticmethod
    def run_with(records, marked_ms):
        return types.SimpleNamespace(log=types.SimpleNamespace(
            read=lambda: records, first_ms=1000, last_ms=2000,
            marked_ms=marked_ms))

    def test_records_of_a_transaction_count_from_its_end(self):
        once, least = map(contenders.make, ("walpost-once", "walpost"))
        self.assertIsNone(once.first_record_at(self.run_with(3, None)))
        self.assertEqual(once.first_record_at(self.run_with(3, 1050)), 1.05)
        self.assertEqual(once.finished_at(self.run_with(3, 2040)), 2.04)
        self.assertEqual(least.first_record_at(self.run_with(3, None)), 1)
        self.assertEqual(least.finished_at(self.run_with(3, None)), 2)
        self.assertIsNone(least.first_record_at(self.run_with(0, None)))


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

    def test_the_core_takes_about_two_hours(self):
        self.assertTrue(110 <= plan.minutes(plan.groups("core")) <= 130)
        self.assertLess(plan.minutes(plan.groups("short")), 20)
        self.assertLess(plan.minutes(plan.groups("smoke")), 5)

    def test_the_core_has_walposts_other_ways_where_the_summary_looks(self):
        for scenario, shape, rounds in (
                ("drain", sections.MAIN_DRAIN, 5), ("rate", {"rate": 1000}, 5),
                ("recovery", {}, 3)):
            group = next(group for group in plan.groups("core")
                         if group.scenario == scenario
                         and shape.items() <= group.shape.items())
            self.assertLessEqual({"walpost-once", "polling-claim-notify"},
                                 set(group.contenders))
            self.assertEqual(group.rounds, rounds)
        for level in ("short", "core", "full"):
            rates = {group.shape["rate"] for group in plan.groups(level)
                     if group.scenario == "rate"}
            self.assertLessEqual(set(sections.RATES), rates)

    def test_a_debezium_is_named_with_its_heap(self):
        for name, beginning in (("debezium", "Debezium, defaults, heap 2 GB"),
                                ("debezium-tuned", "Debezium, tuned, heap 1 GB"),
                                ("debezium-small", "Debezium, tuned, heap ")):
            self.assertTrue(contenders.title(name).startswith(beginning), name)
        self.assertRegex(contenders.title("debezium-small"), r" \d+ MB$")
        small, tuned = debezium.SMALL, debezium.TUNED
        self.assertEqual((small.worker, small.connector),
                         (tuned.worker, tuned.connector))

    def test_polling_joins_every_group_of_relays(self):
        for group in plan.groups("full"):
            polling = [name for name in group.contenders
                       if name.startswith("polling-")]
            strategies = len(plan.STRATEGIES)
            expected = {"insert": 0, "drain": strategies}.get(
                group.scenario, strategies * len(plan.INTERVALS))
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


class PagesTest(unittest.TestCase):
    ROWS = (drain_row("walpost", 100, peak_mb=30),
            drain_row("debezium-tuned", 40, peak_mb=900),
            drain_row("naive-100ms", 50, peak_mb=20))
    PAGE = "before\n<!-- figures: {} -->\nold\n<!-- end of figures -->\nafter\n"

    def rewritten(self, name, scenario="drain", rows=ROWS):
        with tempfile.TemporaryDirectory() as folder:
            records = Records(folder)
            for row in rows:
                records.add(scenario, row)
            return pages.rewritten(self.PAGE.format(name), records,
                                   _environment())

    def test_a_table_is_written_between_its_comments(self):
        page = self.rewritten("readme")
        self.assertTrue(page.startswith("before\n<!-- figures: readme -->\n\n|"))
        self.assertTrue(page.endswith("\n\n<!-- end of figures -->\nafter\n"))
        self.assertNotIn("old", page)
        self.assertIn("| Backlog of 250 B rows, events/s ↑ | **100** | 40.0 | 50.0 |",
                      page)
        # Nothing of these was measured.
        self.assertNotIn("kill -9", page)
        self.assertNotIn("defaults", page)

    def test_what_walpost_loses_is_said_below(self):
        page = self.rewritten("readme")
        self.assertIn("| Peak memory of the relay, MB ↓ | 30.0 | 900 | **20.0** |",
                      page)
        self.assertIn("\nwalpost is not the best in: Peak memory of the relay, "
                      "MB.\n", page)

    def test_nobody_is_the_best_at_loads_that_differ(self):
        page = pages.TABLES["readme"]
        with tempfile.TemporaryDirectory() as folder:
            records = Records(folder)
            for name, offered in (("walpost", 3000), ("debezium-tuned", 2000)):
                records.add("rate", rate_row(name, 3000, offered,
                                             consumer_ms_p50=offered / 1000))
            text = page.text(records)
            lost = page.lost(records)
        self.assertIn("median, ms ↓ | 3.00 | 2.00 at 2,000/s |", text)
        self.assertEqual(lost, ["Commit to consumer at 3,000 events/s, median, ms"])

    def test_a_name_that_nobody_knows_is_an_error(self):
        with self.assertRaises(KeyError):
            self.rewritten("nobody")


class PublishedTest(unittest.TestCase):
    """bench/RESULTS.md, the figures that it was made from, and pages with them."""

    REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

    def setUp(self):
        raw = self.REPOSITORY / "bench" / "raw"
        self.records = Records(raw)
        self.environment = json.loads((raw / "environment.json").read_text())

    def test_the_report_is_that_of_its_raw_files(self):
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder)
            report.write_report(self.records, self.environment, target)
            bench = self.REPOSITORY / "bench"
            for again in (target / "RESULTS.md", *(target / "charts").iterdir()):
                published = bench / again.relative_to(target)
                self.assertEqual(published.read_text(), again.read_text(),
                                 published)

    def test_the_tables_of_other_pages_are_those_of_the_report(self):
        found = set()
        for page in pages.pages(self.REPOSITORY):
            text = page.read_text()
            found |= set(re.findall("<!-- figures: ([\\w-]+)", text))
            self.assertEqual(text, pages.rewritten(text, self.records,
                                                   self.environment), page)
        self.assertEqual(found, set(pages.TABLES))

    def test_sentences_have_the_figures_of_the_report(self):
        def figure(scenario, column, **shape):
            return self.records.of(scenario).where(
                contender="walpost", **shape).spread(column).median
        memory = figure("drain", "peak_mb", **sections.MAIN_DRAIN)
        ratio = aims.AIMS[0].spread(self.records).median
        for page, pattern, value in (
                ("README.md", r"one native process of (\d+) MB", f"{memory:.2g}"),
                ("README.md", r"(\d+\.\d) × as fast here", f"{ratio:.2g}"),
                ("docs/sizing.md", r"fraction of a core and (\d+) MB",
                 f"{memory:.2g}")):
            text = " ".join((self.REPOSITORY / page).read_text().split())
            self.assertEqual(re.findall(pattern, text), [value], pattern)

    def test_a_latency_at_a_rate_is_of_the_report_or_names_its_run(self):
        """So that no two pages have different figures for the same thing."""
        for page in [self.REPOSITORY / "README.md",
                     *(self.REPOSITORY / "docs").glob("*.md")]:
            text = re.sub(r"(?s)<!-- figures: .*?<!-- end of figures -->", "",
                          page.read_text())
            for paragraph in re.split(r"\n\n|\n\|", text):
                words = " ".join(paragraph.split())
                if re.search(r"\d(,\d{3})? (events/s|events a second)", words) \
                        and re.search(r"\d ms\b", words):
                    self.assertIn("`bench/run ", words, page)


def _environment():
    return {name: "x" for name in (
        "machine", "walpost", "postgres", "postgres_settings", "kafka",
        "broker_jvm", "debezium", "debezium_tuned", "debezium_tuned_jvm",
        "debezium_defaults_jvm", "java", "level")} | {"note": "",
                                                      "load_before": 0.5}


if __name__ == "__main__":
    unittest.main()
