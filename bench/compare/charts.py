"""Bar charts as SVG, by hand: one file each, for light and dark backgrounds.

Pure: text in, text out. A bar is a median; the thin line over it runs from the
least to the greatest of the repetitions. Of fewer than five repetitions each has
a tick instead, and its value beside the bar.
"""

import dataclasses
import math
from xml.sax.saxutils import escape

WIDTH = 860
_LABELS = 250     # pixels left of the bars
_LABEL_LETTERS = 35  # that surely fit there
_NUMBERS = 250    # and right of them
_BAR = 20
_GAP = 10
_TOP = 64
_BARS = WIDTH - _LABELS - _NUMBERS

STYLE = """\
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
.title { font-size: 17px; font-weight: 600 }
.note, .void { fill: #59636e }
.label { text-anchor: end }
.bar { fill: #8c959f } .ours { fill: #1a7f5a } .ceiling { fill: #d0d7de }
.range { stroke: #1f2328; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .note, .void { fill: #9198a1 }
  .bar { fill: #6e7681 } .ours { fill: #2ea079 } .ceiling { fill: #3d444d }
  .range { stroke: #e6edf3 }
}
"""


@dataclasses.dataclass(frozen=True)
class Bar:
    """`kind` is "ours", "bar" or "ceiling"; `spread` may be empty (void)."""

    label: str
    spread: object
    kind: str = "bar"


def bar_chart(title, note, bars, unit, logarithmic=False):
    """The SVG. Bars are drawn in the order given."""
    scale = _Scale(bars, logarithmic)
    height = _TOP + len(bars) * (_BAR + _GAP) + 8
    body = [text(16, 26, title, "title"), text(16, 46, note, "note")]
    for number, bar in enumerate(bars):
        body += _drawn(bar, _TOP + number * (_BAR + _GAP), scale, unit)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
            f'height="{height}" viewBox="0 0 {WIDTH} {height}" role="img" '
            f'aria-label="{attribute(title)}">\n<style>\n{STYLE}</style>\n'
            + "\n".join(body) + "\n</svg>\n")


class _Scale:
    """From a value to a length in pixels."""

    def __init__(self, bars, logarithmic):
        known = [bar.spread for bar in bars if bar.spread]
        self._logarithmic = logarithmic
        self._high = max((spread.high for spread in known), default=1) or 1
        low = min((spread.low for spread in known if spread.low > 0),
                  default=1)
        # A power of ten below the least value, so that it has a bar, too.
        self._low = 10 ** math.floor(math.log10(low) - 0.3)

    def length(self, value):
        if not self._logarithmic:
            return _BARS * value / self._high
        if value <= self._low:
            return 0.0
        return (_BARS * math.log(value / self._low)
                / math.log(self._high / self._low))


def _drawn(bar, top, scale, unit):
    middle = top + _BAR / 2
    label = text(_LABELS - 10, middle + 5, bar.label, "label",
                  _LABELS - 20 if len(bar.label) > _LABEL_LETTERS else None)
    if not bar.spread:
        return [label, text(_LABELS + 4, middle + 5, "void", "void")]
    length = scale.length(bar.spread.median)
    low, high = (_LABELS + scale.length(value)
                 for value in (bar.spread.low, bar.spread.high))
    lines = [label, f'<rect class="{bar.kind}" x="{_LABELS}" y="{top}" '
                    f'width="{max(length, 1):.1f}" height="{_BAR}" rx="2"/>']
    if high - low >= 1:
        lines += _marks(bar.spread, scale, middle)
    end = max(_LABELS + length, high)
    lines.append(text(end + 8, middle + 5,
                       f"{bar.spread.middle()} {unit}".strip(), "value"))
    return lines


def _marks(spread, scale, middle):
    """The range around a median, or each value."""
    if spread.has_median:
        return [_line(_LABELS + scale.length(spread.low), middle,
                      _LABELS + scale.length(spread.high), middle)]
    return [_line(x, middle - _BAR / 4, x, middle + _BAR / 4)
            for x in (_LABELS + scale.length(value) for value in spread.values)]


def _line(x1, y1, x2, y2):
    return (f'<line class="range" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1}" '
            f'y2="{y2}"/>')


def text(x, y, words, kind, width=None):
    squeezed = "" if width is None else (
        f' textLength="{width}" lengthAdjust="spacingAndGlyphs"')
    return (f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{squeezed}>'
            f"{escape(words)}</text>")


def attribute(words):
    return escape(words, {'"': "&quot;"})
