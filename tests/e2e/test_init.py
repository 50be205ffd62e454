"""walpost init by an administrator: it leaves what the role of run needs,
however the administrator logs in."""

import json
import os
import pwd
import subprocess

import psycopg2
import pytest

from harness import KafkaReader, Postgres, Walpost, run_sql_file, wait_until
from harness.matrix import long_only, values
from harness.paths import walpost_binary

_PASSWORD = "it's a \\ secret"

# Debian's: the superuser over the socket, by the name of the user; everybody
# else with a password. The tests come as `checker`.
_HBA = """\
local all postgres              peer
host  all checker  127.0.0.1/32 trust
host  all all      127.0.0.1/32 scram-sha-256
"""


class _DebianPostgres(Postgres):
    """A server that lets nobody in without a name or a password."""

    def __init__(self, directory):
        directory.mkdir()
        self.socket = directory / "socket"
        self.socket.mkdir()
        self.socket.chmod(0o777)
        self._administrator = "postgres"
        super().__init__(directory / "server", settings={
            "unix_socket_directories": str(self.socket)})
        self.start()
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("create role checker superuser login")
            cursor.execute("alter role postgres password %s", (_PASSWORD,))
            (self._data / "pg_hba.conf").write_text(_HBA)
            self._administrator = "checker"
            cursor.execute("select pg_reload_conf()")
        wait_until(self._asks, "the server to ask for passwords")

    def _asks(self):
        try:
            psycopg2.connect(self.conninfo(user="postgres")).close()
            return False
        except psycopg2.OperationalError:
            return True

    def conninfo(self, database=None, user=None):
        return super().conninfo(database, user or self._administrator)


@pytest.fixture(scope="module")
def debian(module_directory):
    server = _DebianPostgres(module_directory / "debian")
    yield server
    server.close()


@pytest.fixture
def shop(debian, walposts):
    database = debian.create_database()
    database.role = database.create_role()
    database.execute(f"alter role {database.role} password %s", (_PASSWORD,))
    yield database
    for instance in walposts:
        instance.close()
    database.drop()


# How the administrator logs in: the words of init, the environment, and the user
# who runs it.
def _over_socket(server, database):
    return (["--admin", "dbname=" + database.name],
            {"PGHOST": str(server.socket), "PGPORT": str(server.port)},
            "postgres")


def _as_root(server, database):
    return (*_over_socket(server, database)[:2], None)


def _with_password(server, database):
    return (["--admin", f"host=127.0.0.1 port={server.port} user=postgres"],
            {"PGPASSWORD": _PASSWORD}, None)


def _with_uri(server, database):
    password = "it%27s%20a%20%5C%20secret"
    return (["--admin", f"postgresql://postgres:{password}@127.0.0.1:"
             f"{server.port}/{database.name}"], {}, None)


def _with_set(server, database):
    return (["--set", f"postgres.conninfo=host=127.0.0.1 port={server.port} "
             f"dbname={database.name} user=postgres"],
            {"PGPASSWORD": _PASSWORD}, None)


_LOGINS = {"socket": _over_socket, "root": _as_root, "password": _with_password,
           "uri": _with_uri, "set": _with_set}

_CONFIGURATIONS = {
    "plain": {},
    "checkpoint": {"checkpoint": {"store": "postgres"}},
    "parked": {"on_error": {"topic_illegal": "park"}},
    "retention": {"retention": {"keep": "1h"}},
    "snapshot": {"snapshot": "initial"},
    **dict(long_only(
        ("window", {"replay": {"window": "64MiB"}}),
        ("letters", {"on_error": {"topic_illegal": "dead_letter"},
                     "dead_letter": {"store": "postgres"}}),
        ("exactly once", {"delivery": {"guarantee": "exactly_once"}}))),
}


def _relay(walpost, database, kafka, topics, directory, **sections):
    """As README's file: the role of run, with its password elsewhere."""
    secret = directory / "password"
    secret.write_text(_PASSWORD)
    secret.chmod(0o600)
    relay = walpost(database, kafka, topics, postgres={
        "conninfo": database.conninfo(database.role) +
        f" password='${{file:{secret}}}'", "create": None},
        outbox={"tables": [{"name": "public.outbox"}]}, **sections)
    relay.config_path.parent.chmod(0o755)
    return relay


