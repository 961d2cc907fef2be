"""The results of a comparison as a table, as JSON and as a bar chart."""

import math
import statistics
import typing
from typing import Any

if typing.TYPE_CHECKING:
    from run import Result

SIZES = {
    "A": "size A: 16 units, 9 inputs, 1617 weights",
    "B": "size B: 12 units, 33 inputs, 2173 weights",
}


def duration(seconds: float) -> str:
    us = seconds * 1e6
    return f"{us:.1f} µs" if us < 100 else f"{us:.0f} µs" if us < 1e4 else f"{us / 1e3:.1f} ms"


def factor(x: float) -> str:
    return f"{x:.2f}" if x < 10 else f"{x:.1f}" if x < 100 else f"{x:.0f}"


def percentile(values: list[float], share: float) -> float:
    """Linear between the two nearest."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def spread(values: list[float]) -> str:
    low, high = (factor(percentile(values, share)) for share in (0.05, 0.95))
    return f"{factor(statistics.median(values))} ({low}–{high})"


def table(rows: list[list[str]]) -> str:
    """A Markdown table that also reads well on a terminal."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]

    def line(row: list[str]) -> str:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        return "| " + " | ".join(cells) + " |"

    bars = ["-" * (widths[0] + 2)] + ["-" * (width + 1) + ":" for width in widths[1:]]
    return "\n".join([line(rows[0]), "|" + "|".join(bars) + "|", *map(line, rows[1:])])


def by_rule(results: list["Result"]) -> dict[str, dict[str, dict[str, "Result"]]]:
    """Rule title → peer label → size → result, in the order of measurement."""
    grouped: dict[str, dict[str, dict[str, Result]]] = {}
    for r in results:
        grouped.setdefault(r.rule.title, {}).setdefault(r.peer.label, {})[r.case[0]] = r
    return grouped


def against_jax_adam(results: list["Result"]) -> list[str]:
    """A second-order step of kalstream beside JAX's first-order one."""
    found = {(r.case, r.peer.name): r for r in results}
    lines = []
    for size in SIZES:
        own = found.get((f"{size}/alg2-gated", "kalstream"))
        for peer in ("jax", "jax-natural"):
            adam = found.get((f"{size}/adam", peer))
            if own and adam:
                values = [s / own.seconds[k] for k, s in adam.seconds.items()]
                lines.append(
                    f"- Size {size}: Adam's step in {adam.peer.label} takes {spread(values)} times"
                    " kalstream's step of Algorithm 2 as published"
                    f" ({own.updates:.1f} of 5 experts learn per row)."
                )
    return lines


def markdown(results: list["Result"], facts: dict[str, Any], rounds: int) -> str:
    versions = ", ".join(f"{name} {v}" for name, v in facts["versions"].items())
    worst = max(r.difference for r in results)
    out = [
        "# kalstream beside what people use",
        "",
        f"{facts['processor']}, one core, double precision, window 10; {facts['date']}.",
        f"Time per row: median of {rounds} interleaved rounds. Factor: the peer's time over"
        " kalstream's in the same round, median and 5–95 % range.",
        f"All peers gave the same first 50 predictions, to {worst:.0e}.",
        "",
        *(f"- {text}" for text in SIZES.values()),
        f"- {versions}",
    ]
    for title, peers in by_rule(results).items():
        rows = [[title, *(f"{size}: {text}" for size in SIZES for text in ("time", "factor"))]]
        for label, sizes in peers.items():
            cells = [(duration(r.median), spread(r.ratios)) for r in sizes.values()]
            rows.append([label, *(cell for pair in cells for cell in pair)])
        out += ["", table(rows)]
    if lines := against_jax_adam(results):
        out += ["", *lines]
    return "\n".join(out) + "\n"


def as_json(results: list["Result"], facts: dict[str, Any]) -> dict[str, Any]:
    return {
        **facts,
        "results": [
            {
                "case": r.case,
                "peer": r.peer.name,
                "label": r.peer.label,
                "difference": r.difference,
                "updates_per_row": r.updates,
                "median_seconds": r.median,
                "median_factor": statistics.median(r.ratios),
                "factor_5_95": [percentile(r.ratios, share) for share in (0.05, 0.95)],
                "seconds_by_round": r.seconds,
            }
            for r in results
        ],
    }


