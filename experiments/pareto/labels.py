"""Names beside points, so that none lies on another or on a point."""

import math
from typing import NamedTuple


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def common(self, other):
        """The area both cover."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return across * down if across > 0 and down > 0 else 0.0

    def holds(self, other):
        return (self.left <= other.left and self.top <= other.top
                and self.right >= other.right and self.bottom >= other.bottom)  # fmt: skip


def around(spot, size, radius):
    """Places for a name near its point, the nearest first: (how far off, box)."""
    (x, y), (width, height) = spot, size
    for gap in (3, 9, 16, 25, 36, 50, 66, 84):
        for turn in range(24):
            angle = 2 * math.pi * turn / 24
            dx, dy = math.cos(angle), math.sin(angle)
            far = radius + gap
            middle = (x + dx * (far + width / 2), y + dy * (far + height / 2))
            corner = (middle[0] - width / 2, middle[1] - height / 2)
            yield gap, Box(*corner, corner[0] + width, corner[1] + height)


def place(spots, sizes, radius, inside, lines):
    """name → the box of its label. Each in turn takes the place where it is least in the way of others, of points and
    of lines, which are thin boxes; again until none moves."""
    points = {name: Box(x - radius, y - radius, x + radius, y + radius) for name, (x, y) in spots.items()}
    candidates = {
        name: [(gap, box) for gap, box in around(spots[name], sizes[name], radius) if inside.holds(box)]
        for name in spots
    }
    placed = {}
    for _ in range(20):
        before = dict(placed)
        for name in spots:
            others = [box for other, box in placed.items() if other != name]

            def cost(candidate, obstacles=(*others, *points.values(), *lines)):
                gap, box = candidate
                return gap + 10 * sum(box.common(o) for o in obstacles)

            placed[name] = min(candidates[name], key=cost)[1]
        if placed == before:
            break
    return placed
