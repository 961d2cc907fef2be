"""Whether a fleet did what an unbroken `kalstream stream` does: every input one answer, equal to the bit."""

import collections
import json
import re
import subprocess
import tempfile

PLACE = re.compile(r"^[^ ]*(?: [^ ]*)?:\d+: ")  # where a refused line was: "standard input:17: "


class Wrong(Exception):
    """What a fleet did is not what it should have done."""


def life_of(name, number):
    """A model after its n-th tombstone is another one: in the reference it has a name of its own."""
    return name if number == 0 else f"{name}~{number}"


def expected(program, options, inputs):
    """The answer to each input: {(partition, offset): line}, None for those that have no counterpart in a stream."""
    lives = collections.Counter()
    lines, places, answers = [], [], {}
    for message in inputs:
        place = (message.partition, message.offset)
        if message.key is None:
            answers[place] = None
            continue
        name = message.key.decode()
        if message.value is None:
            lives[name] += 1
            answers[place] = json.dumps({"key": name, "status": "forgotten"}, separators=(",", ":"))
            continue
        there, here = f'"device": "{name}"'.encode(), f'"device": "{life_of(name, lives[name])}"'.encode()
        lines.append(message.value.replace(there, here))
        places.append((place, name, life_of(name, lives[name])))
    # A sample first, so that a label or something poisonous is not what settles the fields
    lines.insert(0, b'{"device":"none of them","id":0,"a":0.5,"b":0.5,"c":0.5,"target":20}')
    command = [program, "stream", "--quiet", "--format", "jsonl", "--max-models", "1000000", *options]
    done = subprocess.run(command, input=b"\n".join(lines) + b"\n", stdout=subprocess.PIPE, check=True)
    found = done.stdout.decode().splitlines()[1:]
    if len(found) != len(places):
        raise Wrong(f"the reference gave {len(found)} answers to {len(places)} lines")
    for (place, name, life), line in zip(places, found):
        answers[place] = line.replace(f'"key":"{life}"', f'"key":"{name}"')
    return answers


def plain(line):
    """An answer without the place of what was refused, and without the reason for what is no JSON object, which a stream
    and a fleet tell in their own ways."""
    answer = json.loads(line)
    if answer.get("status") != "refused":
        return line
    if "JSON" in answer["error"] or "objects and arrays" in answer["error"]:
        return "no JSON object"
    return json.dumps({"status": "refused", "error": PLACE.sub("", answer["error"])})


def check_answers(inputs, outputs, wanted):
    """Every input has one committed answer, in its partition, under its key, in order, and it is the right one."""
    given = {}
    last = collections.defaultdict(lambda: -1)
    keys = {(message.partition, message.offset): message.key for message in inputs}
    for message in outputs:
        partition, offset = (int(part) for part in message.headers["kalstream-input"].split(":"))
        place = (partition, offset)
        if place not in keys:
            raise Wrong(f"an answer to {place}, which is no input: {message.value}")
        if place in given:
            raise Wrong(f"{place} was answered twice: {given[place]} and {message.value}")
        if message.partition != partition:
            raise Wrong(f"the answer to {place} is in partition {message.partition}")
        if message.key != keys[place]:
            raise Wrong(f"the answer to {place} has the key {message.key}, the input has {keys[place]}")
        if offset <= last[partition]:
            raise Wrong(f"partition {partition}: the answer to {offset} comes after that to {last[partition]}")
        last[partition] = offset
        given[place] = message.value.decode()
    missing = sorted(keys.keys() - given.keys())
    if missing:
        raise Wrong(f"{len(missing)} of {len(keys)} inputs have no answer: {missing[:10]}")
    differ = []
    for place, line in sorted(given.items()):
        if wanted[place] is None:
            if json.loads(line)["status"] != "refused":
                differ.append((place, line, "a refusal"))
        elif plain(line) != plain(wanted[place]):
            differ.append((place, line, wanted[place]))
    if differ:
        shown = "\n".join(f"  {place}\n    fleet:  {line}\n    stream: {other}" for place, line, other in differ[:5])
        raise Wrong(f"{len(differ)} of {len(given)} answers are not those of an unbroken stream:\n{shown}")
    return given


def check_chains(outputs):
    """Each answer of a key is chained to the one before it, from the first after a tombstone; what is refused, late or
    forgotten may be of no model, and then stands alone."""
    before = {}
    for message in outputs:
        chain, status = int(message.headers["kalstream-chain"], 16), json.loads(message.value)["status"]
        may_be_alone = status in ("refused", "late", "forgotten")
        if chain == _chained(before.get(message.key, 0), message.value):
            if message.key in before or not may_be_alone:
                before[message.key] = chain
        elif not may_be_alone or chain != _chained(0, message.value):
            raise Wrong(f"the chain of {message.key} breaks at {message.headers['kalstream-input']}")
        if status == "forgotten":
            before.pop(message.key, None)


def _chained(before, answer):
    """FNV-1a of 64 bits, which goes on from the number before."""
    number = before ^ 0xCBF29CE484222325
    for byte in answer:
        number = ((number ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return number


def check_dead_letters(inputs, given, letters):
    """What was refused is in the dead-letter topic, once each, as it came."""
    refused = {place for place, line in given.items() if json.loads(line)["status"] == "refused"}
    by_place = {(message.partition, message.offset): message for message in inputs}
    found = collections.Counter()
    for letter in letters:
        place = (int(letter.headers["kalstream-partition"]), int(letter.headers["kalstream-offset"]))
        found[place] += 1
        if (letter.key, letter.value) != (by_place[place].key, by_place[place].value):
            raise Wrong(f"the dead letter of {place} is not what came")
        if not letter.headers["kalstream-reason"]:
            raise Wrong(f"the dead letter of {place} has no reason")
    if found != collections.Counter(refused):
        raise Wrong(f"refused: {len(refused)}, dead letters: {sum(found.values())} of {len(found)} inputs")


def check_model(program, learning, key, exported, said, inputs):
    """A model that the fleet gave away goes on exactly as one that learnt the same lines in one go: those that `fleet export`
    said it includes. A worker that ends while it takes a partition over leaves the last snapshot as it is."""
    before = int(re.search(r"inputs before offset (\d+)", said)[1])
    lines = []
    for message in inputs:
        nobodys = message.value is not None and b"device" not in message.value  # a fleet refuses it, a single model does not
        if message.key == key.encode() and message.offset < before and not nobodys:
            lines = [] if message.value is None else [*lines, message.value]
    more = b"".join(b'{"a":%d.5,"b":0.25,"c":-1,"target":%d}\n' % (k % 3, 19 + k % 4) for k in range(50))
    fields = ["--inputs", "a,b,c", "--target", "target", "--time", "none", "--format", "jsonl", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        kept = f"{folder}/kept.kal"
        command = [program, "stream", *fields, *learning, "--checkpoint", kept]
        subprocess.run(command, input=b"\n".join(lines) + b"\n", stdout=subprocess.DEVNULL, check=True)
        ways = [subprocess.run([program, "stream", *fields, "--start", start], input=more, capture_output=True, check=True)
                for start in (exported, kept)]
    if ways[0].stdout != ways[1].stdout:
        raise Wrong(f"the model of {key} differs: {ways[0].stdout[:200]} and {ways[1].stdout[:200]}")
