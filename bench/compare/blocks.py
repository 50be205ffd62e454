"""Parts of pages that a report writes, between two comments:

    <!-- KIND: NAME -->

    ...

    <!-- end of KIND -->

Pure.
"""

import re


def block_names(page, kind):
    """Those that the text of a page has."""
    return [found[2] for found in _blocks(kind).finditer(page)]


def rewritten(page, kind, text_of):
    """The text of a page with `text_of(name)` in its blocks of this kind."""
    return _blocks(kind).sub(
        lambda found: f"{found[1]}\n{text_of(found[2])}\n{found[3]}", page)


def _blocks(kind):
    return re.compile(
        rf"(<!-- {kind}: ([\w-]+) -->\n).*?(<!-- end of {kind} -->)", re.S)
