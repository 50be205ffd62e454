"""Curves as SVG, by hand, in the style of the bar charts.

Pure: text in, text out. A point is the middle of the repetitions; the thin line
over it runs from the least to the greatest.
"""

import dataclasses
import math

from compare.charts import STYLE, WIDTH, attribute, text

_LEFT, _RIGHT = 90, 190  # pixels beside the drawing
_TOP, _HEIGHT, _BELOW = 70, 240, 52
_LEGEND = 24  # pixels from line to line
_STEPS = (1, 2, 2.5, 5, 10)
_LINES = 4  # across, about

_CURVES = """\
.axis { stroke: #d0d7de } .curve { fill: none; stroke-width: 2 }
.range { stroke-width: 1.5 } .tick { text-anchor: middle } .scale { text-anchor: end }
.c0 { stroke: #1a7f5a; fill: #1a7f5a } .c1 { stroke: #8250df; fill: #8250df }
.c2 { stroke: #bc4c00; fill: #bc4c00 } .c3 { stroke: #0969da; fill: #0969da }
.c0.curve, .c1.curve, .c2.curve, .c3.curve { fill: none }
@media (prefers-color-scheme: dark) { .axis { stroke: #3d444d } }
"""
COLOURS = 4


@dataclasses.dataclass(frozen=True)
class Curve:
    """`points`: (x, Spread) in the order of x, which is above zero."""

    label: str
    points: tuple


def curve_chart(title, note, curves, x_title):
    """The SVG, at most COLOURS curves; x is logarithmic, y begins at zero."""
    scale = _Scale(curves)
    height = _TOP + _HEIGHT + _BELOW
    body = [text(16, 26, title, "title"), text(16, 46, note, "note"),
            *_axes(scale, x_title)]
    for number, curve in enumerate(curves):
        body += _drawn(curve, scale, number)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
            f'height="{height}" viewBox="0 0 {WIDTH} {height}" role="img" '
            f'aria-label="{attribute(title)}">\n<style>\n{STYLE}{_CURVES}'
            "</style>\n" + "\n".join(body) + "\n</svg>\n")


class _Scale:
    """From values to pixels."""

    def __init__(self, curves):
        points = [point for curve in curves for point in curve.points]
        self.xs = sorted({x for x, _ in points})
        most = max(spread.high for _, spread in points)
        power = 10 ** math.floor(math.log10(most / _LINES))
        self.step = next(step * power for step in _STEPS
                         if step * power * _LINES >= most * 0.999)
        self._top = self.step * math.ceil(most / self.step)
        self.ys = [number * self.step
                   for number in range(round(self._top / self.step) + 1)]

    def x(self, value):
        low, high = self.xs[0], self.xs[-1]
        share = (math.log(value / low) / math.log(high / low)
                 if high > low else 0.5)
        return _LEFT + share * (WIDTH - _LEFT - _RIGHT)

    def y(self, value):
        return _TOP + _HEIGHT * (1 - value / self._top)


def _axes(scale, x_title):
    drawn = []
    for value in scale.ys:
        y = scale.y(value)
        drawn.append(_line("axis", _LEFT, y, WIDTH - _RIGHT, y))
        drawn.append(text(_LEFT - 8, y + 5, f"{value:,.0f}", "scale"))
    for value in scale.xs:
        drawn.append(text(scale.x(value), _TOP + _HEIGHT + 20, f"{value:,}",
                          "tick"))
    drawn.append(text((_LEFT + WIDTH - _RIGHT) / 2, _TOP + _HEIGHT + 42,
                      x_title, "tick"))
    return drawn


def _drawn(curve, scale, number):
    kind = f"c{number}"
    places = [(scale.x(x), scale.y(spread.median)) for x, spread in curve.points]
    drawn = ['<polyline class="curve {}" points="{}"/>'.format(
        kind, " ".join(f"{x:.1f},{y:.1f}" for x, y in places))]
    for (x, y), (_, spread) in zip(places, curve.points):
        drawn.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>')
        drawn.append(_line(f"range {kind}", x, scale.y(spread.low), x,
                           scale.y(spread.high)))
    x, y = WIDTH - _RIGHT + 24, _TOP + number * _LEGEND
    drawn.append(f'<circle class="{kind}" cx="{x}" cy="{y}" r="4"/>')
    drawn.append(text(x + 12, y + 5, curve.label, "value"))
    return drawn


def _line(kind, x1, y1, x2, y2):
    return (f'<line class="{kind}" x1="{x1:.1f}" x2="{x2:.1f}" '
            f'y1="{y1:.1f}" y2="{y2:.1f}"/>')
