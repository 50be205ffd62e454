"""A broker that asks who is there."""

import subprocess

from harness.acls import add_acls, remove_acls
from harness.kafka import Kafka
from harness.kafka_java import java, run_tool
from harness.ports import free_port

_MODULES = "org.apache.kafka.common.security"
_SCRAM = ("SCRAM-SHA-512", "SCRAM-SHA-256")
_AUTHORIZER = {
    "authorizer.class.name":
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS"}


class SecuredKafka(Kafka):
    """Beside the open listener, which readers use, there are `sasl`, over TLS with
    a password, `mtls`, with a certificate of the client, and `oauth`, over TLS with
    a token: of a TokenEndpoint, or of `signer`, a TokenSigner. Then connections
    end after `max_reauth_millis`, unless they log in again.

    The user is `walpost`; the certificates are those of `authority`. With
    `asks_for_rights` that user may do only what grant() has given it; whoever
    comes through the open listener may do everything.
    """

    def __init__(self, directory, authority, password, asks_for_rights=False,
                 signer=None, max_reauth_millis=3_600_000):
        self._password = password
        self._authority = authority
        self.sasl = f"127.0.0.1:{free_port()}"
        self.mtls = f"127.0.0.1:{free_port()}"
        self.oauth = f"127.0.0.1:{free_port()}"
        stores = directory.with_name(directory.name + "-stores")
        stores.mkdir(parents=True)
        self._stores = stores / "broker", stores / "clients"
        self.use_certificates(authority)
        plain = (f'{_MODULES}.plain.PlainLoginModule required '
                 f'user_walpost="{password}";')
        scram = f"{_MODULES}.scram.ScramLoginModule required;"
        sasl = "listener.name.sasl."
        oauth = "listener.name.oauth."
        of_signer, jvm = ({}, []) if signer is None else signer.broker(
            "oauth", max_reauth_millis)
        super().__init__(
            directory, jvm=jvm,
            listeners={"SASL": (self.sasl, "SASL_SSL"),
                       "MTLS": (self.mtls, "SSL"),
                       "OAUTH": (self.oauth, "SASL_SSL")},
            properties={
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": self._stores[0],
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": self._stores[1],
                "listener.name.mtls.ssl.client.auth": "required",
                sasl + "sasl.enabled.mechanisms": ",".join((*_SCRAM, "PLAIN")),
                sasl + "plain.sasl.jaas.config": plain,
                oauth + "sasl.enabled.mechanisms": "OAUTHBEARER",
                oauth + "oauthbearer.sasl.jaas.config":
                    f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;",
                # A connection does not outlive its token.
                oauth + "oauthbearer.connections.max.reauth.ms": "3600000",
                **of_signer,
                **(_AUTHORIZER if asks_for_rights else {}),
                **{f"{sasl}{mechanism.lower()}.sasl.jaas.config": scram
                   for mechanism in _SCRAM}})

    def start(self, seconds=120):
        super().start(seconds)
        self.set_password(self._password)
        return self

    def use_certificates(self, authority):
        """Those of `authority`, at both ends, from the next start on."""
        self._authority = authority
        certificate, key = authority.issue("broker", host="127.0.0.1")
        self._stores[0].write_text(key.read_text() + certificate.read_text())
        self._stores[1].write_text(authority.certificate.read_text())

    def run_acls(self, *words):
        """Runs kafka-acls.sh: for commands that somebody is told to run."""
        run_tool(self.bootstrap, "AclCommand", *words)

    def grant(self, *words):
        """As kafka-acls.sh --add, but quickly:
        grant("--allow-principal", "User:walpost", ...)."""
        add_acls(self.bootstrap, words)

    def deny(self, topic):
        """The user may not write to it, until allow()."""
        self.grant("--deny-principal", "User:walpost", "--operation", "Write",
                   "--topic", topic)

    def allow(self, topic):
        remove_acls(self.bootstrap, topic, "Write", denied=True)

    def revoke(self, *topics):
        """All rights on these names, on what begins with them, and on the
        cluster."""
        remove_acls(self.bootstrap)
        for topic in topics:
            remove_acls(self.bootstrap, topic)

    def login(self):
        """The section `kafka` of a walpost that comes through `sasl`."""
        return {"brokers": self.sasl, "properties": {
            "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN",
            "sasl.username": "walpost", "sasl.password": self._password,
            "ssl.ca.location": str(self._authority.certificate)}}

    def set_password(self, password):
        """Of SCRAM; stays so through stop() and start()."""
        self._password = password
        for mechanism in _SCRAM:
            subprocess.run(
                java("kafka.admin.ConfigCommand", "--bootstrap-server",
                     self.bootstrap, "--alter", "--entity-type", "users",
                     "--entity-name", "walpost", "--add-config",
                     f"{mechanism}=[password={password}]"),
                check=True, capture_output=True, timeout=60)
