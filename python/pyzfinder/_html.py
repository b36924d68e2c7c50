"""Tables in HTML, which notebooks show."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any


def table(heads: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table. A cell is a text, which is escaped, or a pair of a tag and a text."""

    def cell(value: Any) -> str:
        tag, text = value if isinstance(value, tuple) else (None, value)
        text = html.escape(str(text))
        return f"<{tag}>{text}</{tag}>" if tag else text

    def line(tag: str, cells: Iterable[Any]) -> str:
        return f"<tr>{''.join(f'<{tag}>{cell(value)}</{tag}>' for value in cells)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', heads)}</thead><tbody>{body}</tbody></table>"
