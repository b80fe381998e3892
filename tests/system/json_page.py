"""docs/json.md against what the programs print."""

import functools
import os
import re

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/json.md")


@functools.cache
def documented():
    """The keys of each event: the words in code of the sections that name it in their heading."""
    keys = {}
    with open(PAGE, encoding="utf-8") as file:
        _, *sections = re.split(r"^###? ", file.read(), flags=re.MULTILINE)
    for section in sections:
        heading, text = section.split("\n", 1)
        for event in re.findall(r"\w+", heading):
            keys.setdefault(event, set()).update(re.findall(r"`(\w+)`", text))
    return keys


def undocumented(event):
    """The keys of an object that the page does not have, those of the objects in it too."""
    known = documented().get(event.get("event"))
    if known is None:
        return [f"event {event.get('event')}"]
    names = {name for name in event if name != "event"}
    for value in event.values():
        for inner in value if isinstance(value, list) else [value]:
            names |= inner.keys() if isinstance(inner, dict) else set()
    return sorted(names - known)
