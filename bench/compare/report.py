"""RESULTS.md and its charts, from the raw figures."""

import re
import shutil

from compare import aims
from compare.aims import OURS
from compare.charts import Bar, bar_chart
from compare.contenders import NAMES, title
from compare.database import EVENTS, NO_RELAY
from compare.derived import missed_rate
from compare.figures import Rows, short
from compare.plan import CEILINGS
from compare.prose import CONDITIONS, NOT_MEASURED
from compare.sections import LESS, SECTIONS, SUMMARY, shape_words

# What the share in `of_baseline` is a share of.
_BASELINES = {"insert": "nothing", "neighbour": NO_RELAY}


def write_report(records, environment, target):
    """Writes target/RESULTS.md and target/charts, and nothing else there."""
    charts = target / "charts"
    shutil.rmtree(charts, ignore_errors=True)
    charts.mkdir(parents=True)
    behind, void = [], []
    body = []
    for section in SECTIONS:
        rows = records.of(section.scenario)
        if len(rows):
            body += _section(section, rows, charts, behind)
            void += _voids(section, rows)
    text = [
        _head(records, environment), _summary(records), _aims(records),
        "\n".join(body),
        "## Where walpost is behind\n\n" + _list(
            behind, "In no column of the tables above."),
        "## Void runs\n\n" + _list(
            void, "None: in every run that is judged each event arrived, once, "
                  "unaltered and in order."),
        CONDITIONS.format(**environment),
        NOT_MEASURED,
    ]
    (target / "RESULTS.md").write_text("\n".join(text), encoding="utf-8")


def table(header, lines):
    """Markdown; the first column is text, the others are numbers."""
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "".join(f"| {' | '.join(line)} |\n"
                   for line in (header, rule, *lines))


def label(name):
    if name == NO_RELAY:
        return "no relay"
    return EVENTS[name].title if name in EVENTS else title(name)


def ceiling(rows):
    """The lower of source and sink, events/s; None while one is missing.

    Of the two readers the faster one: pg_recvlogical makes a system call per
    message, so a real relay may outrun it.
    """
    read = [spread.median for spread in (
        rows.where(contender=name).spread("events_per_s")
        for name in ("pg_recvlogical", "discard")) if spread]
    produced = rows.where(contender="produce").spread("events_per_s")
    return min(max(read), produced.median) if read and produced else None


def fallen_behind(rows, columns):
    """Columns in which another contender is better than walpost, by the middle
    of the rounds.

    Yields (column, the best contender, its spread, walpost's).
    """
    own = rows.where(contender=OURS)
    others = [name for name in rows.values("contender")
              if name not in (OURS, NO_RELAY, *CEILINGS)]
    for column in columns:
        ours = own.spread(column.name)
        if not column.better or not ours:
            continue
        rivals = [(rows.where(contender=name).spread(column.name), name)
                  for name in others]
        rivals = [(spread, name) for spread, name in rivals if spread]
        sign = 1 if column.better == LESS else -1
        best, name = min(rivals, key=lambda rival: sign * rival[0].median,
                         default=(ours, OURS))
        if sign * best.median < sign * ours.median:
            yield column, name, best, ours


def with_shares(scenario, rows):
    """Adds the columns that follow from others, of the row or of its table."""
    base_of = _BASELINES.get(scenario)
    base = (rows.where(contender=base_of).spread("transactions_per_s").median
            if base_of else None)
    most = ceiling(rows) if scenario == "drain" else None
    return Rows({
        **row,
        "of_ceiling": _share(row.get("events_per_s"), most),
        "of_baseline": _share(row.get("transactions_per_s"), base),
    } for row in rows.rows)


def _share(value, whole):
    return value / whole if value is not None and whole else None


def _section(section, all_rows, charts, behind):
    lines = [f"## {section.title}\n", f"{section.prose}\n"]
    for shape in _shapes(section, all_rows):
        rows = with_shares(section.scenario, all_rows.where(**shape))
        words = shape_words(shape)
        if words:
            lines.append(f"### {words}\n")
        for chart in section.charts:
            file = _chart_file(section, shape, chart)
            (charts / file).write_text(_chart(chart, rows, words),
                                       encoding="utf-8")
            lines.append(f"![{chart.title}](charts/{file})\n")
        lines.append(_table(section, rows))
        where = f"{section.title}{', ' if words else ''}{words}"
        behind += [
            f"{where}: {column.title}: {label(name)} "
            f"{best.text(column.scale)}{_at(rows.where(contender=name))}, "
            f"walpost {ours.text(column.scale)}{_at(rows.where(contender=OURS))}"
            for column, name, best, ours in fallen_behind(rows,
                                                          section.columns)]
    return lines


