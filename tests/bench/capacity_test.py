"""Curves and tables of capacity, and what is published of them."""

import pathlib
import re
import tempfile
import unittest
import xml.etree.ElementTree

from capacity import page
from capacity.curves import Curve, curve_chart
from capacity.measures import READERS, groups
from compare.blocks import block_names
from compare.figures import Spread
from compare.records import Records, publish_raw

_SVG = "{http://www.w3.org/2000/svg}"
_REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
_PUBLISHED = _REPOSITORY / "bench" / "capacity"


class CurveTest(unittest.TestCase):
    @staticmethod
    def points(svg):
        root = xml.etree.ElementTree.fromstring(svg)
        return [tuple(float(number) for number in point.split(","))
                for line in root.iter(f"{_SVG}polyline")
                for point in line.get("points").split()]

    def test_a_decade_is_as_wide_as_the_next_and_zero_is_the_ground(self):
        low, middle, high = self.points(curve_chart("a < b", "", [
            Curve("c", tuple((x, Spread([y])) for x, y in
                             ((10, 100), (100, 50), (1000, 0))))], "x"))
        self.assertAlmostEqual(middle[0] - low[0], high[0] - middle[0], delta=0.2)
        self.assertAlmostEqual(high[1] - middle[1], middle[1] - low[1], delta=0.2)

    def test_the_greatest_value_is_on_the_drawing(self):
        for most in (1, 3, 9.99, 10, 163_000):
            svg = curve_chart("", "", [Curve("c", ((1, Spread([0, most])),))], "")
            root = xml.etree.ElementTree.fromstring(svg)
            across = [float(line.get("y1")) for line in root.iter(f"{_SVG}line")
                      if line.get("class") == "axis"]
            upper = min(float(line.get("y2")) for line in root.iter(f"{_SVG}line")
                        if line.get("class").startswith("range"))
            self.assertGreaterEqual(upper + 0.1, min(across), most)
            self.assertLessEqual(len(across), 6, most)


class PageTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.records = Records(folder.name)
        for group in groups(1):
            for number, name in enumerate(group.names, 1):
                self.records.add(group.scenario, {
                    "round": 1, **group.shape, "contender": name,
                    "events_per_s": 1000 * number, "megabytes_per_s": 10,
                    "walsender_cpu_s_per_gigabyte": 5,
                    "walsender_cpu_s_per_million": number, "void": ""})

    def test_a_block_is_replaced_and_the_rest_stays(self):
        text = ("before\n<!-- capacity: slots -->\nold\n<!-- end of capacity -->"
                "\nafter\n")
        written = page.rewritten(text, self.records)
        self.assertTrue(written.startswith("before\n<!-- capacity: slots -->\n"))
        self.assertTrue(written.endswith("<!-- end of capacity -->\nafter\n"))
        self.assertNotIn("old", written)
        for name in READERS:
            self.assertIn(f"| {name} |", written)
        self.assertEqual(written, page.rewritten(written, self.records))

    def test_figures_that_are_published_again_from_their_place_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            raw = pathlib.Path(folder) / "raw"
            raw.mkdir()
            (raw / "slots.csv").write_text("a\n1\n")
            publish_raw(raw / ".." / "raw", raw)
            self.assertTrue((raw / "slots.csv").exists())

    def test_a_block_of_no_table_is_an_error(self):
        with self.assertRaises(KeyError):
            page.rewritten("<!-- capacity: other -->\n<!-- end of capacity -->",
                           self.records)


class PublishedTest(unittest.TestCase):
    """docs/sizing.md and the charts are made of the raw figures."""

    def test_charts_and_tables_are_those_of_the_figures(self):
        records = Records(_PUBLISHED / "raw")
        for name, svg in page.charts(records).items():
            self.assertEqual((_PUBLISHED / name).read_text(), svg, name)
        text = (_REPOSITORY / "docs" / "sizing.md").read_text()
        self.assertEqual(text, page.rewritten(text, records))
        self.assertEqual(set(block_names(text, "capacity")),
                         set(page.tables(records)))

    def test_the_limit_in_words_is_that_of_the_figures(self):
        text = " ".join((_REPOSITORY / "docs" / "sizing.md").read_text().split())
        said = re.search(r"has a limit of some ([\d,]+) events a second", text)[1]
        limit = Records(_PUBLISHED / "raw").of("one_slot").where(
            payload_bytes=250, per_transaction=1).spread("events_per_s").median
        self.assertEqual(said, f"{float(f'{limit:.1g}'):,.0f}")


if __name__ == "__main__":
    unittest.main()
