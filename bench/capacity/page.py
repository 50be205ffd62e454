"""What docs/sizing.md shows of the figures: charts, and tables in blocks.

The blocks (compare/blocks.py) are of the kind "capacity".

Pure, but for write().
"""

from capacity.curves import Curve, curve_chart
from capacity.measures import READERS
from compare import blocks
from compare.charts import Bar, bar_chart
from compare.report import table

_ROWS = {1: "1 row per transaction", 10: "10 rows", 100: "100 rows"}


def tables(records):
    """Markdown by the name of a block."""
    return {"one_slot": _one_slot(records), "slots": _slots(records),
            "foreign": _foreign(records)}


def charts(records):
    """SVG by the name of its file."""
    return {"one-slot.svg": _curves(records), "slots.svg": _bars(records)}


def rewritten(page, records):
    """The text of a page with its tables as the figures have them."""
    made = tables(records)
    return blocks.rewritten(page, "capacity", made.__getitem__)


def write(records, charts_folder, page):
    """`page` is the file whose tables are rewritten; None: none."""
    for name, svg in charts(records).items():
        (charts_folder / name).write_text(svg, encoding="utf-8")
    if page is not None:
        page.write_text(rewritten(page.read_text(encoding="utf-8"), records),
                        encoding="utf-8")


def _one_slot(records):
    rows = records.of("one_slot")
    lines = []
    for payload in rows.values("payload_bytes"):
        for per_transaction in rows.values("per_transaction"):
            mine = rows.where(payload_bytes=payload,
                              per_transaction=per_transaction)
            rate = mine.spread("events_per_s")
            lines.append([
                f"{payload:,} B", str(per_transaction), rate.text(),
                rate.text(payload / 1e6),
                mine.spread("walsender_cpu_s_per_million").text()])
    return table(["Row", "rows per transaction", "rows/s", "MB/s of payload",
                  "walsender, CPU-s per million rows"], lines)


def _slots(records):
    rows = records.of("slots")
    return table(
        ["Slots", "rows/s until the last one is through",
         "walsenders, CPU-s per million rows", "each of them"],
        [[name, rows.where(contender=name).spread("events_per_s").text(),
          rows.where(contender=name)
          .spread("walsender_cpu_s_per_million").text(),
          rows.where(contender=name)
          .spread("walsender_cpu_s_per_million").text(1 / count)]
         for name, (count, _) in READERS.items()])


def _foreign(records):
    rows = records.of("foreign")
    return table(["WAL of", "MB/s", "walsender, CPU-s per GB"],
                 [[name, rows.where(contender=name)
                   .spread("megabytes_per_s").text(),
                   rows.where(contender=name)
                   .spread("walsender_cpu_s_per_gigabyte").text()]
                  for name in rows.values("contender")])


def _curves(records):
    rows = records.of("one_slot")
    curves = []
    for per_transaction in sorted(rows.values("per_transaction"), reverse=True):
        mine = rows.where(per_transaction=per_transaction)
        curves.append(Curve(_ROWS[per_transaction], tuple(
            (payload,
             mine.where(payload_bytes=payload).spread("events_per_s"))
            for payload in sorted(mine.values("payload_bytes")))))
    return curve_chart("What one walsender carries, rows per second",
                       "a reader that throws away; the walsender takes a core",
                       curves, "payload of a row, B")


def _bars(records):
    rows = records.of("slots")
    return bar_chart(
        "CPU-seconds of all walsenders per million rows",
        "250 B, 100 per transaction, read by several slots at once",
        [Bar(f"slots: {name}",
             rows.where(contender=name).spread("walsender_cpu_s_per_million"))
         for name in READERS], "s")
