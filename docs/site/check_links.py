"""Every link and picture of the built site exists, with its anchor, and nothing of a page comes from another machine.

usage: check_links.py SITE
"""

from __future__ import annotations

import pathlib
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []  # a reader may follow them to other machines
        self.parts: list[str] = []  # the page needs them
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attributes if value is not None}
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a" and "name" in values:
            self.anchors.add(values["name"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload", "modulepreload"):
            self.parts.append(values["href"])
        if tag in ("script", "img", "source", "iframe") and "src" in values:
            self.parts.append(values["src"])


def main(site: pathlib.Path) -> int:
    # The theme brings templates in _static.
    found = [path for path in sorted(site.rglob("*.html")) if site / "_static" not in path.parents]
    pages = {path: Page(path.read_text()) for path in found}
    wrong = []
    for path, page in pages.items():
        for address in page.links + page.parts:
            split = urlsplit(address)
            if split.scheme == "data":
                continue
            if split.scheme or split.netloc:
                if address in page.parts:
                    wrong.append(f"{path.relative_to(site)} loads {address}")
                continue
            target = path if not split.path else (path.parent / unquote(split.path)).resolve()
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                wrong.append(f"{path.relative_to(site)}: {address} leads to nothing")
            elif split.fragment and target in pages and unquote(split.fragment) not in pages[target].anchors:
                wrong.append(f"{path.relative_to(site)}: {address} has no such anchor")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
