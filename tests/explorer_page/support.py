"""A running explorer, a browser, and what tests of the page do again and again."""

import atexit
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.request

from playwright.sync_api import sync_playwright

_browser = None


def browser():
    global _browser
    if _browser is None:
        driver = sync_playwright().start()
        _browser = driver.chromium.launch(executable_path=os.environ["ESPALIER_BROWSER"], chromium_sandbox=False)
        atexit.register(lambda: (_browser.close(), driver.stop()))
    return _browser


class Explorer:
    """`espalier explore` on a free port, until close()."""

    def __init__(self, *arguments):
        command = [os.environ["ESPALIER_CLI"], "explore", "--port", "0", "--no-open", *map(str, arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = None
        for line in self.process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                self.url = found.group()
                break
        if self.url is None:
            raise AssertionError(f"{' '.join(command)} did not say where it listens")

    def ask(self, path, body=None):
        request = urllib.request.Request(f"{self.url}/api/v1/{path}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        with urllib.request.urlopen(request) as answer:
            return answer.read().decode()

    def ask_json(self, path, body=None):
        return json.loads(self.ask(path, body))

    def record(self, shape, operations, threads=1):
        """The trace of a live session as text."""
        session = self.ask_json("sessions", shape)["id"]
        for doing in operations:
            self.ask_json(f"sessions/{session}/run", {"do": [doing], "threads": threads})
        return self.ask(f"sources/{session}/trace")

    def drop(self, session):
        urllib.request.urlopen(
            urllib.request.Request(f"{self.url}/api/v1/sessions/{session}", method="DELETE")
        ).close()

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def random_inserts(n, seed=1, most=100000):
    return {"op": "insert", "series": {"n": n, "order": "random", "seed": seed, "from": "0", "to": str(most)}}


def is_error(said):
    return said.type == "error" and "413" not in said.text


class PageTest(unittest.TestCase):
    """One explorer and one page for the tests of a class. An error in the console fails a test."""

    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.explorer = Explorer(*cls.make_arguments())
        # A new page for each test would start a process for each.
        cls.context = browser().new_context(accept_downloads=True)
        cls.page = cls.context.new_page()
        cls.page.set_default_timeout(60000)
        cls.errors = []
        cls.page.on("pageerror", lambda error: cls.errors.append(str(error)))
        # 413: the page asks for a large tree at once, then in the other way.
        cls.page.on("console", lambda said: cls.errors.append(said.text) if is_error(said) else None)

    @classmethod
    def make_arguments(cls):
        return cls.arguments

    @classmethod
    def tearDownClass(cls):
        cls.context.close()
        cls.explorer.close()
        cls.folder.cleanup()

    def setUp(self):
        self.errors.clear()
        self.page.set_viewport_size({"width": 1280, "height": 800})
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")

    def tearDown(self):
        # Leaving the page is what makes it give its live session back.
        self.page.goto("about:blank")
        self.assertEqual(self.errors, [])

    def need(self, index):
        if all(entry["index"] != index for entry in self.explorer.ask_json("info")["live"]):
            self.skipTest(f"this build has no live {index} tree")

    # What most tests look at: a small tree of the library, 24 keys at first.
    LIVE = "#live=blink,link,classic,8&ops=insert:random,24,3,0,999"

    def open(self, fragment=None):
        """Without a fragment: the traces that the explorer was given, or a small live tree."""
        if fragment is None:
            given = [s for s in self.explorer.ask_json("info")["sources"] if s["id"].startswith("t")]
            fragment = "" if given or self.explorer.ask_json("info")["index"] != "blink" else self.LIVE
        # Another fragment alone would not load the page again.
        self.page.goto("about:blank")
        self.page.goto(f"{self.explorer.url}/{fragment}")
        self.page.wait_for_selector("html[data-ready]", timeout=60000)
        self.drawn()

    def drawn(self):
        """Waits until the page shows what it was last asked for."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def shows(self, selector, count):
        """Waits until the page has that many of them."""
        self.page.wait_for_function(
            "([selector, count]) => document.querySelectorAll(selector).length === count", arg=[selector, count]
        )

    def link(self):
        """The fragment of the address, once it says what the page shows."""
        self.page.wait_for_function("() => location.hash === espalier.address()")
        return self.page.evaluate("() => location.hash")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
        self.drawn()

    def position(self):
        return int(self.page.input_value("#time"))

    def last(self):
        return int(self.page.get_attribute("#time", "max"))

    def now(self):
        return self.page.inner_text("#now")

    def facts(self, pane=0):
        """What the head of a picture says, e.g. {"keys": 24, "leaves": 4}."""
        said = self.page.locator(".facts-line").nth(pane).inner_text()
        return {
            name.strip(): int(re.sub(r"\D", "", number))
            for number, name in re.findall(r"([\d\s\u202f]+)\s([a-z ]+)", said)
        }

    def answer(self):
        self.page.wait_for_function("() => !document.querySelector('#panel-try').hasAttribute('aria-busy')")
        self.drawn()
        return self.page.inner_text("#answer")

    def insert(self, keys):
        self.page.fill("#one-keys", keys)
        self.page.click("#one button[value=insert]")
        return self.answer()

    def tree_state(self, pane=0):
        """The tree as the page has it, its nodes by name."""
        state = self.page.evaluate("(p) => espalier.panes[p].tree.state()", pane)
        return by_name(state)

    def write(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text)
        return path


def by_name(state):
    """Nodes without what is not part of the tree: what dead leaves still hold."""
    nodes = {}
    for node in state["nodes"]:
        keys = None if node.get("dead") else node["keys"]
        nodes[node["n"]] = (
            node["level"],
            node.get("dead", False),
            node.get("right"),
            node.get("high"),
            keys,
            node.get("children"),
            node.get("version", 0),
            node.get("kind"),
            node.get("prefix") or None,
        )
    return state["root"], nodes
