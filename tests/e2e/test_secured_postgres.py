"""Postgres behind TLS: passwords, certificates, a command that prints tokens."""

import re
import time

import pytest

from harness import Authority, KafkaReader, SecuredPostgres, wait_until
from harness.matrix import long_only


_PASSWORD = "a-secret, with 'quotes' \\ and spaces"


@pytest.fixture(scope="module")
def authority(module_directory):
    return Authority(module_directory / "authority")


@pytest.fixture(scope="module")
def postgres(module_directory, authority):
    server = SecuredPostgres(module_directory / "secured", authority,
                             _PASSWORD).start()
    yield server
    server.close()


@pytest.fixture
def rotated(postgres):
    """The server, whose password the test may change."""
    yield postgres
    postgres.set_password(_PASSWORD)


@pytest.fixture
def other_certificates(postgres, authority):
    """Gives the server other certificates, until the test ends."""
    yield postgres.use_certificates
    postgres.use_certificates(
        authority, *authority.issue("postgres", host="127.0.0.1"))


@pytest.fixture
def admitted(database, outbox):
    """The database, where both roles may do what `run` does for itself."""
    for role in ("walpost", "walpost_cert"):
        database.execute(f"grant create on database {database.name} to {role}")
        database.execute(f"grant create on schema public to {role}")
    database.execute(
        "alter table outbox add created_at timestamptz default now()")
    database.execute("create role outbox_owner_" + database.name)
    database.execute(f"alter table outbox owner to outbox_owner_{database.name}")
    for role in ("walpost", "walpost_cert"):
        database.execute(f"grant outbox_owner_{database.name} to {role}")
    return database


