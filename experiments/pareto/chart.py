"""Two panels, error against time and against memory: a point for each model, its name, and the front."""

import math

from pareto.labels import Box, place

STYLE = """
.pareto{font-size:12px;font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.pareto text{fill:#1f2328}
.pareto .title{font-size:15px;font-weight:600}
.pareto .name{font-size:11px}
.pareto .muted{fill:#59636e}
.pareto .paper{fill:#ffffff}
.pareto .grid{stroke:#e6e9ec}
.pareto .leader{stroke:#8b949e;stroke-width:.7}
.pareto .front{stroke:#59636e;stroke-width:1.4;stroke-dasharray:5 3;fill:none}
.pareto .family0{fill:#0072b2}
.pareto .family1{fill:#56b4e9}
.pareto .family2{fill:#d55e00}
.pareto .family3{fill:#009e73}
@media (prefers-color-scheme:dark){
.pareto text{fill:#e6edf3}
.pareto .muted{fill:#9ba5b0}
.pareto .paper{fill:#14181d}
.pareto .grid{stroke:#2a3037}
.pareto .front{stroke:#9ba5b0}
.pareto .family0{fill:#4c9fe6}
.pareto .family1{fill:#9ed3f5}
.pareto .family2{fill:#ff9d5c}
.pareto .family3{fill:#4cc9a0}
}
"""
LEFT, WIDTH, HEIGHT, GAP, TOP = 64, 820, 440, 86, 62
LETTER, LINE = 5.9, 13  # of a name: a letter's width, a line's height
RADIUS = 4.5


def front(points):
    """Names of those that no other beats in cost and error, cheapest first."""
    best, names = math.inf, []
    for name, (_, error) in sorted(points.items(), key=lambda item: item[1]):
        if error < best:
            best = error
            names.append(name)
    return names


def ticks(low, high):
    """1, 2 and 5 times powers of ten; powers of ten alone where there are many."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(decades) < 4 else (1,)
    return [s * 10.0**d for d in decades for s in steps if low <= s * 10.0**d <= high]


def micros(value):
    return f"{value:g} µs" if value < 1e3 else f"{value / 1e3:g} ms" if value < 1e6 else f"{value / 1e6:g} s"


def size(value):
    units = ("B", "KiB", "MiB", "GiB")
    power = min(int(math.log(max(value, 1), 1024)), len(units) - 1)
    return f"{value / 1024**power:.3g} {units[power]}"


def text(x, y, words, style="", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}">{words}</text>'


def panel(top, points, title, unit, families, marks):
    """The SVG of one panel; points: name → (cost, error); marks: the values that the axis of costs names."""
    costs, errors = zip(*points.values())
    low, high = min(costs) / 1.9, max(costs) * 2.2
    least, most = min(errors) / 1.12, max(errors) * 1.15

    def across(cost):
        return LEFT + WIDTH * math.log(cost / low) / math.log(high / low)

    def down(error):
        return top + HEIGHT * math.log(most / error) / math.log(most / least)

    out = [text(LEFT, top - 12, title, "title")]
    for mark in marks(low, high):
        x = across(mark)
        out.append(f'<path d="M{x:.1f} {top}V{top + HEIGHT}" class="grid"/>')
        out.append(text(x, top + HEIGHT + 17, unit(mark), "muted", "middle"))
    for mark in ticks(least, most):
        y = down(mark)
        out.append(f'<path d="M{LEFT} {y:.1f}H{LEFT + WIDTH}" class="grid"/>')
        out.append(text(LEFT - 8, y + 4, f"{mark:g}", "muted", "end"))

    spots = {name: (across(cost), down(error)) for name, (cost, error) in points.items()}
    best = front(points)
    corners = [(spots[best[0]][0], top), spots[best[0]]]
    for name in best[1:]:
        corners += [(spots[name][0], corners[-1][1]), spots[name]]
    corners.append((LEFT + WIDTH, corners[-1][1]))
    out.append('<path d="M' + "L".join(f"{x:.1f} {y:.1f}" for x, y in corners) + '" class="front"/>')
    lines = [Box(min(a, c) - 1, min(b, d) - 1, max(a, c) + 1, max(b, d) + 1)
             for (a, b), (c, d) in zip(corners, corners[1:])]  # fmt: skip

    inside = Box(LEFT + 2, top + 2, LEFT + WIDTH - 2, top + HEIGHT - 2)
    sizes = {name: (LETTER * len(name) + 2, LINE) for name in points}
    marks_drawn, names_drawn = [], []
    for name, box in place(spots, sizes, RADIUS, inside, lines).items():
        x, y = spots[name]
        nearest = (min(max(x, box.left), box.right), min(max(y, box.top), box.bottom))
        if math.dist((x, y), nearest) > 2.2 * RADIUS:
            out.append(f'<path d="M{x:.1f} {y:.1f}L{nearest[0]:.1f} {nearest[1]:.1f}" class="leader"/>')
        marks_drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" class="family{families[name]}"/>')
        names_drawn.append(text(box.left + 1, box.bottom - 3, name, "name"))
    return out + marks_drawn + names_drawn


def draw(results, family, subtitle):
    """results: name → {"nse", "us", "bytes"}; family: name → which one it is of."""
    kinds = list(dict.fromkeys(family[name] for name in results))
    families = {name: kinds.index(family[name]) for name in results}
    width, height = LEFT + WIDTH + 16, TOP + 2 * HEIGHT + GAP + 62
    body = [text(16, 24, "Error (geometric mean of NSE) against cost, both logarithmic", "title")]
    x = 16
    for k, kind in enumerate(kinds):
        body.append(f'<circle cx="{x + 5}" cy="{height - 31}" r="{RADIUS}" class="family{k}"/>')
        body.append(text(x + 15, height - 27, kind))
        x += 40 + 6.6 * len(kind)
    body.append(f'<path d="M{x} {height - 31}h26" class="front"/>')
    body.append(text(x + 34, height - 27, "no other is better in both"))
    body.append(text(16, height - 9, subtitle, "muted"))

    def panel_of(k, key, title, unit, marks):
        points = {name: (r[key], r["nse"]) for name, r in results.items()}
        return panel(TOP + k * (HEIGHT + GAP), points, title, unit, families, marks)

    def bytes_marks(low, high):
        return [1024.0 * 4**k for k in range(-3, 12) if low <= 1024 * 4**k <= high]

    body += panel_of(0, "us", "Processor time per sample", micros, ticks)
    body += panel_of(1, "bytes", "Memory of a model", size, bytes_marks)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="pareto" role="img" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}">',
            "<title>Error against time and memory, kalstream and others</title>",
            "<desc>Two panels with a point for each model; below and to the left is better</desc>",
            f"<style>{STYLE}</style>",
            f'<rect width="{width}" height="{height}" class="paper"/>',
            *body,
            "</svg>\n",
        ]
    )
