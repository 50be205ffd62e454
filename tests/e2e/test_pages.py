"""The documents as a site, and the pages of reference that the program decides."""

import re
import shutil
import subprocess
import urllib.parse

import pytest

from harness.pages import blocks
from harness.paths import REPOSITORY, walpost_binary


@pytest.fixture(scope="module")
def site():
    """The folder of the site: a link that leads nowhere fails its build."""
    built = subprocess.run([REPOSITORY / "scripts" / "site"], text=True,
                           capture_output=True, timeout=300, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return REPOSITORY / built.stdout.strip()


def _html(site, page):
    name = "index" if page == "README.md" else page.removesuffix(".md")
    return (site / f"{name}.html").read_text()


def test_the_site_asks_no_other_host(site):
    """Links that a reader clicks on lead outside; nothing is loaded from there."""
    loaded = re.compile(r"<(?!a\s)\w+[^>]*\s(?:src|href|srcset)=\"([^\"]+)\"")
    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(files) > 40
    for file in files:
        addresses = re.findall(r"url\(['\"]?([^'\")]+)", file.read_text())
        if file.suffix == ".html":
            addresses += loaded.findall(file.read_text())
        outside = [address for address in addresses
                   if urllib.parse.urlsplit(address).netloc]
        assert not outside, file


@pytest.mark.long
def test_the_site_has_each_block_of_code_as_one(site):
    """Lists with code in them are where renderings of Markdown differ."""
    pages = {}
    for block in blocks():
        pages.setdefault(block.page, []).append(block)
    for page, expected in pages.items():
        found = re.findall(r"<pre><code[^>]*>", _html(site, page))
        assert len(found) == len(expected), f"{page}\n" + "".join(
            map(str, expected))


def test_a_link_that_leads_nowhere_fails_the_build(site, tmp_path):
    """On a copy of the pages; strictness is easily lost."""
    copy = tmp_path / "repository"
    shutil.copytree(site.parent / "pages", copy)
    shutil.copytree(REPOSITORY / "scripts", copy / "scripts")
    with open(copy / "docs" / "logs.md", "a") as page:
        page.write("\n[a](delivery.md#no-such-heading) [b](no-such-page.md)\n")
    built = subprocess.run([copy / "scripts" / "site"], text=True,
                           capture_output=True, timeout=300, check=False)
    assert built.returncode != 0
    assert "no-such-heading" in built.stderr and "no-such-page" in built.stderr


def test_the_command_line_is_that_of_the_program():
    printed = subprocess.run([REPOSITORY / "scripts" / "cli-page"], text=True,
                             env={"WALPOST_BINARY": str(walpost_binary()),
                                  "PATH": "/usr/bin:/bin", "LC_ALL": "C"},
                             capture_output=True, check=True).stdout
    assert (REPOSITORY / "docs" / "cli.md").read_text() == printed, (
        "replace it: scripts/cli-page >docs/cli.md")


def test_the_metrics_are_those_of_the_program():
    sources = "".join(path.read_text() for path in sorted(
        (REPOSITORY / "src" / "admin").glob("*.cc")))
    exported = set(re.findall(r'"(walpost_[a-z_]+)"', sources))
    page = set(re.findall(r"walpost_[a-z_]+", (
        REPOSITORY / "docs" / "metrics.md").read_text()))
    parts = {f"{name}_{part}" for name in exported if name.endswith("seconds")
             for part in ("bucket", "count")}  # of histograms, in examples
    assert len(exported) > 60 and page - parts == exported


def test_the_reason_codes_are_those_of_the_program():
    declared = set(re.findall(
        r"constexpr char k(?:Reason|Gap)\w+\[\]\s*=\s*\"([a-z0-9_]+)\"",
        "".join(path.read_text()
                for path in (REPOSITORY / "src").rglob("*.h"))))
    listed = set()
    for page in ("states.md", "gaps.md"):
        for cell in re.findall(r"(?m)^\| (`[a-z0-9_`, ]+`) \|", (
                REPOSITORY / "docs" / page).read_text()):
            listed |= set(re.findall(r"`([a-z0-9_]+)`", cell))
    assert len(declared) > 25 and declared - listed == set()
