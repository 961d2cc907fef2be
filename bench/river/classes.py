#!/usr/bin/env python3
"""kalstream's Classifier beside river's on river's own streams of classes.

    python bench/river/classes.py [--samples 10000] [--only "SEA;LED"] [--skip-forest] [--out results.json]
                                  [--picture reliability.svg] [--export DIR]

Each sample is predicted, scored, then learnt. kalstream runs with `auto` and no settings, river's models as they come: logistic
regression behind a StandardScaler (one against the rest where there are more than two classes), a Hoeffding tree and an adaptive
random forest. Log loss is −ln p of the label, p held within 1e-15 of 0 as river's CrossEntropy does. The calibration error is the
mean difference of confidence and accuracy over ten bins of confidence, over the whole stream and over what follows its first 2,000
samples. Beside the latter, what perfectly calibrated probabilities would show there by chance: the median and the 95 % quantile of
1,000 draws in which each prediction is right just as often as its confidence says.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import platform
import random
import time

import river
from river import datasets, forest, linear_model, multiclass, preprocessing, tree
from river.datasets import synth

import kalstream
from kalstream.river import Classifier


def changing(first, second, width=1000):
    """The second stream takes the place of the first, around the 5,000th sample."""
    return synth.ConceptDriftStream(first, second, position=5000, width=width, seed=1)


STREAMS = {
    "Phishing": datasets.Phishing,
    "Bananas": datasets.Bananas,
    "ImageSegments": datasets.ImageSegments,
    "SEA": lambda: synth.SEA(seed=1),
    "SEA, noise": lambda: synth.SEA(variant=2, noise=0.1, seed=2),
    "SEA, drift": lambda: changing(synth.SEA(variant=0, seed=1), synth.SEA(variant=3, seed=2)),
    "Agrawal": lambda: synth.Agrawal(seed=1),
    "Agrawal 2": lambda: synth.Agrawal(classification_function=2, seed=3),
    "Agrawal 5": lambda: synth.Agrawal(classification_function=5, seed=3),
    "Agrawal 6, perturbed": lambda: synth.Agrawal(classification_function=6, perturbation=0.1, seed=3),
    "Agrawal 9": lambda: synth.Agrawal(classification_function=9, seed=3),
    "Agrawal, drift": lambda: changing(
        synth.Agrawal(classification_function=0, seed=1), synth.Agrawal(classification_function=4, seed=2), 50
    ),
    "Hyperplane": lambda: synth.Hyperplane(seed=1),
    "Hyperplane, drift": lambda: synth.Hyperplane(
        seed=2, n_features=10, n_drift_features=5, mag_change=0.01, noise_percentage=0.05, sigma=0.1
    ),
    "LED": lambda: synth.LED(seed=1, noise_percentage=0.1, irrelevant_features=True),
    "LED, drift": lambda: synth.LEDDrift(
        seed=1, noise_percentage=0.1, irrelevant_features=True, n_drift_features=4
    ),
    "LED, drift, as it comes": lambda: synth.LEDDrift(seed=1),
    "RandomRBF": lambda: synth.RandomRBF(
        seed_model=1, seed_sample=1, n_classes=4, n_features=6, n_centroids=20
    ),
    "RandomRBF, drift": lambda: synth.RandomRBFDrift(
        seed_model=1,
        seed_sample=1,
        n_classes=3,
        n_features=5,
        n_centroids=15,
        change_speed=0.05,
        n_drift_centroids=10,
    ),
    "Sine": lambda: synth.Sine(seed=1),
    "STAGGER, drift": lambda: changing(
        synth.STAGGER(seed=1), synth.STAGGER(classification_function=2, seed=2), 50
    ),
    "Mixed, drift": lambda: changing(
        synth.Mixed(seed=1), synth.Mixed(seed=2, classification_function=1), 50
    ),
    "Waveform": lambda: synth.Waveform(seed=1),
    "RandomTree": lambda: synth.RandomTree(seed_tree=1, seed_sample=1),
}


def logistic(several):
    model = linear_model.LogisticRegression()
    return preprocessing.StandardScaler() | (multiclass.OneVsRestClassifier(model) if several else model)


MODELS = {
    "auto": lambda several: Classifier(),
    "logistic": logistic,
    "Hoeffding tree": lambda several: tree.HoeffdingTreeClassifier(),
    "adaptive forest": lambda several: forest.ARFClassifier(seed=1),
}


class Bins:
    """Ten bins of confidence: samples, the sum of confidence, and how many were right."""

    def __init__(self):
        self.bins = [[0, 0.0, 0] for _ in range(10)]
        self.confidences = []

    def add(self, confidence, right):
        self.confidences.append(confidence)
        one = self.bins[min(int(10 * confidence), 9)]
        one[0] += 1
        one[1] += confidence
        one[2] += right

    def error(self):
        count = sum(n for n, _, _ in self.bins)
        return sum(abs(sure - right) for _, sure, right in self.bins) / count if count else float("nan")

    def by_chance(self, draws=1000):
        """Quantiles of the error that perfect calibration would show with these confidences."""
        source = random.Random(1)
        errors = []
        for _ in range(draws if self.confidences else 0):
            drawn = Bins()
            for confidence in self.confidences:
                drawn.add(confidence, source.random() < confidence)
            errors.append(drawn.error())
        errors.sort()
        return {"median": errors[draws // 2], "q95": errors[draws * 95 // 100]} if errors else None


def picture(results):
    """Confidence against accuracy of auto on some of the streams, as SVG; dots are as large as bins are full."""
    shown = ["Phishing", "Bananas", "SEA, noise", "LED, drift", "RandomRBF", "Waveform"]
    colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
    size, left, top = 400, 60, 20

    def at(confidence, right):
        return left + size * confidence, top + size * (1 - right)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 480" font-family="sans-serif" font-size="13">',
        '<rect width="660" height="480" fill="white"/>',
        f'<rect x="{left}" y="{top}" width="{size}" height="{size}" fill="none" stroke="#999"/>',
        f'<line x1="{left}" y1="{top + size}" x2="{left + size}" y2="{top}" stroke="#999" stroke-dasharray="4"/>',
        f'<text x="{left + size / 2}" y="{top + size + 45}" text-anchor="middle">confidence</text>',
        f'<text x="15" y="{top + size / 2}" text-anchor="middle" transform="rotate(-90 15 {top + size / 2})">how often it was right</text>',
    ]
    for tick in (0, 0.5, 1):
        parts.append(f'<text x="{left + size * tick}" y="{top + size + 20}" text-anchor="middle">{tick}</text>')
        parts.append(f'<text x="{left - 8}" y="{top + size * (1 - tick) + 4}" text-anchor="end">{tick}</text>')
    for k, (stream, colour) in enumerate((s, c) for s, c in zip(shown, colours) if s in results):
        bins = results[stream]["auto"]["bins"]
        total = sum(n for n, _, _ in bins)
        for n, sure, right in bins:
            if n >= 20:
                x, y = at(sure / n, right / n)
                parts.append(
                    f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3 + 12 * math.sqrt(n / total):.1f}" fill="{colour}" fill-opacity="0.6"/>'
                )
        parts.append(f'<circle cx="485" cy="{40 + 24 * k}" r="6" fill="{colour}" fill-opacity="0.6"/>')
        parts.append(f'<text x="500" y="{45 + 24 * k}">{stream}</text>')
    return "\n".join(parts + ["</svg>", ""])


def shown(error):
    return "none" if math.isnan(error) else f"{error:.4f}"


def expected(late):
    return f", by chance {late['median']:.4f} to {late['q95']:.4f}" if late else ""


def scores(model, samples, chance=False):
    loss = 0.0
    right = 0
    whole, late = Bins(), Bins()
    start = time.perf_counter()
    for n, (x, y) in enumerate(samples):
        p = model.predict_proba_one(x) or {}
        loss -= math.log(max(p.get(y, 0.0), 1e-15))
        if p:
            top = max(p, key=p.get)
            right += top == y
            for bins in [whole] + [late] * (n >= 2000):
                bins.add(p[top], top == y)
        model.learn_one(x, y)
    n = len(samples)
    return {
        "log_loss": loss / n,
        "accuracy": right / n,
        "calibration": whole.error(),
        "bins": whole.bins,
        "calibration_late": late.error(),
        "by_chance": late.by_chance() if chance else None,
        "us": (time.perf_counter() - start) * 1e6 / n,
    }


def export(a):
    folder = pathlib.Path(a.export)
    folder.mkdir(parents=True, exist_ok=True)
    for stream, make in STREAMS.items():
        samples = [(dict(x), y) for x, y in make().take(a.samples)]
        numbers = {}
        with open(folder / f"{stream.replace(',', '')}.csv", "w") as file:
            file.write(",".join([*(f"x{name}" for name in samples[0][0]), "class"]) + "\n")
            for x, y in samples:
                row = [float(v) for v in x.values()] + [numbers.setdefault(y, len(numbers))]
                file.write(",".join(map(str, row)) + "\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=10000, help="of streams that have no end")
    parser.add_argument("--only", help="streams by name, with ';' between them")
    parser.add_argument("--skip-forest", action="store_true")
    parser.add_argument("--out")
    parser.add_argument("--picture", help="reliability of auto, as SVG")
    parser.add_argument("--export", help="only write the streams there, as CSV with classes as numbers")
    a = parser.parse_args()
    if a.export:
        return export(a)
    models = {name: make for name, make in MODELS.items() if not (a.skip_forest and "forest" in name)}
    print(
        f"| log loss | {' | '.join(models)} | calibration error of auto (after 2,000) | µs per sample |\n"
        f"|---|{'---|' * len(models)}---|---|"
    )
    results = {}
    for stream, make in STREAMS.items():
        if a.only and stream not in a.only.split(";"):
            continue
        samples = [(dict(x), y) for x, y in make().take(a.samples)]
        several = len({y for _, y in samples}) > 2
        row = {name: scores(model(several), samples, chance=name == "auto") for name, model in models.items()}
        results[stream] = row
        best = min(s["log_loss"] for s in row.values())
        cells = [
            f"{'**' if s['log_loss'] == best else ''}{s['log_loss']:.4f}{'**' if s['log_loss'] == best else ''}"
            for s in row.values()
        ]
        auto = row["auto"]
        times = " / ".join(f"{s['us']:,.0f}" for s in row.values())
        print(
            f"| {stream} | {' | '.join(cells)} | {auto['calibration']:.4f} ({shown(auto['calibration_late'])}{expected(auto['by_chance'])}) | {times} |",
            flush=True,
        )
    print(
        f"\nkalstream {kalstream.__version__}, river {river.__version__}, python {platform.python_version()}"
    )
    if a.picture:
        with open(a.picture, "w") as file:
            file.write(picture(results))
    if a.out:
        with open(a.out, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
