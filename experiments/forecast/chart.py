"""Error against cost, a point for each forecaster."""

import statistics

from .report import standings
from .scores import geometric_mean


def draw(results, path):
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "forecast", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    )
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(11, 4.6), sharey=False)
    for panel, key, title in zip(panels, ("1", "leads"), ("one step ahead", "12 and 24 steps ahead")):
        points = {}
        for name, entry in standings(results).items():
            if entry["us"] and entry[key]:
                points[name] = (statistics.median(entry["us"]), geometric_mean(entry[key]))
        for place, (name, (cost, error)) in enumerate(sorted(points.items(), key=lambda item: item[1][::-1])):
            mine = name == "auto" or name == "ar" or name.startswith("kalstream")
            panel.plot(
                cost,
                error,
                "o",
                color="#c0392b" if mine else "#34495e",
                markersize=8 if name == "auto" else 5,
            )
            panel.annotate(
                name,
                (cost, error),
                xytext=(5, 4 if place % 2 else -10),
                textcoords="offset points",
                fontsize=8,
            )
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.axhline(1, color="#c0392b", linewidth=0.6, linestyle=":")
        panel.set_xlabel("µs per sample")
        panel.set_ylabel("squared error / auto's (geometric mean)")
        panel.set_title(title)
        ticks = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 3, 5, 10, 20, 50]
        low, high = panel.get_ylim()
        panel.set_yticks(
            [t for t in ticks if low <= t <= high], [f"{t:g}" for t in ticks if low <= t <= high]
        )
        panel.minorticks_off()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)
