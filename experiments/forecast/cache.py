"""Results in JSON files, taken again while the code that made them, its package and the data stay what they were."""

import ast
import hashlib
import json
import os


def digest(*parts):
    """A short name of what the parts say; of a module its source counts, but not its comments and layout."""

    def said(part):
        if not hasattr(part, "__file__"):
            return str(part)
        with open(part.__file__, encoding="utf-8") as file:
            return ast.dump(ast.parse(file.read()))

    return hashlib.sha256("\n".join(map(said, parts)).encode()).hexdigest()[:16]


def path_of(folder, name):
    return os.path.join(folder, "".join(c if c.isalnum() else "-" for c in name) + ".json")


def there(folder, name, key):
    """The result kept under this name and key, or None."""
    try:
        with open(path_of(folder, name), encoding="utf-8") as file:
            result = json.load(file)
        return result if result["key"] == key else None
    except (FileNotFoundError, ValueError, KeyError):
        return None


def kept(folder, name, key, compute):
    """The result kept under this name and key, or else what compute() gives, which is kept then. Without compute only
    what is there."""
    result = there(folder, name, key)
    if result is None and compute:
        result = {"key": key, **compute()}
        os.makedirs(folder, exist_ok=True)
        path = path_of(folder, name)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(result, file)
        os.replace(path + ".new", path)
    return result
