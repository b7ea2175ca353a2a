"""What a first visitor meets: the trace that is shown first, the tour, the gallery."""

import functools
import gzip
import http.server
import json
import pathlib
import threading

from support import PageTest, browser

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIRST = "gallery.split-storm"


def events_of(name):
    lines = gzip.decompress((ROOT / "web" / "gallery" / f"{name}.trace.gz").read_bytes()).decode().splitlines()
    return [json.loads(line) for line in lines[1:-1]]


class Gallery(PageTest):
    def setUp(self):
        super().setUp()
        # Each test is a first visit.
        self.context.close()
        type(self).context = browser().new_context(accept_downloads=True)
        type(self).page = self.context.new_page()
        self.page.set_default_timeout(20000)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")

    def tour(self):
        """The step that is shown, or None."""
        box = self.page.locator(".tour")
        return box.locator("h2").inner_text() if box.is_visible() else None

    def follow(self, button):
        self.page.click(f'[data-tour="{button}"]')
        self.drawn()

    def now_event(self):
        return self.page.evaluate("() => espalier.pane.replay.event()?.e ?? null")

    def test_a_first_visitor_sees_the_split_storm_and_the_tour(self):
        self.open("")
        self.assertEqual(self.page.evaluate("() => espalier.pane.source.id"), FIRST)
        self.assertEqual(self.last(), len(events_of("split-storm")))
        self.assertIsNotNone(self.tour())
        self.assertGreater(self.page.locator("svg.tree .node").count(), 5)

    def test_the_tour_goes_through_a_split_in_five_steps(self):
        self.open("")
        seen = [(self.tour(), self.now_event())]
        for _ in range(4):
            self.follow("next")
            seen.append((self.tour(), self.now_event()))
        self.assertEqual(len({title for title, _ in seen}), 5)
        self.assertEqual([event for _, event in seen], [None, "split", "link", "post", None])
        self.follow("next")
        self.assertIsNone(self.tour())

    def test_what_the_tour_says_is_in_the_picture(self):
        self.open("")
        self.follow("next")
        self.assertIn("1 latched", self.page.inner_text(".facts-line"))
        # Step 2 names the threads.
        events = events_of("split-storm")
        split = next(i for i, e in enumerate(events) if e["e"] == "split")
        self.assertEqual(events[split]["w"], 3)
        self.assertEqual({e["w"] for e in events[:split] if e["e"] == "retry"} - {3}, {1, 2})
        self.follow("next")
        self.assertIn("1 not posted", self.page.inner_text(".facts-line"))
        self.assertIn("2 levels", self.page.inner_text(".facts-line"))
        before = self.position()
        self.follow("next")
        self.assertIn("3 levels", self.page.inner_text(".facts-line"))
        self.assertNotIn("not posted", self.page.inner_text(".facts-line"))
        self.follow("back")
        self.assertEqual(self.position(), before)

    def test_a_skipped_tour_does_not_come_again(self):
        self.open("")
        self.follow("skip")
        self.assertIsNone(self.tour())
        self.open("")
        self.assertIsNone(self.tour())
        # The help has it.
        self.press("?")
        self.page.click("#help button[value=tour]")
        self.page.wait_for_selector(".tour:not([hidden])")
        self.press("Escape")
        self.assertIsNone(self.tour())

    def test_a_link_and_another_tree_come_without_the_tour(self):
        self.open("#live=blink,link,classic,8")
        self.assertIsNone(self.tour())
        self.assertEqual(self.page.evaluate("() => espalier.pane.source.kind"), "live")

    def test_every_trace_of_the_gallery_plays(self):
        self.open("")
        self.follow("skip")
        cards = self.page.locator("#gallery .cards button").count()
        self.assertGreaterEqual(cards, 5)
        for card in range(cards):
            self.page.click("#gallery-open")
            self.page.locator("#gallery .cards button").nth(card).click()
            self.page.wait_for_function("() => !document.querySelector('#gallery').open && espalier.clock.tick === 0")
            self.page.wait_for_function(
                "(n) => espalier.panes.length === n",
                arg=self.page.evaluate("async (i) => (await import('/gallery.js')).gallery[i].names.length", card),
            )
            self.press("End")
            self.assertEqual(self.position(), self.last())
            self.assertGreater(self.last(), 100)
            self.assertFalse(self.page.is_visible("#trouble"))

    def test_traces_show_what_their_names_say(self):
        kinds = lambda name: [e["e"] for e in events_of(name)]
        self.assertGreater(kinds("split-storm").count("split"), 10)
        self.assertGreater(kinds("split-storm").count("retry"), 3)
        self.assertGreater(kinds("append").count("split"), 3)
        inserted = [int(e["key"]) for e in events_of("append") if e["e"] == "begin"]
        self.assertEqual(inserted, sorted(inserted))
        self.assertGreater(kinds("erase-wave").count("merge"), 5)
        self.assertGreater(kinds("radix-growth").count("kind"), 1)
        for name in ("h200-link", "h200-couple", "xeon-link"):
            plain = (ROOT / "docs" / "traces" / f"{name}.trace").read_text().splitlines()[1:-1]
            self.assertEqual(events_of(name), [json.loads(line) for line in plain])

    def test_a_link_to_the_gallery_opens_it_at_its_position(self):
        self.open("#trace=gallery.xeon-link&beside=gallery.h200-link&at=300")
        self.assertEqual(self.page.evaluate("() => espalier.panes.map((p) => p.header.device)"), ["cpu", "gpu"])
        self.assertEqual(self.position(), 300)
        self.assertIn("trace=gallery.xeon-link&beside=gallery.h200-link&at=300", self.link())
        self.assertIsNone(self.tour())

    def test_a_trace_that_the_gallery_lacks_gets_a_sentence(self):
        self.open("#trace=gallery.nothing")
        self.assertIn("has no trace called nothing", self.page.inner_text("#trouble-text"))
        self.assertGreater(self.page.locator("svg.tree .node").count(), 0)

    def test_the_tour_fits_a_phone(self):
        self.page.set_viewport_size({"width": 390, "height": 844})
        self.open("")
        for _ in range(5):
            self.assertLessEqual(self.page.evaluate("() => document.documentElement.scrollWidth - innerWidth"), 0)
            box = self.page.locator('[data-tour="next"]').bounding_box()
            self.assertLessEqual(box["x"] + box["width"], 390)
            self.assertLessEqual(box["y"] + box["height"], 844)
            self.follow("next")
        self.page.click("#gallery-open")
        self.assertLessEqual(self.page.locator("#gallery").bounding_box()["width"], 390)


class FilesOnly(PageTest):
    """The page on a server of plain files, as in the site: nothing answers below api/."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
        handler = functools.partial(quiet, directory=str(ROOT / "web"))
        cls.files = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=cls.files.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.files.shutdown()
        cls.files.server_close()
        super().tearDownClass()

    def test_the_gallery_plays_without_the_program(self):
        self.page.goto(f"http://127.0.0.1:{self.files.server_port}/index.html")
        self.page.wait_for_selector("html[data-ready]")
        self.assertTrue(self.page.is_visible(".tour"))
        self.assertFalse(self.page.is_visible("#trouble"))
        self.assertIn("live trees need the program", self.page.inner_text("#panel-try"))
        self.page.click('[data-tour="skip"]')
        self.page.click("#gallery-open")
        self.page.locator("#gallery .cards button").nth(1).click()
        self.page.wait_for_function("() => espalier.pane.source.id === 'gallery.append'")
        self.press("End")
        self.assertEqual(self.position(), self.last())
        self.assertGreater(self.last(), 100)
        # The request for the program's description is what fails.
        self.errors[:] = [e for e in self.errors if "404" not in e]