def _init(relay, login, *words):
    arguments, environment, user = login
    who = pwd.getpwnam(user) if user else None
    return subprocess.run(
        [walpost_binary(), "init", "-c", relay.config_path, *arguments, *words],
        env={"PATH": os.environ["PATH"], **environment}, capture_output=True,
        text=True, timeout=60, check=False,
        **({"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
           if who and os.geteuid() == 0 else {}))


@pytest.mark.parametrize("case", values(
    login=list(_LOGINS), configuration=list(_CONFIGURATIONS),
    before=("nothing", "a table", "a publication", "a slot")), ids=str)
@pytest.mark.sample(6)
def test_the_role_of_run_has_what_it_needs(
        walpost, debian, shop, kafka, topics, directory, case):
    if case["before"] != "nothing":
        run_sql_file(shop, "outbox.sql")
    if case["before"] in ("a publication", "a slot"):
        shop.execute("create publication walpost for table outbox with "
                     "(publish = 'insert', publish_via_partition_root = true)")
    if case["before"] == "a slot":
        shop.execute("select pg_create_logical_replication_slot(%s, "
                     "'pgoutput')", (shop.name,))
    relay = _relay(walpost, shop, kafka, topics, directory,
                   **_CONFIGURATIONS[case["configuration"]])
    login = _LOGINS[case["login"]](debian, shop)
    made = _init(relay, login)
    assert made.returncode == 0, made.stdout + made.stderr
    assert f"role {shop.role}: owns publication walpost now" in made.stdout
    again = _init(relay, login)
    assert again.returncode == 0 and " now\n" not in again.stdout, again.stdout
    checked = relay.verb("check")
    assert checked.returncode == 0, checked.stdout
    assert "does not own" not in checked.stdout
    relay.run()
    for kind in ("order", "no topic"):
        shop.execute("alter table outbox drop constraint if exists "
                     "outbox_aggregate_type_check; insert into outbox "
                     "(aggregate_type, aggregate_id) values (%s, %s)",
                     (kind, kind))
    wait_until(lambda: KafkaReader(kafka.bootstrap).read_all(topics),
               lambda: relay.log())
    assert not any(word in relay.log() for word in (
        "permission denied", "not on record", "must be owner")), relay.log()
    if "on_error" not in _CONFIGURATIONS[case["configuration"]]:
        wait_until(lambda: relay.get("/readyz")[0] == 503, "the flow to stop")
        position = json.loads(relay.get("/status")[1])["stopped_position"]
        skipped = relay.verb("skip", position, "--why", "a test")
        assert skipped.returncode == 0, skipped.stderr
    shop.wait_confirmed(relay.slot)
    verified = relay.verb("verify")
    assert "permission denied" not in verified.stderr
    assert verified.returncode == 1 and "1 skipped" in verified.stdout \
        or "1 parked" in verified.stdout or "1 dead_letter" in verified.stdout
    assert relay.stop() == 0


@pytest.mark.long
def test_a_role_that_does_not_exist(walpost, debian, shop, kafka, topics,
                                    directory):
    """Nothing is made for it."""
    relay = _relay(walpost, shop, kafka, topics, directory)
    made = _init(relay, _over_socket(debian, shop), "--role", "nobody_here")
    assert made.returncode == 3
    assert 'CREATE ROLE "nobody_here" LOGIN REPLICATION;' in made.stderr
    assert not shop.execute("select 1 from pg_publication")
    assert shop.value("select to_regclass('outbox')") is None


@pytest.mark.parametrize("words, code, says", [
    (["--admin", "dbname=postgres"], 2, "database postgres"),
    (["--admin", "hots=x"], 2, "--admin: libpq does not understand it"),
])
@pytest.mark.sample(2)
def test_an_administrator_who_does_not_fit(walpost, debian, shop, kafka, topics,
                                           directory, words, code, says):
    relay = _relay(walpost, shop, kafka, topics, directory)
    made = _init(relay, (words, {}, None))
    assert made.returncode == code and says in made.stderr, made.stderr


@pytest.mark.long
def test_a_conninfo_without_a_role(walpost, debian, shop, kafka, topics):
    relay = walpost(shop, kafka, topics, postgres={
        "conninfo": "dbname=" + shop.name, "create": None})
    made = _init(relay, _over_socket(debian, shop))
    assert made.returncode == 2 and "--role NAME" in made.stderr, made.stderr
    made = _init(relay, _over_socket(debian, shop), "--role", shop.role)
    assert made.returncode == 0, made.stderr


@pytest.mark.long
def test_a_password_that_the_administrator_does_not_have(
        walpost, debian, shop, kafka, topics, directory):
    """README of 0.2.0 asked for this on Debian."""
    relay = _relay(walpost, shop, kafka, topics, directory)
    made = _init(relay, (["--admin", f"host=127.0.0.1 port={debian.port} "
                          "user=postgres"], {}, None))
    assert made.returncode == 3
    assert "sudo -u postgres walpost init -c " in made.stderr, made.stderr
    assert str(relay.config_path) in made.stderr


@pytest.mark.long
def test_an_owner_who_is_no_superuser(walpost, debian, shop, kafka, topics,
                                      directory):
    """Gives what he may; the rest is SQL for who may."""
    shop.execute("create role shop_app login replication password %s",
                 (_PASSWORD,))
    shop.execute(f"grant create on database {shop.name} to shop_app; "
                 "grant create on schema public to shop_app")
    try:
        relay = _relay(walpost, shop, kafka, topics, directory)
        made = _init(relay, (
            ["--admin", f"host=127.0.0.1 port={debian.port} user=shop_app"],
            {"PGPASSWORD": _PASSWORD}, None))
        assert made.returncode == 0, made.stderr
        give = f'ALTER PUBLICATION "walpost" OWNER TO "{shop.role}";'
        assert f"-> {give}" in made.stdout, made.stdout
        assert "has SELECT on public.outbox now" in made.stdout
        shop.execute(give)
        assert "note    birth" not in relay.verb("check").stdout
        relay.run()
    finally:
        for instance in (relay,):
            instance.close()
        shop.execute("drop owned by shop_app cascade; drop role shop_app")


def test_print_has_the_rights(walpost, debian, shop, kafka, topics, directory):
    relay = _relay(walpost, shop, kafka, topics, directory,
                   checkpoint={"store": "postgres"})
    printed = _init(relay, (["--role", shop.role, "--print"], {}, None))
    assert printed.returncode == 0, printed.stderr
    # One by one: a slot is not made in a transaction that has written.
    ran = subprocess.run(
        ["psql", "-X", "-v", "ON_ERROR_STOP=1", "-d",
         shop.conninfo(), "-f", "-"], input=printed.stdout, text=True,
        capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "does not own" not in relay.verb("check").stdout
    assert relay.verb("check").returncode == 0


@pytest.mark.parametrize("verb", ["run", "check", "init", "tail --count 1",
                                  *long_only("replay --since 1h")])
@pytest.mark.long
def test_replication_is_a_role_at_rds(walpost, postgres, database, kafka, topics,
                                      verb):
    """There it is no attribute; here it is the role alone that is like it."""
    role = f"relay_{database.name}"
    database.execute(f"create role rds_replication; create role {role} login")
    try:
        relay = walpost(database, kafka, topics, postgres={
            "conninfo": database.conninfo(role)})
        if verb != "init":
            assert relay.verb(
                "init", "--set", "postgres.conninfo=" + database.conninfo()
            ).returncode == 0
            database.execute(f"revoke rds_replication from {role}")
        else:
            database.execute("create publication walpost")
        if verb == "run":
            relay.start()
            relay.wait_exit()
            said = relay.log()
        else:
            ran = relay.verb(*verb.split())
            assert ran.returncode != 0
            said = ran.stdout + ran.stderr
        if verb == "init":
            return  # as the owner of nothing it does not come that far
        assert f'GRANT rds_replication TO "{role}";' in said, said
        assert "REPLICATION;" not in said.replace("rds_replication", "")
    finally:
        database.execute(f"drop owned by {role}; drop role {role}; "
                         "drop role rds_replication")


@pytest.mark.long
def test_status_needs_no_secret(walpost, database, kafka, outbox, topics):
    relay = walpost(database, kafka, topics).run()
    asked = Walpost(relay.config_path.parent / "asked", {
        **relay.config, "postgres": {
            **relay.config["postgres"],
            "conninfo": "user=walpost password=${file:/not/for/you}"}})
    said = asked.verb("status")
    assert said.returncode == 0 and "streaming" in said.stdout, said.stderr
    assert asked.verb("check").returncode == 2
