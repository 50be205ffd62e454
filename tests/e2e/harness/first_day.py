"""walpost as README installs it, and the operator who looks after it: does
what the docs say, and pastes what is printed. The judge shares nothing with it.
"""

import collections
import contextlib
import json
import re

from harness.birth import read_birth
from harness.checker import Checker
from harness.judge import verify
from harness.kafka_reader import KafkaReader
from harness.outbox import Outbox
from harness.remedies import commands, run_command
from harness.sections import laid_over
from harness.waiting import wait_until

_VISIBLE_S = 30
_TABLE = {"name": "public.outbox", "order_by": "sequence"}
# What a command has that its reader does not choose it by.
_IN_EVERY = re.compile(r"-c|--why|REASON|.*/.*")
# What verify counts without being worried.
_HARMLESS = {"duplicates", "not_in_table", "replayed"}


def mapped(**columns):
    """The section with another mapping of the outbox."""
    return {"outbox": {"tables": [{**_TABLE, "columns": columns}]}}


class Installation:
    """An outbox, a role with the rights of README, and a walpost of that role.

    `sections` lie over the configuration. The administrator is whoever the
    database is connected as.
    """

    def __init__(self, make, database, kafka, topics, /, **sections):
        self.database, self.kafka, self.topics = database, kafka, topics
        self.outbox = Outbox(database, topics)
        self.role = database.create_role()
        self._make = make
        self._sequence = 0
        self.relay = self.another(**sections)

    def another(self, **sections):
        """Another walpost for this outbox; it is not started."""
        made = self._make(
            self.database, self.kafka, self.topics,
            postgres={"conninfo": self.database.conninfo(self.role),
                      "create": None},
            outbox={"tables": [_TABLE]})
        made.configure(laid_over(made.config, sections))
        return made

    # ---- What operators do.

    def init(self):
        return self.verb("init", "--admin", self.database.conninfo())

    def start(self):
        """The steps of README."""
        self.init()
        self.verb("check")
        self.relay.run()
        return self

    def verb(self, *words, code=0):
        """Returns what it says."""
        said = self.relay.verb(*words)
        assert said.returncode == code, said.stdout + said.stderr
        return said.stdout + said.stderr

    def paste(self, text, *words, code=0):
        """Runs the command in a text that is made of these words, as it is
        printed. Returns what it says."""
        found = [command for command in commands(text)
                 if set(words) == set(filter(_is_chosen, command))]
        assert found, f"no walpost {' '.join(words)} in: {text}"
        assert str(self.relay.config_path) in found[0], text
        said = run_command(found[0])
        assert said.returncode == code, said.stdout + said.stderr
        return said.stdout + said.stderr

    def configure(self, **sections):
        """Lays sections over the file, for the next start."""
        self.relay.configure(laid_over(self.relay.config, sections))

    def restart(self, **sections):
        """With sections that lie over the file; waits until it is ready."""
        self.configure(**sections)
        self.restart_only()
        self.relay.wait_ready()

    def restart_only(self):
        assert self.relay.stop() == 0
        self.relay.start()

    def add_age(self):
        """The column by which prune knows old rows."""
        self.database.execute(
            "alter table outbox add created_at timestamptz not null default "
            "clock_timestamp()")

    # ---- What services do.

    def write(self, key, count=1, aggregate_type="order", payload=None,
              **columns):
        """Rows of a key, each in its own transaction. Returns their ids."""
        ids = []
        for _ in range(count):
            self._sequence += 1
            ids.append(self.outbox.insert(
                aggregate_type, key, payload or str(self._sequence),
                sequence=self._sequence, **columns))
        return ids

    def write_many(self, count, keys=10):
        """Rows of several keys in one transaction. Returns their ids."""
        rows = self.database.execute(
            "insert into outbox (aggregate_type, aggregate_id, payload, "
            "sequence) select 'order', 'key-' || n %% %s, to_jsonb(n), n "
            "from generate_series(%s, %s) n returning id::text",
            (keys, self._sequence + 1, self._sequence + count))
        self._sequence += count
        return [row[0] for row in rows]

    # ---- What is seen of it.

    def rows(self):
        """Ids of the rows that are in the table."""
        return {str(row[0]) for row in self.database.execute(
            "select id from outbox")}

    def wait_answer(self):
        """What /readyz says when the start has ended."""
        def answer():
            code, text = self.relay.get("/readyz")
            return code and not text.startswith("starting") and (code, text)

        return wait_until(answer, lambda: self.relay.get("/readyz"))

    def status(self):
        return json.loads(self.relay.get("/status")[1])

    def wait_stuck(self, code, *words, seconds=30):
        """Waits for that reason code; all who show it agree. Returns the text
        of /readyz, which has the words."""
        text = self.relay.wait_unready(re.escape(f"[{code}]"), seconds)
        metric = f'walpost_reason{{reason_code="{code}"}}'
        wait_until(lambda: self.status()["reason_code"] == code
                   and self.relay.metric(metric) == 1, metric)
        assert f"[{code}]" in self.verb("status", code=1)
        assert f"[{code}]" in self.relay.log()
        for word in words:
            assert word in text, text
        return text

    def wait_confirmed(self):
        """Waits until all that is committed is in Kafka or set aside."""
        self.database.wait_confirmed(self.relay.slot)

    def wait_born(self):
        """Waits until rows are younger than the birth of the slot."""
        born = read_birth(self.database, self.relay.slot)["at"]
        wait_until(lambda: self.database.value("select clock_timestamp() > %s",
                                               (born,)), "the birth to be over")

    def wait_older(self, seconds):
        """Waits until all rows are."""
        wait_until(lambda: self.database.value(
            "select max(created_at) < clock_timestamp() - %s * interval '1 s' "
            "from outbox", (seconds,)), "older rows")

    def wait_session(self, verb):
        """Waits until a verb has a session at the server."""
        wait_until(lambda: self.database.execute(
            "select 1 from pg_stat_activity where datname = current_database() "
            "and application_name like %s", (f"%{verb}%",)),
            lambda: f"a session of walpost {verb}")

    def records(self):
        return KafkaReader(self.kafka.bootstrap).read_all(self.topics)

    def assert_whole(self, decided=None, late=(), takeover=False):
        """Each committed event is in Kafka, in the order of its key, or is on
        record: `decided` has the ids by the finding of verify. An operator had
        the `late` ones sent, behind newer ones. walpost streams."""
        decided, late = decided or {}, set(late)
        aside = {event for ids in decided.values() for event in ids}
        self.wait_confirmed()
        expected = [event for event in self.outbox.expected()
                    if event.id not in aside]
        punctual = [event for event in expected if event.id not in late]
        records = self._wait_records({event.id for event in expected})
        by_hand = [record for record in records if record.is_by_hand]
        stream = [record for record in records if not record.is_by_hand]
        by_hand_alone = ({record.id for record in by_hand} -
                         {record.id for record in stream})
        Checker([event for event in expected if event.id not in by_hand_alone],
                stream, takeover=takeover).assert_clean()
        _assert_same(expected, by_hand)
        _assert_order(punctual, records)
        self._assert_verify_agrees(decided)
        wait_until(lambda: self.relay.get("/readyz") == (200, "streaming\n"),
                   lambda: f"streaming; it says {self.relay.get('/readyz')}")

    def _wait_records(self, ids):
        """All records, when each of these events has one. What is missing then
        is for the Checker to say."""
        with contextlib.suppress(TimeoutError):
            wait_until(lambda: ids <= {record.id for record in self.records()},
                       "the records", _VISIBLE_S)
        return self.records()

    def _assert_verify_agrees(self, decided):
        """It judges the rows that are still in the table."""
        rows = self.rows()
        decided = {kind: rows & set(ids) for kind, ids in decided.items()
                   if rows & set(ids)}
        report = verify(self.relay)
        text = json.dumps(report, indent=1)
        assert {kind: count for kind, count in report["found"].items()
                if kind not in _HARMLESS} == {
                    kind: len(ids) for kind, ids in decided.items()}, text
        assert report["clean"] == (not decided), text
        for kind, ids in decided.items():
            named = json.dumps(report["findings"][kind])
            assert all(event in named for event in ids), text


def _is_chosen(word):
    return not _IN_EVERY.fullmatch(word)


def _assert_same(expected, records):
    """What was sent by hand is what was committed."""
    events = {event.id: event for event in expected}
    for record in records:
        event = events.get(record.id)
        assert event is not None, f"nobody may have sent {record}"
        assert (record.topic, record.key, record.value) == (
            event.topic, event.key, event.value)


def _assert_order(expected, records):
    """First occurrences are in the order of their keys."""
    events = {event.id: event for event in expected}
    found = collections.defaultdict(dict)
    for record in records:
        if record.id in events:
            found[record.topic, record.key].setdefault(
                record.id, events[record.id].sequence)
    for key, sequences in found.items():
        given = list(sequences.values())
        assert given == sorted(given), f"{key}: {given}"
