"""A program that prints signed tokens: a kafka.token_command."""

import base64
import json
import pathlib
import subprocess

_AUDIENCE = "kafka"
_ISSUER = "https://signer.example.com"

# Reads its settings for each token, signs with RS256, and counts its runs.
_PROGRAM = """\
import base64, json, pathlib, subprocess, sys, time
folder = pathlib.Path(sys.argv[1])
with open(folder / "runs", "a") as runs:
    runs.write(".")
settings = json.loads((folder / "settings.json").read_text())
time.sleep(settings["sleep"])
if settings["failure"]:
    sys.exit(settings["failure"])
now = int(time.time())
part = lambda data: base64.urlsafe_b64encode(data).decode().rstrip("=")
text = lambda value: part(json.dumps(value).encode())
signed = text({"alg": "RS256", "kid": "1"}) + "." + text(
    {"iat": now, "exp": now + settings["lifetime"], **settings["claims"]})
signature = subprocess.run(
    ["openssl", "dgst", "-sha256", "-sign", folder / settings["key"]],
    input=signed.encode(), capture_output=True, check=True).stdout
token = signed + "." + part(signature)
with open(folder / "tokens", "a") as tokens:
    tokens.write(token + "\\n")
print(json.dumps({"access_token": token}, indent=1)
      if settings["as_json"] else token)
"""


class TokenSigner:
    """Signs JSON web tokens below `directory`, in which the brokers find the key
    to check them with.

    change() says what the next tokens are like.
    """

    def __init__(self, directory):
        self._directory = pathlib.Path(directory)
        self._directory.mkdir(parents=True)
        (self._directory / "sign.py").write_text(_PROGRAM)
        for name in ("key", "another-key"):
            _openssl("genpkey", "-algorithm", "RSA", "-out",
                     self._directory / name)
        self._keys = self._directory / "keys.json"
        self._keys.write_text(json.dumps({"keys": [self._public_key()]}))
        self.reset()

    @property
    def command(self):
        return ["/usr/bin/python3", "-B", str(self._directory / "sign.py"),
                str(self._directory)]

    @property
    def runs(self):
        """How often the program was run."""
        return len(self._text("runs"))

    @property
    def tokens(self):
        """Those that it has printed."""
        return self._text("tokens").split()

    def reset(self):
        """Tokens of ten minutes that the brokers accept."""
        self._settings = {
            "lifetime": 600, "failure": "", "sleep": 0, "as_json": False,
            "key": "key", "claims": {"sub": "walpost", "aud": _AUDIENCE,
                                     "iss": _ISSUER}}
        self.change()

    def change(self, claims=None, **settings):
        self._settings |= settings
        self._settings["claims"] |= claims or {}
        path = self._directory / "settings.json"
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(self._settings))
        fresh.rename(path)

    def broker(self, listener, max_reauth_millis=3_600_000):
        """(properties, options of the JVM) of a broker that takes these tokens
        on a listener, and no others."""
        prefix = f"listener.name.{listener}.oauthbearer."
        url = self._keys.as_uri()
        validator = ("org.apache.kafka.common.security.oauthbearer."
                     "OAuthBearerValidatorCallbackHandler")
        return {
            prefix + "sasl.server.callback.handler.class": validator,
            prefix + "connections.max.reauth.ms": max_reauth_millis,
            "sasl.oauthbearer.jwks.endpoint.url": url,
            "sasl.oauthbearer.expected.audience": _AUDIENCE,
            "sasl.oauthbearer.expected.issuer": _ISSUER,
        }, [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={url}"]

    def _public_key(self):
        shown = _openssl("rsa", "-in", self._directory / "key", "-noout",
                         "-modulus").decode()
        modulus = bytes.fromhex(shown.strip().partition("=")[2])
        return {"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig",
                "n": base64.urlsafe_b64encode(modulus).decode().rstrip("="),
                "e": "AQAB"}

    def _text(self, name):
        path = self._directory / name
        return path.read_text() if path.exists() else ""


def _openssl(*words):
    return subprocess.run(["openssl", *map(str, words)], check=True,
                          capture_output=True, timeout=60).stdout
