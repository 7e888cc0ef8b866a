"""Checks a page of `attnbench report --html` without a browser.

Usage: check_page.py PAGE.html

Tags are closed in the order they were opened, ids are there once, links inside the page have a target, nothing points
out of the page, no element has a handler, tables have headings, drawings have a title. Prints what tests count, as JSON.
"""
import html.parser
import json
import pathlib
import re
import sys

VOID = {"meta", "link", "br", "img", "input", "hr", "wbr"}
KNOWN = re.compile("html|head|meta|link|title|style|script|body|header|nav|main|section|h[123]|p|[uo]l|li|a|d[ltd]|div|table|caption"
                   "|thead|tbody|t[rhd]|wbr|span|strong|small|i|code|details|summary|pre|figure|figcaption|svg|g|path|text")


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.stack, self.ids, self.links, self.faults = [], set(), [], []
        self.counts, self.texts, self.wanted = {}, {}, set()

    def handle_startendtag(self, tag, attributes):
        self.see(tag, dict(attributes))

    def handle_starttag(self, tag, attributes):
        self.see(tag, dict(attributes))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.fault(f"</{tag}> closes what is not open")

    def handle_data(self, data):
        if self.stack:
            self.texts.setdefault(self.stack[-1], []).append(data)

    def fault(self, text):
        self.faults.append(f"line {self.getpos()[0]}: {text}")

    def see(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if not KNOWN.fullmatch(tag):
            self.fault(f"<{tag}> is not an element that the page has")
        if tag == "th" and "scope" not in attributes:
            self.fault("a heading cell without scope")
        for name, value in attributes.items():
            if name.startswith("on"):
                self.fault(f"{tag} has the handler {name}")
            elif name == "id" and value in self.ids:
                self.fault(f"the id {value} is there twice")
            elif name == "id":
                self.ids.add(value)
            elif name == "aria-labelledby":
                self.wanted.add(value)
            elif name in ("href", "src") and value.startswith("#"):
                self.wanted.add(value[1:])
            elif name in ("href", "src") and not value.startswith("data:"):
                self.fault(f"{name} leads out of the page: {value}")


def main():
    page = Page()
    page.feed(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    page.close()
    faults = page.faults + [f"#{name} has no target" for name in sorted(page.wanted - page.ids)]
    if page.stack:
        faults.append(f"not closed: {page.stack}")
    style = "".join(page.texts.get("style", [])) + "".join(page.texts.get("script", []))
    if re.search(r"url\(|@import|https?:|fetch\(|XMLHttp", style):
        faults.append("style or script loads something")
    if page.counts.get("svg", 0) < page.counts.get("figure", 0) or page.counts.get("script", 0) != 1:
        faults.append(f"figures, drawings, scripts: {page.counts}")
    print(json.dumps({"counts": page.counts, "ids": sorted(page.ids), "rows": sum(bool(re.fullmatch(r"row-\d+", i)) for i in page.ids),
                      "texts": {tag: "\n".join(parts) for tag, parts in page.texts.items() if tag not in ("style", "script")}}))
    print("\n".join(faults), file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
