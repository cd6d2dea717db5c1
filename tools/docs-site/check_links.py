#!/usr/bin/env python3
"""check_links.py FOLDER: every link of the site's pages to a file or an anchor of the site leads there; exit code 1 if not."""
import html.parser
import pathlib
import sys
import urllib.parse


# Doxygen's own: where the only nested class is a private one, it links to a list that it does not write.
UNWRITTEN = "nested-classes"


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors.update(values[key] for key in ("id", "name") if values.get(key))
        self.links += [values[key] for key in ("href", "src") if values.get(key)]


def main():
    folder = pathlib.Path(sys.argv[1])
    pages = {path.name: Page(path) for path in sorted(folder.glob("*.html"))}
    lost = []
    for name, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = urllib.parse.unquote(parts.path) or name
            if not (folder / target).exists():
                lost.append(f"{name}: {link}: there is no such file")
            elif parts.fragment in ("", UNWRITTEN) or target not in pages:
                continue
            elif urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                lost.append(f"{name}: {link}: the page has no such place")
    print("\n".join(sorted(set(lost))), end="\n" if lost else "")
    links = sum(len(page.links) for page in pages.values())
    print(f"{len(pages)} pages, {links} links, {len(set(lost))} of which lead nowhere")
    sys.exit(1 if lost else 0)


main()
