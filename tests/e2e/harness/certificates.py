"""A certificate authority of the test's own, by openssl's command line."""

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

    def issue(self, name, host=None, days=2):
        """Returns (certificate, key) for a common name; `host` is an IP address
        that it is good for."""
        stem = self._directory / f"{name}-{host}-{days}"
        key, request = stem.with_suffix(".key"), stem.with_suffix(".csr")
        certificate = stem.with_suffix(".pem")
        extensions = stem.with_suffix(".ext")
        extensions.write_text(
            f"subjectAltName = IP:{host}\n" if host else "")
        _openssl("req", *_NEW_KEY, "-keyout", key, "-out", request,
                 "-subj", f"/CN={name}")
        _openssl("x509", "-req", "-in", request, "-CA", self.certificate,
                 "-CAkey", self._key, "-CAcreateserial", "-days", str(days),
                 "-extfile", extensions, "-out", certificate)
        return certificate, key


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes")


def _openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True,
                   capture_output=True)
