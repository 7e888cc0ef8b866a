"""Opens pages of `attnbench report --html` in a headless Chromium and uses them as a person would.

Usage: page_in_browser.py [--screenshots FOLDER] BROWSER PAGE.html...

Sorts, filters, hides a series, follows a link, and at 400 and 1280 pixels looks for what sticks out. Fails with a line on
stderr when something does not work, when the console has an error, or when a request leaves for anything but the page.
"""
import argparse
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile


class Browser:
    """One tab, spoken to through a pair of pipes (--remote-debugging-pipe): messages are JSON that ends with NUL."""

    def __init__(self, program, folder):
        """FOLDER holds its profile and its temporary files. Its path has to be short, since Chromium makes a socket there."""
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()

        def set_pipes():
            # Past 3 and 4 first, so that neither replaces the other.
            there = [os.dup2(fd, to) for fd, to in ((read_there, 13), (write_there, 14))]
            os.dup2(there[0], 3)
            os.dup2(there[1], 4)

        self.log = open(os.path.join(folder, "stderr"), "w+b")
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", f"--user-data-dir={folder}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=set_pipes, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=self.log, env={**os.environ, "TMPDIR": folder})
        os.close(read_there)
        os.close(write_there)
        self.incoming, self.outgoing = os.fdopen(read_here, "rb", 0), os.fdopen(write_here, "wb", 0)
        self.rest, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def receive(self):
        while b"\0" not in self.rest:
            more = self.incoming.read(65536)
            if not more:
                self.log.seek(0)
                sys.exit("the browser ended: " + self.log.read()[:2000].decode(errors="replace"))
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        try:
            self.outgoing.write(json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            pass  # it has ended, and receive() says so
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url, width):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        start = len(self.events)
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events[start:]):
            self.events.append(self.receive())

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            sys.exit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def screenshot(self, path):
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        pathlib.Path(path).write_bytes(base64.b64decode(picture["data"]))

    def complaints(self):
        """Errors of the console, and requests for anything that is not in the page."""
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                yield params["exceptionDetails"]["text"]
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                yield str(params["args"])
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                yield params["entry"]["text"]
            elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file:", "data:", "about:")):
                yield f"a request for {params['request']['url']}"


def expect(is_so, what):
    if not is_so:
        sys.exit(f"not so: {what}")


SHOWN = "[...document.querySelectorAll('table.filtered tbody tr')].filter(row => !row.hidden)"


def numbers(browser, column):
    return browser.value(f"{SHOWN}.map(row => row.cells[{column}].dataset.value).filter(v => v !== undefined).map(Number)")


def folded_count(browser):
    return browser.value("document.querySelectorAll('table.filtered tbody tr[hidden]').length")


def use_table(browser):
    rows = browser.value("document.querySelectorAll('table.filtered tbody tr').length")
    folded = browser.value("[...document.querySelectorAll('table.filtered tbody tr')].filter(row => row.hidden)"
                           ".every(row => !row.classList.contains('fastest') && ['ok', 'skipped', 'planned'].includes(row.dataset.status))")
    is_long = rows > 40 and browser.value("document.getElementById('heat') !== null")
    expect(folded and (browser.value(f"{SHOWN}.length") < rows) == is_long, "a long table begins with the fastest row of each case")
    caption = browser.value("document.querySelector('table.filtered').caption.textContent")
    expect(caption == (f"{rows - folded_count(browser)} of {rows} rows: the fastest of each case, and what failed" if is_long
                       else f"All {rows} rows"), f"the caption says which rows are shown: {caption}")
    hot = browser.value("[...document.querySelectorAll('table.filtered th')].findIndex(h => h.textContent.startsWith('hot'))")
    click = f"document.querySelectorAll('table.filtered thead button')[{hot}].click()"
    browser.value(click)
    expect(numbers(browser, hot) == sorted(numbers(browser, hot)), "one click sorts by hot time")
    browser.value(click)
    expect(numbers(browser, hot) == sorted(numbers(browser, hot), reverse=True), "a second click turns the order")
    expect(browser.value("document.querySelectorAll('table.filtered th[aria-sort=descending]').length") == 1, "aria-sort")
    type_words = "words => { const input = document.querySelector('.filter input'); input.value = words; " \
                 "input.dispatchEvent(new Event('input', {bubbles: true})); }"
    browser.value(f"({type_words})('no such row')")
    expect(browser.value(f"{SHOWN}.length") == 0, "a word that is nowhere hides every row")
    expect(browser.value("document.querySelector('.filter output').textContent") == f"0 of {rows} rows", "the count of rows")
    browser.value("location.hash = 'row-1'; 0")
    # The event of the new place comes after this turn of the page's own loop.
    browser.call("Runtime.evaluate", expression="new Promise(done => setTimeout(done, 50))", awaitPromise=True)
    expect(browser.value(f"{SHOWN}.length") == rows, "a link to a hidden row shows it")
    browser.value("{ const choice = document.querySelector('.filter select'); choice.selectedIndex = 1; "
                  "choice.dispatchEvent(new Event('input', {bubbles: true})); }")
    left = browser.value(f"{SHOWN}.length")
    expect(0 < left <= rows, "a variant that is chosen keeps its rows")
    browser.value("document.querySelector('.filter button').click()")
    expect(browser.value(f"{SHOWN}.length") == rows, "Show all shows all")


