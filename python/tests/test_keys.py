"""The attributes of `pyzfinder/_keys.py` are the table of keys.

``ZFINDER_WRITE_PAGES=1 scripts/test-python python/tests/test_keys.py`` writes the file, which the
next installation has.
"""

import os
import textwrap
from pathlib import Path

import pytest

import pyzfinder
from pyzfinder import Config

HEAD = '''\
"""The keys of a configuration, written by tests/test_keys.py."""

from __future__ import annotations

from typing import Literal, TypedDict


class Keys:
    """The keys of `Config` as attributes, which are read-only."""

    __slots__ = ()

'''

OPTIONS = '''

class KeyOptions(TypedDict, total=False):
    """The keys of `Config` but its preset, as keyword arguments."""

'''


def annotation(key):
    """Return the annotation of a key, formatted as ruff does."""
    line = f"    {key['name']}: {key['type']}"
    if len(line) > 100:
        line = line.replace("[", "[\n        ").replace(", ", ",\n        ")
        line = line.replace("]", ",\n    ]")
    return f"{line}\n"


def attribute(key):
    """Return the annotation of a key below its meaning."""
    is_number = "Literal" not in key["type"] and key["type"] != "bool"
    meaning = f"{key['meaning']} ({key['values']})." if is_number else f"{key['meaning']}."
    lines = textwrap.wrap(meaning, 100, initial_indent="    #: ", subsequent_indent="    #: ")
    return "\n".join([*lines, annotation(key)])


def test_the_attributes_are_the_table_of_keys():
    path = Path(__file__).parents[1] / "pyzfinder" / "_keys.py"
    keys = pyzfinder.keys()
    options = (annotation(key) for key in keys if key["name"] != "preset")
    wanted = HEAD + "".join(map(attribute, keys)) + OPTIONS + "".join(options)
    if "ZFINDER_WRITE_PAGES" in os.environ:
        path.write_text(wanted, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == wanted, "write the file as this test says"


@pytest.mark.parametrize("preset", pyzfinder.presets())
def test_attributes_have_the_values_of_the_keys(preset):
    config = Config(preset)
    for key in pyzfinder.keys():
        name = key["name"]
        assert getattr(config, name) == config.get(name)
        assert name in dir(config)
    assert config.preset == preset


def test_attributes_are_read_only():
    config = Config()
    with pytest.raises(AttributeError, match="peeks"):
        config.peeks  # noqa: B018
    with pytest.raises(AttributeError):
        config.peaks = 3