def _quoted(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _file(path, text):
    path.write_text(text)
    path.chmod(0o600)
    return path


def _delivers(relay, database, outbox, kafka, topics):
    checked = relay.verb("check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    relay.run()
    for number in range(10):
        outbox.insert("order", f"order-{number}")
    database.wait_confirmed(relay.slot)
    assert len(KafkaReader(kafka.bootstrap).read_all(topics)) == 10
    verified = relay.verb("verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "a-secret" not in relay.log() + checked.stdout + verified.stdout


def test_a_password(walpost, admitted, outbox, kafka, topics, postgres, authority):
    conninfo = postgres.tls(admitted, sslrootcert=authority.certificate,
                            password=_quoted(_PASSWORD))
    relay = walpost(admitted, kafka, topics, postgres={"conninfo": conninfo})
    _delivers(relay, admitted, outbox, kafka, topics)
    printed = relay.verb("run", "--print-config").stdout
    assert "password=********" in printed and "a-secret" not in printed


def test_a_client_certificate(walpost, admitted, outbox, kafka, topics, postgres,
                              authority):
    certificate, key = authority.issue("walpost_cert")
    relay = walpost(admitted, kafka, topics, postgres={"conninfo": postgres.tls(
        admitted, "walpost_cert", sslrootcert=authority.certificate,
        sslcert=certificate, sslkey=key)})
    _delivers(relay, admitted, outbox, kafka, topics)


@pytest.mark.parametrize("given", ["keyword", "environment"])
@pytest.mark.long
def test_a_password_file(walpost, admitted, outbox, kafka, topics, postgres,
                         authority, directory, given):
    entry = _PASSWORD.replace("\\", "\\\\").replace(":", "\\:")
    path = _file(directory / "pgpass", f"127.0.0.1:*:*:walpost:{entry}\n")
    more = {"passfile": path} if given == "keyword" else {}
    relay = walpost(
        admitted, kafka, topics,
        env={"PGPASSFILE": str(path)} if given == "environment" else None,
        postgres={"conninfo": postgres.tls(
            admitted, sslrootcert=authority.certificate, **more)})
    _delivers(relay, admitted, outbox, kafka, topics)


def test_a_password_command(walpost, admitted, outbox, kafka, topics, postgres,
                            authority, directory):
    path = _file(directory / "token", _PASSWORD + "\n")
    relay = walpost(admitted, kafka, topics, postgres={
        "conninfo": postgres.tls(admitted, sslrootcert=authority.certificate),
        "password_command": ["cat", str(path)]})
    _delivers(relay, admitted, outbox, kafka, topics)
    printed = relay.verb("run", "--print-config").stdout
    assert "- cat" in printed and str(path) not in printed


def _refused(relay, words):
    """`check` and `run` say the same, whether or not `run` goes on."""
    checked = relay.verb("check")
    assert checked.returncode == 1
    assert re.search(words, checked.stdout), checked.stdout
    relay.start()

    def told():
        text = relay.get("/readyz")[1] if relay.running() else relay.log()
        return re.search(words, text)

    wait_until(told, lambda: f"{words}; the log says " + relay.log())
    for text in (checked.stdout, checked.stderr, relay.log()):
        assert "a-secret" not in text


_WRONG = {
    "password": (
        {"password": "a-secret, but another one"},
        "password authentication failed for user \"walpost\".*28P01.*"
        "check user, password"),
    "no password": ({}, "no password supplied.*28P01.*check user, password"),
    "no TLS": (
        {"sslmode": "disable", "password": "a-secret"},
        "no pg_hba.conf entry.*no encryption.*28000.*sslmode=verify-full"),
    "no client certificate": (
        {"role": "walpost_cert"},
        "connection requires a valid client certificate.*28000.*sslcert"),
    "no authority": (
        {"sslrootcert": "/none/ca.pem"},
        "root certificate file \"/none/ca.pem\" does not exist.*sslrootcert"),
}


@pytest.mark.parametrize("case", _WRONG)
@pytest.mark.long
def test_wrong_credentials(walpost, admitted, kafka, topics, postgres, authority,
                           case):
    changes, words = _WRONG[case]
    _refused(walpost(admitted, kafka, topics, postgres={
        "conninfo": postgres.tls(
            admitted, **{"sslrootcert": authority.certificate, **changes})}),
        words)


@pytest.mark.long
def test_another_authority(walpost, admitted, kafka, topics, postgres, directory):
    foreign = Authority(directory / "foreign", name="somebody else")
    _refused(walpost(admitted, kafka, topics, postgres={
        "conninfo": postgres.tls(admitted, sslrootcert=foreign.certificate,
                                 password=_quoted(_PASSWORD))}),
        "certificate verify failed.*openssl s_client -starttls postgres "
        "-connect 127.0.0.1:")


_SERVER = {
    "another host": (
        {"host": "127.0.0.2"},
        "does not match host name \"127.0.0.1\".*set host to a name of the certificate"),
    "expired": ({"host": "127.0.0.1", "is_expired": True},
                "certificate verify failed.*has expired"),
}


@pytest.mark.parametrize("case", _SERVER)
@pytest.mark.sample(2)
def test_a_wrong_certificate_of_the_server(
        walpost, admitted, kafka, topics, postgres, authority,
        other_certificates, case):
    how, words = _SERVER[case]
    other_certificates(authority, *authority.issue("postgres", **how))
    _refused(walpost(admitted, kafka, topics, postgres={
        "conninfo": postgres.tls(admitted, sslrootcert=authority.certificate,
                                 password=_quoted(_PASSWORD))}), words)


@pytest.mark.parametrize("case", ["expired", "foreign", "another name"])
@pytest.mark.long
def test_a_wrong_certificate_of_the_client(
        walpost, admitted, kafka, topics, postgres, authority, directory, case):
    issuer = authority
    if case == "foreign":
        issuer = Authority(directory / "foreign", name="somebody else")
    certificate, key = issuer.issue(
        "somebody" if case == "another name" else "walpost_cert",
        is_expired=case == "expired")
    words = {
        "expired": "certificate expired.*rejects the certificate in sslcert",
        "foreign": "unknown ca.*rejects the certificate in sslcert",
        "another name": "certificate authentication failed for user "
                        "\"walpost_cert\".*28000"}[case]
    _refused(walpost(admitted, kafka, topics, postgres={
        "conninfo": postgres.tls(
            admitted, "walpost_cert", sslrootcert=authority.certificate,
            sslcert=certificate, sslkey=key)}), words)


_COMMANDS = {
    "a code": ("echo a-secret; echo not logged in >&2; exit 7",
               "sh exited with code 7: not logged in"),
    "nothing": ("true", "sh printed nothing on stdout"),
    "more lines": ("echo a-secret; echo a-secret", "sh printed more than one line"),
}


@pytest.mark.parametrize("case", _COMMANDS)
@pytest.mark.long
def test_a_password_command_that_fails(walpost, admitted, kafka, topics, postgres,
                                       authority, case):
    script, words = _COMMANDS[case]
    relay = walpost(admitted, kafka, topics, postgres={
        "conninfo": postgres.tls(admitted, sslrootcert=authority.certificate),
        "password_command": ["sh", "-c", script]})
    checked = relay.verb("check")
    assert checked.returncode == 1 and words in checked.stdout
    relay.start()
    relay.wait_unready("postgres.password_command: " + words)
    assert "a-secret" not in checked.stdout + relay.log()


@pytest.mark.long
def test_a_password_command_that_hangs(walpost, admitted, kafka, topics, postgres,
                                       authority):
    relay = walpost(admitted, kafka, topics, postgres={
        "conninfo": postgres.tls(admitted, sslrootcert=authority.certificate),
        "password_command": ["sleep", "600"]})
    relay.start()
    relay.wait_unready("sleep has not ended within 10000 ms", 30)
    begun = time.monotonic()
    assert relay.stop() == 0
    assert time.monotonic() - begun < 15


# Everything of walpost that has a session of its own for long, or now and then.
_ALL = {"checkpoint": {"store": "postgres"},
        "replay": {"window": "64KiB"},
        "retention": {"keep": "1s", "interval": "1s"}}


def _sessions(database):
    """Of walpost, by task; the stream's name ends with that of its host."""
    names = database.execute(
        "select application_name, pid from pg_stat_activity where "
        "application_name like 'walpost:%%' and datname = %s",
        (database.name,))
    tasks = ("side", "checkpoint", "guard", "prune")
    return {task if (task := name.split(":")[-1]) in tasks else "stream": pid
            for name, pid in names}


def _cut(database):
    """Ends every session of walpost."""
    database.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where "
        "application_name like 'walpost:%%' and datname = %s", (database.name,))


def _works(relay, database, outbox):
    """Streams, keeps its checkpoint, moves the guard slot, deletes old rows."""
    outbox.insert("order", "order-1")
    database.wait_confirmed(relay.slot)
    now = database.value("select now()")
    guard = f"{relay.slot}_guard"
    guard_lsn = database.confirmed_lsn(guard)
    deleted = outbox.deleted()

    def all_done():
        outbox.insert("order", "order-2", payload='"%s"' % ("x" * 5000))
        return (database.value(
                    "select count(*) from walpost_checkpoint where "
                    "written_at > %s", (now,))
                and (database.confirmed_lsn(guard) or 0) > guard_lsn
                and outbox.deleted() > deleted)

    wait_until(all_done, "checkpoint, guard slot and retention to go on", 60)
    assert _sessions(database).keys() >= {"stream", "side", "checkpoint", "guard"}


@pytest.mark.parametrize("how", ["command", *long_only("file", "passfile")])
def test_a_changed_password_is_taken_up(
        walpost, admitted, outbox, kafka, topics, rotated, authority, directory,
        how):
    conninfo = {"sslrootcert": authority.certificate}
    more = {}
    path = directory / "password"
    text = "{}"
    if how == "file":
        conninfo["password"] = f"${{file:{path}}}"
    elif how == "passfile":
        conninfo["passfile"] = path
        text = "127.0.0.1:*:*:walpost:{}"
    else:
        more["password_command"] = ["cat", str(path)]
    rotated.set_password("a-secret-1")
    _file(path, text.format("a-secret-1"))
    relay = walpost(admitted, kafka, topics, **_ALL, postgres={
        "conninfo": rotated.tls(admitted, **conninfo), **more}).run()
    _works(relay, admitted, outbox)
    rotated.set_password("a-secret-2")
    _cut(admitted)
    relay.wait_unready("password authentication failed.*28P01")
    _file(path, text.format("a-secret-2"))
    relay.wait_ready(60)
    _works(relay, admitted, outbox)
    path.unlink()
    _cut(admitted)
    relay.wait_unready({
        "file": f"postgres.conninfo: file {path} cannot be read",
        "passfile": "no password supplied",
        "command": "cat exited with code 1: cat: "}[how])
    _file(path, text.format("a-secret-2"))
    relay.wait_ready(60)
    assert "a-secret" not in relay.log()
    assert relay.stop() == 0


@pytest.mark.long
def test_a_changed_password_is_taken_up_by_polling(
        walpost, admitted, outbox, kafka, topics, rotated, authority, directory):
    admitted.execute("alter table outbox add published_at timestamptz, "
                     "add place bigserial")
    admitted.execute("create index on outbox (place) where published_at is null")
    path = directory / "password"
    rotated.set_password("a-secret-1")
    _file(path, "a-secret-1")
    relay = walpost(admitted, kafka, topics, source="polling", postgres={
        "conninfo": rotated.tls(admitted, sslrootcert=authority.certificate,
                                password=f"${{file:{path}}}")},
        outbox={"tables": [{"name": "public.outbox", "order_by": "place",
                            "state": {"published_at": "published_at"}}]}).run()
    rotated.set_password("a-secret-2")
    _cut(admitted)
    relay.wait_unready("password authentication failed")
    _file(path, "a-secret-2")
    relay.wait_ready(60)
    outbox.insert("order", "order-1")
    wait_until(lambda: not admitted.value(
        "select count(*) from outbox where published_at is null"),
        "the row to be published")
    assert "a-secret" not in relay.log()


@pytest.mark.long
def test_a_changed_client_certificate_is_taken_up(
        walpost, admitted, outbox, kafka, topics, postgres, authority,
        other_certificates, directory):
    path, key = directory / "client.pem", directory / "client.key"

    def give(issuer):
        certificate, private = issuer.issue("walpost_cert")
        _file(path, certificate.read_text())
        _file(key, private.read_text())

    give(authority)
    relay = walpost(admitted, kafka, topics, **_ALL, postgres={
        "conninfo": postgres.tls(
            admitted, "walpost_cert", sslrootcert=directory / "ca.pem",
            sslcert=path, sslkey=key)})
    _file(directory / "ca.pem", authority.certificate.read_text())
    relay.run()
    renewed = Authority(directory / "renewed", name="the next one")
    other_certificates(renewed, *renewed.issue("postgres", host="127.0.0.1"))
    _cut(admitted)
    relay.wait_unready("certificate verify failed")
    _file(directory / "ca.pem", renewed.certificate.read_text())
    relay.wait_unready("unknown ca")
    give(renewed)
    relay.wait_ready(60)
    _works(relay, admitted, outbox)
