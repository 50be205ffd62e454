"""A Postgres that asks who is there, over TLS alone."""

import os
import signal

from harness.postgres import Postgres

# Everybody else is turned away; `postgres`, who has no password, sets it up.
_HBA = """\
hostssl all walpost      127.0.0.1/32 scram-sha-256
hostssl all walpost_cert 127.0.0.1/32 cert
host    all postgres     127.0.0.1/32 trust
host    replication postgres 127.0.0.1/32 trust
"""


class SecuredPostgres(Postgres):
    """The role `walpost` has a password, the role `walpost_cert` a certificate
    of that name, issued by `authority`. Neither gets in without TLS.
    """

    def __init__(self, directory, authority, password):
        super().__init__(directory, settings={
            "ssl": "on", "ssl_cert_file": "server.pem",
            "ssl_key_file": "server.key", "ssl_ca_file": "ca.pem"})
        self._put("pg_hba.conf", _HBA)
        self._password = password
        self._use(authority.certificate,
                  *authority.issue("postgres", host="127.0.0.1"))

    def start(self):
        super().start()
        with self.connect() as connection, connection.cursor() as cursor:
            for role in ("walpost", "walpost_cert"):
                cursor.execute(f"create role {role} login replication")
        self.set_password(self._password)
        return self

    def set_password(self, password):
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("alter role walpost password %s", (password,))

    def use_certificates(self, authority, certificate, key):
        """Another certificate of the server, and another authority for those of
        clients; sessions that are there stay."""
        self._use(authority.certificate, certificate, key)
        self._process.send(signal.SIGHUP)

    def tls(self, database, role="walpost", **keywords):
        """A conninfo that checks who the server is."""
        keywords = {"sslmode": "verify-full", **keywords}
        return " ".join([database.conninfo(role), *(
            f"{key}='{value}'" for key, value in keywords.items())])

    def _use(self, authority, certificate, key):
        for source, name in ((authority, "ca.pem"), (certificate, "server.pem"),
                             (key, "server.key")):
            self._put(name, source.read_text())

    def _put(self, name, text):
        path = self._data / name
        path.write_text(text)
        if self._user is not None:
            os.chown(path, self._user.pw_uid, self._user.pw_gid)
        path.chmod(0o600)