STYLE = """
.kalstream{font-size:12px;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.kalstream text{fill:#1f2328}
.kalstream .title{font-size:17px;font-weight:600}
.kalstream .heading{font-size:13px;font-weight:600}
.kalstream .strong{font-weight:600}
.kalstream .muted{fill:#59636e}
.kalstream .paper{fill:#ffffff}
.kalstream .grid{stroke:#e6e9ec;stroke-width:1}
.kalstream .own{fill:#0072b2}
.kalstream .other{fill:#b4bcc4}
@media (prefers-color-scheme:dark){
.kalstream text{fill:#e6edf3}
.kalstream .muted{fill:#9ba5b0}
.kalstream .paper{fill:#14181d}
.kalstream .grid{stroke:#2a3037}
.kalstream .own{fill:#4c9fe6}
.kalstream .other{fill:#56606a}
}
"""


def chart(results: list["Result"], facts: dict[str, Any]) -> str:
    """Horizontal bars on a logarithmic scale, a column for each size."""
    label_width, column, gap, note, bar = 150, 250, 20, 105, 18
    width = label_width + 2 * (column + gap) + 16
    low = 10 ** math.floor(math.log10(min(r.median for r in results)))
    high = max(r.median for r in results)
    decades = range(round(math.log10(low)), math.floor(math.log10(high)) + 1)

    def text(x: float, y: float, words: str, style: str = "", anchor: str = "start") -> str:
        return (
            f'<text x="{x:.0f}" y="{y:.0f}" class="{style}" text-anchor="{anchor}">{words}</text>'
        )

    def length(seconds: float) -> float:
        """A bar's; the rest of the column is for its label."""
        return (column - note) * math.log(seconds / low) / math.log(high / low)

    left = {size: label_width + 16 + k * (column + gap) for k, size in enumerate(SIZES)}
    bars = []
    y = 100
    for title, peers in by_rule(results).items():
        bars.append(text(16, y + 16, title, "heading"))
        y += 24
        for label, sizes in peers.items():
            own = label == "kalstream"
            bars.append(text(label_width + 8, y + 13, label, "strong" if own else "", "end"))
            for size, r in sizes.items():
                end = max(length(r.median), 1)
                words = duration(r.median)
                if not own:
                    words += f" · {factor(statistics.median(r.ratios))}×"
                bars.append(
                    f'<rect x="{left[size]}" y="{y + 2}" width="{end:.1f}" height="{bar - 4}" '
                    f'rx="2" class="{"own" if own else "other"}"/>'
                )
                style = "strong" if own else "muted"
                bars.append(text(left[size] + end + 5, y + 13, words, style))
            y += bar
        y += 10
    bottom = y
    frame = []
    for size, words in SIZES.items():
        frame.append(text(left[size], 74, words, "muted"))
        for decade in decades:
            x = left[size] + length(10.0**decade)
            frame.append(f'<line x1="{x:.1f}" y1="96" x2="{x:.1f}" y2="{bottom}" class="grid"/>')
            unit = f"{10 ** (decade + 6)} µs" if decade < -3 else f"{10 ** (decade + 3)} ms"
            frame.append(text(x, 91, unit, "muted", "middle"))
    subtitle = f"one core of {facts['processor']}, double precision; factors: times kalstream"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="kalstream" role="img" '
            f'viewBox="0 0 {width} {bottom + 12}" width="{width}" height="{bottom + 12}">',
            "<title>Time per row, kalstream and others</title>",
            "<desc>Horizontal bars on a logarithmic scale, one per peer, rule and size</desc>",
            f"<style>{STYLE}</style>",
            f'<rect width="{width}" height="{bottom + 12}" class="paper"/>',
            text(16, 29, "Time per row, logarithmic", "title"),
            text(16, 48, subtitle, "muted"),
            *frame,
            *bars,
            "</svg>\n",
        ]
    )
