"""A major upgrade of Postgres, as docs/upgrade-postgres.md has it: by pg_upgrade,
which keeps the slot from major 17 on."""

import json
import pathlib
import shlex
import subprocess

import pytest

from harness import Database, KafkaReader, Outbox, Postgres, wait_until
from harness.pages import blocks
from harness.paths import REPOSITORY, postgres_bin

_PAGE = "docs/upgrade-postgres.md"


def _programs(major):
    """Debian's folder, or that of scripts/fetch-postgres-programs."""
    if major is None:
        return postgres_bin()
    said = subprocess.run(
        [REPOSITORY / "scripts" / "fetch-postgres-programs", str(major)],
        stdout=subprocess.PIPE, check=True, text=True)
    return pathlib.Path(said.stdout.strip())


def _commands(beginning):
    """The words of each line of the page's block that begins so."""
    block, = (block for block in blocks() if block.page == _PAGE
              and block.text.startswith(beginning))
    return [shlex.split(line) for line in block.text.replace("\\\n", "").splitlines()]


def _run_page(relay, beginning):
    """Runs the commands of a block, without -c FILE."""
    for word, verb, _, _, *words in _commands(beginning):
        assert word == "walpost"
        ran = relay.verb(verb, *words, *(
            ["--order-by", "sequence"]
            if verb == "recover" and "--accept" not in words else []))
        assert ran.returncode == 0, f"{verb} {words}\n{ran.stdout}{ran.stderr}"


class Upgrade:
    """An outbox on a server that is to be upgraded to 18, and its walpost."""

    def __init__(self, walpost, kafka, topics, directory, major):
        self._directory = directory
        self.old = Postgres(directory / "old", _programs(major)).start()
        self.new = None
        self._database = Database(self.old)
        self._topics = topics
        self._kafka = kafka
        self._outbox = Outbox(self._database, topics)
        self.relay = walpost(self._database, kafka, topics)
        assert self.relay.verb("init").returncode == 0
        self.relay.run()
        self._written = set(self.write())
        _run_page(self.relay, "walpost verify")

    def write(self, count=10):
        return [self._outbox.insert("order", f"key-{number % 3}", sequence=number)
                for number in range(count)]

    def carry_out(self):
        """Both are down."""
        self.new = Postgres(self._directory / "new", _programs(18))
        words = _commands("pg_upgrade")[0]
        assert words[::2] == ["pg_upgrade", "/usr/lib/postgresql/17/bin",
                              "/var/lib/postgresql/17/main",
                              "/usr/lib/postgresql/18/bin",
                              "/var/lib/postgresql/18/main"]
        self.new.upgrade_from(self.old).start()
        self._database.move_to(self.new)
        config = self.relay.config
        config["postgres"]["conninfo"] = self._database.conninfo()
        self.relay.configure(config)

    def slots(self):
        return self._database.value("select count(*) from pg_replication_slots")

    def finish(self, pending=()):
        """Every row has one record, also those that are written now."""
        self.relay.run()
        self._written |= {*pending, *self.write()}
        reader = KafkaReader(self._kafka.bootstrap)

        def ids():
            return [record.id for record in reader.read_all(self._topics)]

        wait_until(lambda: set(ids()) >= self._written,
                   lambda: f"all records\n{self.relay.log()}")
        assert sorted(ids()) == sorted(self._written)
        found = json.loads(self.relay.verb("verify", "--json").stdout)
        assert not found["findings"]["missing"]["count"], found

    def close(self):
        self.old.close()
        if self.new:
            self.new.close()


@pytest.fixture
def upgrade(walpost, kafka, topics, directory, request):
    made = Upgrade(walpost, kafka, topics, directory, request.param)
    yield made
    made.close()


@pytest.mark.parametrize("upgrade", [17], indirect=True)
def test_from_17_the_slot_goes_along(upgrade):
    upgrade.old.stop()
    assert upgrade.relay.stop() == 0
    upgrade.carry_out()
    assert upgrade.slots() == 1
    upgrade.relay.start()
    upgrade.relay.wait_unready(r"\[other_cluster\]")
    assert upgrade.relay.stop() == 0
    _run_page(upgrade.relay, "walpost recover -c walpost.yaml --accept")
    upgrade.finish()


@pytest.mark.parametrize("upgrade", [None], indirect=True)
@pytest.mark.long
def test_before_17_recover_makes_another_slot(upgrade):
    """Rows that walpost has not sent before are published."""
    assert upgrade.relay.stop() == 0
    pending = upgrade.write(3)
    upgrade.old.stop()
    upgrade.carry_out()
    assert upgrade.slots() == 0
    _run_page(upgrade.relay, "walpost recover -c walpost.yaml --dry-run")
    upgrade.finish(pending)


@pytest.mark.parametrize("upgrade", [17], indirect=True)
@pytest.mark.long
def test_pg_upgrade_refuses_a_slot_that_has_not_sent_everything(upgrade):
    assert upgrade.relay.stop() == 0
    upgrade.write(3)
    upgrade.old.stop()
    with pytest.raises(RuntimeError, match="invalid_logical_slots.txt"):
        upgrade.carry_out()
