"""Compares walpost with everything else that does the job; see bench/README.md.

Called by bench/run. Raw figures go to raw/*.csv in --output (build/bench) while
it runs, the report to RESULTS.md beside them. --publish writes the report to
bench/RESULTS.md, its tables to the other pages that have some (pages.py), and
copies the figures that it was made from to bench/raw.
Exits with 1 when a run was void.
"""

import argparse
import contextlib
import datetime
import functools
import json
import os
import pathlib
import time
import traceback

from compare import database, plan, rate, restart
from compare.contenders import NAMES, make
from compare.drain import Drain
from compare.environment import describe
from compare.pages import write_pages
from compare.records import Records, publish_raw
from compare.report import write_report
from compare.stage import REPOSITORY, servers, settle

_MEASURES = {
    "rate": rate.steady,
    "held_snapshot": rate.steady,
    "sustainable": rate.sustainable,
    "cold_start": restart.cold_start,
    "recovery": restart.recovery,
    "idle": database.idle,
    "neighbour": database.neighbour,
    "insert": database.insert_cost,
}


@contextlib.contextmanager
def measure_of(stage, group):
    """A function from a contender's name to its row."""
    if group.scenario == "drain":
        drain = Drain(stage, **group.shape)
        try:
            drain.warm_broker()
            yield drain.measure
        finally:
            drain.close()
        return
    shape = dict(group.shape)
    if "held" in shape:
        shape["held_snapshot"] = bool(shape.pop("held"))
    yield functools.partial(_with_shape, _MEASURES[group.scenario], stage,
                            shape)


def _with_shape(measure, stage, shape, name):
    return measure(stage, name, **shape)


def run_group(stage, group, records, progress, dice, level):
    print(f"== {group.title()}", flush=True)
    with measure_of(stage, group) as measure:
        for number, name in group.order(dice):
            progress.begin(number, name)
            begun = time.monotonic()
            try:
                row = measure(name)
            except Exception as failure:  # the others still have their turn
                traceback.print_exc()
                row = {"contender": name, "duplicates": None,
                       "void": (str(failure) or repr(failure)).splitlines()[0]}
            records.add(group.scenario, {
                "level": level, "round": number,
                "at": datetime.datetime.now().isoformat(timespec="seconds"),
                **group.shape, **row})
            progress.end(row, time.monotonic() - begun)
            settle()


class Progress:
    """A line per run, with an estimate of what is left."""

    def __init__(self, runs):
        self._runs = runs
        self._done = 0
        self._begun = time.monotonic()

    def begin(self, number, name):
        print(f"[{self._done + 1:3}/{self._runs}] round {number} {name:24}",
              end=" ", flush=True)

    def end(self, row, seconds):
        self._done += 1
        left = ((time.monotonic() - self._begun) / self._done
                * (self._runs - self._done))
        print(f"{_headline(row):44} {seconds:4.0f} s, {left / 60:.0f} min left",
              flush=True)


_HEADLINES = (
    ("first_record_s", "first record after {:.2f} s"),
    ("recovery_s", "new record after {:.2f} s"),
    ("events_per_s", "{:,.0f} events/s"),
    ("consumer_ms_p50", "commit to consumer p50 {:.1f} ms"),
    ("broker_ms_p50", "read after p50 {:.1f} ms"),
    ("transactions_per_s", "{:,.0f} transactions/s"),
)


def _headline(row):
    if row["void"]:
        return f"VOID: {row['void']}"
    return next((text.format(row[name]) for name, text in _HEADLINES
                 if row.get(name) is not None), "")


def _contender(name):
    try:
        make(name)
    except KeyError:
        raise argparse.ArgumentTypeError(
            f"no contender '{name}'; there are {', '.join(NAMES)}, and "
            "walpost[@BINARY][+KEY=VALUE]") from None
    return name


def arguments():
    parser = argparse.ArgumentParser(
        prog="bench/run compare", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    level = parser.add_mutually_exclusive_group()
    for name, text in (("smoke", "a minute or two, without Debezium"),
                       ("short", "one round of the main scenarios"),
                       ("core", "the default: all that is published, two hours"),
                       ("full", "the matrix: days")):
        level.add_argument(f"--{name}", dest="level", action="store_const",
                           const=name, help=text)
    parser.add_argument("--only", nargs="+", default=(), metavar="SCENARIO",
                        choices=["drain", *_MEASURES])
    parser.add_argument("--contenders", nargs="+", default=(), metavar="NAME",
                        type=_contender, help="of " + ", ".join(NAMES)
                        + "; walpost+KEY=VALUE is walpost with that --set, "
                        "walpost@BINARY another build")
    parser.add_argument("--polling", action="store_true",
                        help="walpost's polling strategies in every scenario, "
                        "each at 100 ms; --full has them at every interval, "
                        "and woken by NOTIFY")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--rows", type=int, help="of a drain")
    parser.add_argument("--seed", default=str(time.time_ns()),
                        help="of the shuffling; printed")
    parser.add_argument("--note", default="",
                        help="a sentence for the report, about the machine")
    parser.add_argument("--output", type=pathlib.Path, metavar="FOLDER",
                        default=REPOSITORY / "build" / "bench")
    parser.add_argument("--publish", action="store_true",
                        help="write bench/RESULTS.md, bench/charts and "
                        "bench/raw")
    parser.add_argument("--report", action="store_true",
                        help="only write the report, from the figures there")
    parser.set_defaults(level="core")
    return parser.parse_args()


def main():
    options = arguments()
    records = Records(options.output / "raw")
    environment = options.output / "raw" / "environment.json"
    failed = False
    if not options.report:
        groups = plan.groups(options.level, options.only, options.contenders,
                             options.rounds, options.rows, options.polling)
        if not options.only:
            records.keep_only({group.scenario for group in groups})
        progress = Progress(plan.runs(groups))
        print(f"about {plan.minutes(groups):.0f} minutes, shuffled with --seed "
              f"{options.seed}", flush=True)
        environment.write_text(json.dumps(
            {**describe(), "note": options.note, "level": options.level,
             "seed": options.seed}, indent=1))
        dice = plan.dice(options.seed)
        with servers() as stage:
            rate.warm_up(stage, plan.WARM_UP_S[options.level])
            for group in groups:
                run_group(stage, group, records, progress, dice, options.level)
        failed = any(records.of(group.scenario).voids() for group in groups)
    target = REPOSITORY / "bench" if options.publish else options.output
    described = json.loads(environment.read_text())
    write_report(records, described, target)
    if target.resolve() == REPOSITORY / "bench":
        write_pages(REPOSITORY, records, described)
    if options.publish:
        publish_raw(options.output / "raw", target / "raw")
    print(f"report: {os.path.relpath(target / 'RESULTS.md')}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
