"""A certificate authority of the test's own, by openssl's command line."""

import datetime
import pathlib
import subprocess


class Authority:
    """Issues certificates as PEM files below `directory`."""

    def __init__(self, directory, name="walpost tests"):
        self._directory = pathlib.Path(directory)
        self._directory.mkdir(parents=True)
        self.certificate = self._directory / "ca.pem"
        self._key = self._directory / "ca.key"
        _openssl("req", "-x509", *_NEW_KEY, "-keyout", self._key,
                 "-out", self.certificate, "-days", "2", "-subj", f"/CN={name}")

    def issue(self, name, host=None, is_expired=False):
        """Returns (certificate, key) for a common name; `host` is an IP address
        that it is good for."""
        stem = self._directory / f"{name}-{host}-{is_expired}"
        key, request = stem.with_suffix(".key"), stem.with_suffix(".csr")
        certificate = stem.with_suffix(".pem")
        extensions = stem.with_suffix(".ext")
        extensions.write_text(
            f"subjectAltName = IP:{host}\n" if host else "")
        _openssl("req", *_NEW_KEY, "-keyout", key, "-out", request,
                 "-subj", f"/CN={name}")
        # The only command whose older releases take both dates.
        _openssl("ca", "-batch", "-notext",
                 "-config", self._settings(), "-cert", self.certificate,
                 "-keyfile", self._key, "-in", request, "-out", certificate,
                 "-extfile", extensions, "-startdate", _date(-2),
                 "-enddate", _date(-1 if is_expired else 2))
        return certificate, key

    def _settings(self):
        index = self._directory / "index.txt"
        index.touch()
        settings = self._directory / "ca.cnf"
        settings.write_text(
            f"[ca]\ndefault_ca = own\n[own]\ndatabase = {index}\n"
            f"new_certs_dir = {self._directory}\nunique_subject = no\n"
            "rand_serial = yes\ndefault_md = sha256\npolicy = names\n"
            "[names]\ncommonName = supplied\n")
        return settings


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes")


def _date(days):
    now = datetime.datetime.now(datetime.timezone.utc)
    return f"{now + datetime.timedelta(days=days):%Y%m%d%H%M%SZ}"


def _openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True,
                   capture_output=True)
