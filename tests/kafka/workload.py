"""Records for a fleet: readings of many devices, and all that goes wrong with them in practice."""

import json
import math
import random

LATE = 12  # labels come up to so many records of their device later; --max-delay is a little more

# What every worker and the reference are told: the same learner and the same fields
LEARNING = ["--learner", "alg1", "--hidden", "8", "--interval", "0.9", "--max-delay", "16"]
FIELDS = ["--key", "device", "--inputs", "a,b,c", "--target", "target", "--time", "none"]

POISON = [
    b"not JSON at all",
    b"\xff\xfe\x00 bytes",
    b'{"device":',
    b'{"a":1,"b":2,"c":3,"target":4}',
    b'["device",1,2]',
    b'{"device":"DEVICE","id":"p","a":"hot","b":1,"c":1,"target":1}',
    b'{"device":"DEVICE","id":"p","a":1e200,"b":1,"c":1,"target":1}',
    b'{"device":"DEVICE","id":"p","a":1,"c":1,"target":1}',
]


class Device:
    def __init__(self, name, source):
        self.name, self.source = name, source
        self.slope = source.uniform(-1, 1)
        self.comes_late = source.random() < 0.4  # its labels are records of their own
        self.count = 0
        self.unlabelled = []

    def reading(self):
        """Its next sample, or the label of an earlier one."""
        source = self.source
        if self.unlabelled and (len(self.unlabelled) >= LATE or source.random() < 0.45):
            return self._label()
        self.count += 1
        a, b, c = (round(source.gauss(0, 1), 6) for _ in range(3))
        target = round(20 + self.slope * math.sin(a + b) + 0.5 * b * c + 0.1 * source.gauss(0, 1), 6)
        sample = {"device": self.name, "id": self.count, "a": a, "b": b, "c": c}
        if self.comes_late:
            self.unlabelled.append((self.count, target))
        elif source.random() < 0.95:
            sample["target"] = target
        return sample

    def _label(self):
        """Mostly the oldest that is missing, sometimes another, sometimes twice, sometimes never."""
        source = self.source
        place = 0 if source.random() < 0.7 else source.randrange(len(self.unlabelled))
        number, target = self.unlabelled[place]
        if source.random() < 0.9:
            del self.unlabelled[place]
        if source.random() < 0.03:
            self.unlabelled = self.unlabelled[1:]
        return {"device": self.name, "id": number, "target": target}


def records(count, keys, seed):
    """`count` of them as (message key, value), bytes or None."""
    source = random.Random(seed)
    devices = [Device(f"d{k:03d}", random.Random(f"{seed}/{k}")) for k in range(keys)]
    for _ in range(count):
        device = devices[min(int(source.expovariate(3 / keys)), keys - 1)]  # few send much, many send little
        chance = source.random()
        if chance < 0.002:
            yield device.name.encode(), None  # a tombstone: its model is forgotten
        elif chance < 0.005:
            yield device.name.encode(), source.choice(POISON).replace(b"DEVICE", device.name.encode())
        elif chance < 0.008:
            yield device.name.encode(), json.dumps({"device": device.name, "id": "never", "target": 1}).encode()
        elif chance < 0.011:
            ghost = f"ghost{source.randrange(9)}"
            yield ghost.encode(), json.dumps({"device": ghost, "id": 1, "target": 1}).encode()
        elif chance < 0.012:
            yield None, json.dumps(device.reading()).encode()  # without a key nobody knows where it belongs
        else:
            yield device.name.encode(), json.dumps(device.reading()).encode()
