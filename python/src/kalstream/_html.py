"""What notebooks show."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._numpy import np

if TYPE_CHECKING:
    from ._evaluation import Comparison, Run
    from ._learner import Learner


def _table(rows: Sequence[tuple[str, ...]], head: tuple[str, ...] = ()) -> str:
    def line(cells: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table>{line(head, 'th') if head else ''}{body}</table>"


def _bars(weights: dict[str, float], most: int = 8) -> str:
    """The heaviest experts, each with a bar as long as it counts; a fit may count one negatively."""
    bar = '<div style="background:#4477aa;height:0.8em;width:{:.1f}em"></div>'
    rows = [
        (html.escape(name), f"{100 * weight:.1f} %", bar.format(15 * max(weight, 0)))
        for name, weight in list(weights.items())[:most]
    ]
    return _table(rows, ("expert", "counts", "")) if rows else ""


def learner(one: Learner) -> str:
    rows = [
        ("samples", f"{one.samples:,}"),
        ("inputs, outputs", f"{one.inputs}, {one.outputs}"),
        ("seed", str(one.seed)),
    ]
    if one.report is not None:
        rows.append(("last step", html.escape(one.report.status)))
    if one.coverage is not None and one.observed_coverage == one.observed_coverage:
        rows.append(("within bounds", f"{100 * one.observed_coverage:.1f} % of {100 * one.coverage:g} %"))
    settings = _table([(html.escape(k), html.escape(v)) for k, v in one.options.items()])
    return (
        f"<b>kalstream learner {html.escape(one.name)}</b>{_table(rows)}{_bars(one.weights)}"
        f"<details><summary>options</summary>{settings}</details>"
    )


def _sparkline(values: Any, width: int = 320, height: int = 48) -> str:
    """The learning curve in small, on a logarithmic scale."""
    values = np.asarray(values)
    seen = np.flatnonzero(np.isfinite(values) & (values > 0))
    if len(seen) < 2:
        return ""
    seen = seen[np.linspace(0, len(seen) - 1, min(len(seen), width)).astype(int)]
    level = np.log10(values[seen])
    low, high = float(level.min()), float(level.max())
    x = seen / max(len(values) - 1, 1) * width
    y = height - 2 - (level - low) / ((high - low) or 1.0) * (height - 4)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))
    return (
        f'<svg width="{width}" height="{height}" role="img" aria-label="error over time">'
        f'<polyline points="{points}" fill="none" stroke="#4477aa"/></svg>'
    )


def run(one: Run) -> str:
    rows = [("rows", f"{len(one.y):,}")]
    if one.classes:
        rows += [(name.replace("_", " "), f"{one.class_scores[name]:.4g}") for name in ("log_loss", "accuracy", "auc")]
    else:
        rows.append(("NSE", f"{one.nse:.4g}" + ("" if one.nse < 1 else ": no better than the mean")))
        if not np.isnan(one.knse):
            rows.append(("NSE of forecasts", f"{one.knse:.4g}"))
        rows += [("MAE", f"{one.mae:.4g}"), ("RMSE", f"{one.rmse:.4g}")]
    rows.append(("µs per row", f"{one.us_per_step:.3g}"))
    if not np.isnan(one.coverage):
        rows.append(("within bounds", f"{100 * one.coverage:.1f} %, mean width {one.width:.4g}"))
    curve = "" if one.classes else _sparkline(one.learning_curve())
    return f"<b>kalstream run</b>{_table(rows)}{curve}{_bars(one.weights)}"


def comparison(one: Comparison) -> str:
    rows = [
        (html.escape(row["learner"]), *(f"{row[name]:.4g}" for _, name in one._measures)) for row in one.summary
    ]
    return _table(rows, ("learner", *(heading for heading, _ in one._measures)))
