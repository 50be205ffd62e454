"""Records with records.profile: debezium are those that Debezium made of the
same rows: bytes of key and value, headers, partition, timestamp and topic."""

import re

import pytest

from harness import Kafka, KafkaReader, Postgres, note
from harness.debezium_cases import read_groups
from harness.debezium_numbered import GROUPS, NUMBERS, OTHERWISE
from harness.debezium_records import (NOT_FOLLOWED, SKIPPED_CLASSES,
                                      differences, wanted_of)
from harness.debezium_runs import (BROKER, PARTITIONS, SERVER,
                                   GroupRuns, name_of)
from harness.matrix import LONG, each
from harness.ports import free_port
from harness.sections import laid_over
from harness.walpost import Walpost

# pylint: disable=redefined-outer-name

_USAGE = 2
_RECORDINGS = ("s1", "s2", "s3", "s4", "s5", "s8", "s9")
_GROUPS = {group.name: group
           for name in _RECORDINGS for group in read_groups(name)} | GROUPS
# Their rows come while walpost streams: what the catalog says changes.
_LIVE = {"s8/H7", "number/119"}
_COUNTS = {"cases": 0, "checks": 0}


def _combinations(group, place):
    """Setting and converters of each run. In the usual run every third setting,
    with one pair of converters after the other; `place` is that of the group."""
    for number in range(0, len(group.settings), 1 if LONG else 3):
        if (group.name, number) in NOT_FOLLOWED:
            continue
        outcomes = [change.outcomes[number] for statement in group.statements
                    for change in statement.changes
                    if number in change.outcomes]
        several = list(_converters_of(outcomes))
        if not LONG:
            several = [several[(place + number // 3) % len(several)]]
        for converters in several:
            yield (group.name, number, *converters)


def _converters_of(outcomes):
    records = [outcome for outcome in outcomes if outcome.kind == "record"]
    if not records:
        yield "string", "string"
        return  # Debezium fails before it converts anything

    def has(converter):
        return all(converter in outcome.value for outcome in records)

    if has("string"):
        yield "string", "string"
    if has("json"):
        yield "json", "json"
    if has("json") and all(outcome.value_schema is not None
                           for outcome in records):
        yield "json_schemas", "json_schemas"
    if any(outcome.value_schema.startswith("BYTES?") for outcome in records
           if outcome.value_schema) or not has("json"):
        yield "string", "bytes"
    if any(outcome.key_schema.startswith("BYTES") for outcome in records):
        yield "bytes", "json"


_CASES = [case for place, group in enumerate(_GROUPS.values())
          for case in _combinations(group, place)]


def _stopping():
    """Cases with records and rows at which Debezium fails."""
    for case in _CASES:
        group = _GROUPS[case[0]]
        if case[1] in group.refused or case[0] in _LIVE:
            continue
        wanted, failing, unsettled = wanted_of(group, *case[1:])
        if wanted and failing and not unsettled:
            yield case


# A few of them in the usual run.
_STOPPING = [case for number, case in enumerate(_stopping())
             if LONG or number % 2 == 0]


def _imported():
    """Cases whose connector walpost import-debezium takes."""
    for case in _CASES:
        group = _GROUPS[case[0]]
        setting = group.settings[case[1]]
        is_plain = not {"decode", "unknown.option"} & set(setting)
        if (case[1] not in group.refused and is_plain
                and case[0] not in _LIVE | {"s8/H3"}
                and wanted_of(group, *case[1:])[0]):
            yield case


_IMPORTED = [case for number, case in enumerate(_imported())
             if LONG or number % 4 == 0]


def _by_recording(cases):
    """The cases of each recording: one test judges all of them."""
    found = {}
    for case in cases:
        found.setdefault(case[0].partition("/")[0], []).append(case)
    return [pytest.param(those, id=recording)
            for recording, those in found.items()]


@pytest.fixture(scope="module")
def server(module_directory):
    server = Postgres(module_directory / "many-slots", settings=SERVER).start()
    yield server
    server.close()


@pytest.fixture(scope="module")
def broker(module_directory):
    broker = Kafka(module_directory / "any-time", partitions=PARTITIONS,
                   properties=BROKER).start()
    yield broker
    broker.close()


@pytest.fixture(scope="module")
def make(module_directory):
    """Makes Walposts: make(database, kafka, prefix, section={...})."""
    made = []

    def new(database, kafka, prefix, **sections):
        config = {
            "postgres": {"conninfo": database.conninfo(),
                         "publication": "walpost", "slot": database.name,
                         "create": True},
            "kafka": {"brokers": kafka.bootstrap},
            "http": {"listen": f"127.0.0.1:{free_port()}"}}
        made.append(Walpost(module_directory / f"walpost-{len(made)}-{prefix}",
                            laid_over(config, sections)))
        return made[-1]

    yield new
    for walpost in made:
        walpost.close()


@pytest.fixture(scope="module")
def runs_of(server, broker, make):
    """The runs of a group, made when its first case asks for them."""
    done = {}

    def of(name):
        if name not in done:
            group = _GROUPS[name]
            runs = GroupRuns(
                group, server.create_database(), broker,
                KafkaReader(broker.bootstrap), make,
                f"d{len(done)}.")
            done[name] = runs
            for case in _CASES:
                if case[0] == name:
                    runs.add(*case[1:])
            for case in _IMPORTED:
                if case[0] == name:
                    runs.add(*case[1:], "imported")
            for case in _STOPPING:
                if case[0] == name:
                    runs.add(*case[1:], "stops")
            if name in _LIVE:
                runs.stream_live()
            else:
                runs.execute()
                runs.stream()
        return done[name]

    yield of
    note("{cases} cases, {checks} parts of records compared".format(**_COUNTS))


def _name(case):
    return re.sub(r"\W", "-", "-".join(map(str, case)))


@pytest.mark.parametrize("cases", _by_recording(_CASES))
def test_records_are_those_of_the_recording(cases, runs_of):
    def judge(case):
        name, number, key_converter, value_converter = case
        group, runs = _GROUPS[name], runs_of(name)
        run = runs.runs[name_of(*case[1:])]
        if number in group.refused:
            assert run.exit_code == _USAGE, run
            _COUNTS["cases"] += 1
            return
        wanted, failing, unsettled = wanted_of(group, number, key_converter,
                                               value_converter)
        texts, checks = differences(run.records, wanted, unsettled, run.prefix,
                                    PARTITIONS, runs.began_ms)
        assert not texts, "\n".join(texts) + f"\n{run}"
        if wanted:
            assert run.state == "done", run
            assert run.set_aside >= len(failing), run
            assert run.set_aside <= len(failing) + len(unsettled), run
        elif run.state == "done":
            assert run.set_aside == len(failing), run
        else:
            assert run.exit_code or run.state == "stuck", run
            assert run.confirmed <= runs.lsns[0], run
        _COUNTS["cases"] += 1
        _COUNTS["checks"] += checks + len(failing)

    each(cases, judge, _name)


def test_flow_stops_before_the_first_row_at_which_debezium_fails(runs_of):
    def judge(case):
        group, runs = _GROUPS[case[0]], runs_of(case[0])
        run = runs.runs[name_of(*case[1:], "stops")]
        wanted, failing, _ = wanted_of(group, *case[1:])
        before = [want for want in wanted if want.statement < failing[0]]
        texts, checks = differences(run.records, before, set(), run.prefix,
                                    PARTITIONS, runs.began_ms)
        assert not texts, "\n".join(texts) + f"\n{run}"
        assert run.state == "stuck" and run.stopped in SKIPPED_CLASSES, run
        assert run.confirmed < (runs.lsns + [runs.goal])[failing[0] + 1], run
        _COUNTS["cases"] += 1
        _COUNTS["checks"] += checks + 1

    each(_STOPPING, judge, _name)


def test_an_imported_configuration_makes_the_same_records(runs_of):
    def judge(case):
        runs = runs_of(case[0])
        run = runs.runs[name_of(*case[1:], "imported")]
        wanted, failing, unsettled = wanted_of(_GROUPS[case[0]], *case[1:])
        texts, checks = differences(run.records, wanted, unsettled, run.prefix,
                                    PARTITIONS, runs.began_ms)
        assert not texts, "\n".join(texts) + f"\n{run}"
        assert run.state == "done" and run.set_aside >= len(failing), run
        _COUNTS["cases"] += 1
        _COUNTS["checks"] += checks

    each(_IMPORTED, judge, _name)


def test_every_number_has_its_group():
    assert set(NUMBERS) <= set(_GROUPS)
    followed = {number for numbers in NUMBERS.values() for number in numbers}
    assert not followed & set(OTHERWISE)
    note(f"{len(followed)} cases of Debezium's behaviour by number, "
         f"{len(OTHERWISE)} otherwise by intention")
