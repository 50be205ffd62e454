"""Hook of MkDocs: lists as the pages of a forge show them.

There the content of a list item is indented by the width of its mark. Python-
Markdown wants four spaces, a blank line before a list, and code in an item without
fences.
"""

import re

_ITEM = re.compile(r"(?:\d+\.|-) ")
_ITEM_WIDTH = 4
_CODE_WIDTH = 4


def on_page_markdown(markdown, **_):
    lines, width, fence = [], 0, None
    for line in markdown.splitlines():
        item = _ITEM.match(line)
        if fence is not None:
            if line.strip() == "```":
                fence, line = None, ""
            else:
                line = " " * (_ITEM_WIDTH + _CODE_WIDTH) + line[fence:]
        elif line.startswith("```"):
            width = 0
        elif width and line.startswith(" " * width + "```"):
            fence = width
            line = ""
        elif item:
            if not width and lines and lines[-1]:
                lines.append("")
            width = len(item[0])
            line = item[0].ljust(_ITEM_WIDTH) + line[width:]
        elif width and line.startswith(" " * width):
            line = " " * (_ITEM_WIDTH - width) + line
        elif line:
            width = 0
        lines.append(line)
    return "\n".join(lines) + "\n"
