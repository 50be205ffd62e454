"""An OAuth token endpoint of the test's own."""

import base64
import http.server
import json
import threading
import time

from harness.ports import free_port


class TokenEndpoint:
    """Gives tokens for client credentials (RFC 6749, 4.4): to `walpost`, who
    knows `secret`. Such a token is good for `lifetime` seconds.

    The tokens are JSON web tokens without a signature, which a broker with
    OAuthBearerUnsecuredValidatorCallbackHandler takes.
    """

    def __init__(self, secret, lifetime=3600):
        self.secret = secret
        self.lifetime = lifetime
        self.given = []  # the tokens
        self.is_held = False  # gives no answer meanwhile
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}/token"
        self._server = None

    def start(self):
        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", self._port), self._handler())
        threading.Thread(target=self._server.serve_forever, args=(0.05,),
                         daemon=True).start()
        return self

    def stop(self):
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def properties(self, secret=None):
        """Of kafka.properties."""
        return {"sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": "walpost",
                "sasl.oauthbearer.client.secret": secret or self.secret,
                "sasl.oauthbearer.token.endpoint.url": self.url}

    def _handler(self):
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                self.rfile.read(int(self.headers["Content-Length"]))
                while endpoint.is_held:
                    time.sleep(0.05)
                expected = base64.b64encode(
                    f"walpost:{endpoint.secret}".encode()).decode()
                if self.headers["Authorization"] == f"Basic {expected}":
                    self._answer(200, {"access_token": endpoint.make_token(),
                                       "token_type": "Bearer",
                                       "expires_in": endpoint.lifetime})
                else:
                    self._answer(401, {"error": "invalid_client"})

            def _answer(self, code, answer):
                body = json.dumps(answer).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler

    def make_token(self):
        now = int(time.time())
        token = ".".join((
            _encoded({"alg": "none"}),
            _encoded({"sub": "walpost", "iat": now, "exp": now + self.lifetime,
                      "jti": str(len(self.given))}), ""))
        self.given.append(token)
        return token


def _encoded(value):
    return base64.urlsafe_b64encode(
        json.dumps(value).encode()).decode().rstrip("=")