def _at(rows):
    """" at 3,200/s", if a contender did not hold the rate."""
    missed = missed_rate(rows)
    return f" at {missed.middle()}/s" if missed else ""


def _shapes(section, rows):
    shapes = []
    for row in rows.rows:
        shape = {name: row[name] for name in section.shape}
        if shape not in shapes:
            shapes.append(shape)
    return shapes


def _table(section, rows):
    columns = [column for column in section.columns
               if any(row.get(column.name) for row in rows.rows)]
    lines = []
    for name in ordered(rows.values("contender")):
        mine = rows.where(contender=name)
        missed = missed_rate(mine)
        lines.append([label(name) + (" — **void**" if mine.voids() else "")
                      + (f" — **{missed.middle()}/s reached**" if missed else "")]
                     + [mine.spread(column.name).text(column.scale)
                        for column in columns])
    return table([""] + [column.title for column in columns], lines)


def ordered(names):
    """walpost first, ceilings last, the others as the registry has them."""
    known = [*_BASELINES.values(), *NAMES, *EVENTS]
    return sorted(names,
                  key=lambda name: (name in CEILINGS,
                                    known.index(re.split("[+@]", name)[0]), name))


def _chart(chart, rows, words):
    bars = []
    for name in ordered(rows.values("contender")):
        spread = rows.where(contender=name).spread(chart.name)
        if not spread:
            continue
        kind = ("ceiling" if name in CEILINGS else
                "ours" if name.startswith((OURS, "polling-")) else "bar")
        bars.append(Bar(label(name), spread, kind))
    return bar_chart(chart.title, words, bars, chart.unit,
                     chart.logarithmic)


def _chart_file(section, shape, chart):
    words = [section.scenario, chart.name,
             *(str(value) for value in shape.values())]
    return "-".join(words).replace("_", "-") + ".svg"


def _head(records, environment):
    rows = [row for section in SECTIONS
            for row in records.of(section.scenario).rows]
    times = sorted(row["at"] for row in rows)
    rounds = max((row["round"] for row in rows), default=0)
    note = f"\n\n{environment['note']}" if environment["note"] else ""
    return (
        "# Results\n\n"
        "Written by `bench/run compare`; do not edit. How it is measured and "
        "how to repeat it: [README.md](README.md).\n\n"
        f"{times[0][:16].replace('T', ' ') if times else '–'} to "
        f"{times[-1][:16].replace('T', ' ') if times else '–'}, "
        f"{environment['machine']}. {environment['walpost']}, "
        f"{environment['postgres']}, Apache Kafka {environment['kafka']}, "
        f"Debezium {environment['debezium']}, {environment['java']}. Level "
        f"`{environment['level']}`: up to {rounds} shuffled round"
        f"{'' if rounds == 1 else 's'}. A cell has "
        "the value of each round; with five or more, their median "
        "(least–greatest). Servers, load and contender share the machine, which "
        f"had a load of {short(environment['load_before'])} before.{note}\n")


def _summary(records):
    columns = [(heading, records.of(scenario).where(**shape), column)
               for heading, scenario, shape, column in SUMMARY]
    columns = [entry for entry in columns if entry[1].spread(entry[2])]
    names = {name for _, rows, _ in columns for name in rows.values("contender")
             if name not in CEILINGS}
    return table([""] + [heading for heading, *_ in columns], [
        [label(name)] + [_cell(rows.where(contender=name), column)
                         for _, rows, column in columns]
        for name in ordered(names)])


def _cell(rows, column):
    """A contender's figure, and what load it reached if that is not the rate."""
    return rows.spread(column).text() + _at(rows)


def figure(rows, column):
    """The same without the least and the greatest."""
    return rows.spread(column).middle() + _at(rows)


def _aims(records):
    lines = aims.lines(records)
    if not lines:
        return ""
    return ("## Aims\n\nRatios are of the figures of one round, and are judged by "
            "the middle of the rounds. \"The ceilings\" is what is left "
            "when the reader that discards and producing only are all that "
            "there is: the slower of the two, or their sum; a latency is the "
            "reader's, which pauses as walpost does.\n\n"
            + table(["", "wanted", "reached", "met", "the ceilings"], lines))


def _voids(section, rows):
    return [f"{section.title}: {label(name)}: {reason}"
            for name in rows.values("contender")
            for reason in rows.where(contender=name).voids()]


def _list(lines, otherwise):
    return "".join(f"- {line}\n" for line in lines) or f"{otherwise}\n"