def use_figures(browser):
    if browser.value("document.querySelectorAll('.legend button').length") == 0:
        return
    browser.value("document.querySelector('.legend button').click()")
    hidden = "[...document.querySelectorAll('figure g[data-series=\"0\"]')].every(g => g.style.display === 'none')"
    expect(browser.value(hidden), "a click on the legend hides the series")
    browser.value("document.querySelector('.legend button').click()")
    expect(not browser.value(hidden), "another click shows it again")
    expect(browser.value("document.querySelector('details.data a').href.startsWith('data:text/csv')"), "data can be saved")


def print_table(browser):
    """A browser repeats a heading on each page without its buttons, and cuts a drawing at the end of a page unless told otherwise."""
    browser.call("Emulation.setEmulatedMedia", media="print")
    expect(browser.value("[...document.querySelectorAll('th[data-sort]')].every(heading => heading.offsetWidth === 0 || "
                         "heading.lastChild.offsetWidth > 0 && heading.firstChild.offsetWidth === 0)"), "headings are printed as text")
    expect(browser.value("[...document.querySelectorAll('figure')].every(figure => "
                         "getComputedStyle(figure).breakInside === 'avoid')"), "a drawing stays on one page")
    expect(browser.value("(heat => heat === null || getComputedStyle(heat).breakInside === 'avoid')(document.getElementById('heat'))"),
           "the table of ratios stays on one page")
    browser.call("Emulation.setEmulatedMedia", media="")


def sort_every_table(browser):
    """Each heading, both ways: no row is lost."""
    count = "[...document.querySelectorAll('tbody tr')].length"
    rows = browser.value(count)
    browser.value("for (const button of document.querySelectorAll('table.sortable thead button')) { button.click(); button.click(); }")
    expect(browser.value(count) == rows, "sorting keeps every row")


# Texts of a drawing that do not lie in it.
CUT = """[...document.querySelectorAll('figure svg text')].filter(text => {
  const inner = text.getBoundingClientRect(), outer = text.closest('svg').getBoundingClientRect();
  return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
}).map(text => text.textContent)"""


# Names of lines less than a font's height below the one before.
COVERED = """[...document.querySelectorAll('figure svg')].flatMap(svg => {
  const names = [...svg.querySelectorAll('.line-name')].sort((a, b) => a.getAttribute('y') - b.getAttribute('y'));
  return names.filter((name, i) => i > 0 && name.getAttribute('y') - names[i - 1].getAttribute('y') < 9.5).map(name => name.textContent);
})"""


def visit(browser, page, screenshots):
    for width in (400, 1280):
        browser.open(page.as_uri(), width)
        wide = browser.value("document.documentElement.scrollWidth")
        expect(wide <= width, f"nothing sticks out at {width} pixels: {wide}")
        cut = browser.value(CUT)
        expect(not cut, f"no label is cut off at {width} pixels: {cut[:3]}")
        beyond = browser.value("Math.max(...[...document.querySelectorAll('.cards .scroll, #heat .scroll')].map(scroll => scroll.scrollWidth - scroll.clientWidth))")
        expect(beyond <= 0, f"the tables are whole at {width} pixels: {beyond} more")
        covered = browser.value(COVERED)
        expect(not covered, f"no name of a line covers another at {width} pixels: {covered[:3]}")
        if screenshots:
            browser.screenshot(screenshots / f"{page.stem}-{width}.png")
    use_table(browser)
    use_figures(browser)
    print_table(browser)
    sort_every_table(browser)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("browser")
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="attnbench-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        browser = Browser(options.browser, folder)
        try:
            for page in options.pages:
                visit(browser, page.resolve(), options.screenshots)
            for complaint in browser.complaints():
                sys.exit(f"the browser complains: {complaint}")
        finally:
            browser.process.terminate()
            browser.process.wait()


if __name__ == "__main__":
    main()
