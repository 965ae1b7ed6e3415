"""Bars with their spread, as plain SVG: one picture per group of figures, drawn without a library.

A bar is the median, its line goes from the least sample to the greatest, and the dots are the samples.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

WIDTH, ROW, LEFT, RIGHT, TOP = 720, 34, 190, 120, 34
COLOURS = {"direct": "#8d99ae", "nginx": "#b5c99a", "sidecar": "#2a6f97", "gateway": "#6a4c93"}
PLAIN = "#2a6f97"


def bars(title: str, unit: str, rows: Mapping[str, Sequence[float]]) -> str:
    """An SVG document with a bar for each row."""
    height = TOP + ROW * len(rows) + 10
    most = max((max(samples) for samples in rows.values() if samples), default=0) or 1
    scale = (WIDTH - LEFT - RIGHT) / most
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="22" font-weight="bold">{escape(f"{title} ({unit})")}</text>',
    ]
    for index, (name, samples) in enumerate(rows.items()):
        drawn += _bar(name, [max(0.0, value) for value in samples], TOP + ROW * index, scale)
    return "\n".join([*drawn, "</svg>", ""])


def _bar(name: str, samples: Sequence[float], top: int, scale: float) -> list[str]:
    middle, median = top + ROW // 2, statistics.median(samples)
    least, greatest = (LEFT + value * scale for value in (min(samples), max(samples)))
    colour = COLOURS.get(name, PLAIN)
    return [
        f'<text x="{LEFT - 10}" y="{middle + 4}" text-anchor="end">{escape(name)}</text>',
        f'<rect x="{LEFT}" y="{top + 7}" width="{median * scale:.1f}" height="{ROW - 14}" fill="{colour}"/>',
        f'<line x1="{least:.1f}" y1="{middle}" x2="{greatest:.1f}" y2="{middle}" stroke="#222222"/>',
        *(
            f'<circle cx="{LEFT + value * scale:.1f}" cy="{middle}" r="2.5" fill="#ffffff" stroke="#222222"/>'
            for value in samples
        ),
        f'<text x="{max(greatest, LEFT + median * scale) + 8:.1f}" y="{middle + 4}">{number(median)}</text>',
    ]


def number(value: float) -> str:
    """As many digits as a reader needs."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}"
