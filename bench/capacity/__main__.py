"""What one slot can carry, and what more slots over the same WAL cost the server.

Called by bench/run. Figures and charts go to build/bench/capacity; --publish puts
them into bench/capacity, and the tables into docs/sizing.md.
"""

import argparse
import datetime
import json
import pathlib
import random

from capacity import page
from capacity.measures import groups
from compare.environment import describe
from compare.records import Records, publish_raw
from compare.stage import REPOSITORY, servers

_PUBLISHED = REPOSITORY / "bench" / "capacity"


def _measure(stage, group, rounds, records):
    print(f"== {group.scenario} {group.shape}", flush=True)
    with group.prepare(stage, **group.shape) as measure:
        for number in range(1, rounds + 1):
            for name in random.sample(group.names, len(group.names)):
                row = measure(name)
                print({key: value for key, value in row.items() if value},
                      flush=True)
                records.add(group.scenario, {
                    "round": number,
                    "at": datetime.datetime.now().isoformat(timespec="seconds"),
                    **group.shape, **row})


def _arguments():
    parser = argparse.ArgumentParser(
        prog="bench/run capacity", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--smoke", action="store_true",
                        help="see that it works: few rows, one round")
    parser.add_argument("--output", type=pathlib.Path, metavar="FOLDER",
                        default=REPOSITORY / "build" / "bench" / "capacity")
    parser.add_argument("--publish", action="store_true",
                        help="write bench/capacity and docs/sizing.md")
    parser.add_argument("--report", action="store_true",
                        help="only the charts, from the figures there")
    return parser.parse_args()


def main():
    options = _arguments()
    raw = options.output / "raw"
    records = Records(raw)
    if not options.report:
        (raw / "environment.json").write_text(json.dumps(describe(), indent=1))
        with servers() as stage:
            for group in groups(0.02 if options.smoke else 1):
                _measure(stage, group, 1 if options.smoke else options.rounds,
                         records)
    target = options.output
    if options.publish:
        target = _PUBLISHED
        publish_raw(raw, target / "raw")
    page.write(records, target, REPOSITORY / "docs" / "sizing.md"
               if options.publish else None)


if __name__ == "__main__":
    main()
