"""Time: load, play, pause, steps forwards and backwards, the slider, the keyboard."""

import pathlib

from support import Explorer, PageTest, random_inserts


class Play(PageTest):
    @classmethod
    def make_arguments(cls):
        from support import Explorer
        import pathlib

        recorder = Explorer()
        path = pathlib.Path(cls.folder.name) / "inserts.jsonl"
        path.write_text(recorder.record({"index": "blink", "slots": 8}, [random_inserts(60)], threads=2))
        recorder.close()
        return ("--trace", path)

    def test_a_trace_is_shown_from_its_start(self):
        self.open()
        self.assertEqual(self.position(), 0)
        self.assertGreater(self.last(), 60)
        self.assertEqual(self.now(), "At the start")
        self.assertIn("inserts.jsonl", self.page.inner_text("#source"))
        self.assertGreater(self.page.locator("svg.tree .node").count(), 0)

    def test_it_plays_and_pauses(self):
        self.open()
        self.page.select_option("#speed", "100")
        self.page.click("#play")
        self.page.wait_for_function("() => Number(document.querySelector('#time').value) > 3")
        self.assertEqual(self.page.get_attribute("#play", "aria-label"), "Pause")
        self.page.click("#play")
        self.drawn()
        stopped = self.position()
        self.page.wait_for_timeout(200)
        self.assertEqual(self.position(), stopped)
        self.assertEqual(self.page.get_attribute("#play", "aria-label"), "Play")

    def test_playing_ends_at_the_end(self):
        self.open()
        self.page.select_option("#speed", "10000")
        self.page.click("#play")
        self.page.wait_for_function(
            "() => document.querySelector('#time').value === document.querySelector('#time').max"
        )
        self.drawn()
        self.assertEqual(self.page.get_attribute("#play", "aria-label"), "Play")

    def test_a_step_back_undoes_a_step_on(self):
        self.open()
        events = self.page.evaluate("() => espalier.pane.source.trace.events")
        split = next(e for e in events if e["e"] == "split")["i"]
        self.page.evaluate("(at) => espalier.go(at)", split - 2)
        seen = [self.tree_state()]
        for _ in range(12):
            self.page.click("#step-on")
            seen.append(self.tree_state())
        self.drawn()
        self.assertEqual(self.position(), split + 10)
        self.assertNotEqual(seen[0], seen[12])
        for at in reversed(range(12)):
            self.page.click("#step-back")
            self.assertEqual(self.tree_state(), seen[at], f"after {split - 2 + at} events")

    def test_the_keyboard_does_it_all(self):
        self.open()
        self.press("ArrowRight", "ArrowRight", "ArrowRight")
        self.assertEqual(self.position(), 3)
        self.press("ArrowLeft")
        self.assertEqual(self.position(), 2)
        self.press("Shift+ArrowRight")
        self.assertRegex(self.now(), r"has inserted \d+|there already")
        self.press("End")
        self.assertEqual(self.position(), self.last())
        self.press("Shift+M")
        self.assertLess(self.position(), self.last())
        self.press("Home")
        self.assertEqual(self.position(), 0)
        self.press("]", "]")
        self.assertEqual(self.page.input_value("#speed"), "25")
        self.press("4")
        self.assertTrue(self.page.is_visible("#panel-events"))
        self.press("?")
        self.assertTrue(self.page.is_visible("#help"))
        self.assertIn("One event back", self.page.inner_text("#help"))
        self.press("Escape")
        self.assertFalse(self.page.is_visible("#help"))

    def test_space_plays_and_pauses(self):
        self.open()
        self.press(" ")
        self.page.wait_for_function("() => Number(document.querySelector('#time').value) > 0")
        self.press(" ")
        stopped = self.position()
        self.page.wait_for_timeout(400)
        self.assertEqual(self.position(), stopped)

    def test_keys_in_a_field_stay_in_the_field(self):
        self.open()
        self.press("/")
        self.page.keyboard.type("12 m4")
        self.drawn()
        self.assertEqual(self.page.input_value("#search-key"), "12 m4")
        self.assertEqual(self.position(), 0)

    def test_the_list_of_events_leads_to_a_moment(self):
        self.open()
        self.press("4")
        self.page.locator("#panel-events .row").nth(5).click()
        self.drawn()
        self.assertEqual(self.position(), 6)
        self.assertEqual(
            self.page.locator("#panel-events .row[aria-selected=true]")
            .inner_text()
            .split("\n")[-1]
            .strip()
            .split(" ", 1)[-1][:6],
            self.now().split(" ", 1)[-1][:6],
        )
        self.page.focus("#panel-events .scroller")
        self.press("ArrowDown")
        self.assertEqual(self.position(), 7)
        self.press("ArrowUp", "ArrowUp")
        self.assertEqual(self.position(), 5)

    def test_the_list_of_events_opens_at_the_moment(self):
        self.open()
        self.press("End", "4")
        row = self.page.locator("#panel-events .row[aria-selected=true]")
        self.assertEqual(row.count(), 1)
        box, scroller = row.bounding_box(), self.page.locator("#panel-events .scroller").bounding_box()
        self.assertGreaterEqual(box["y"], scroller["y"] - 1)
        self.assertLessEqual(box["y"] + box["height"], scroller["y"] + scroller["height"] + 1)

    def test_a_split_that_was_not_posted_is_marked_until_it_is(self):
        self.open()
        events = self.page.evaluate("() => espalier.pane.source.trace.events")
        link = next(e for e in events if e["e"] == "link")
        post = next(
            e
            for e in events
            if e["e"] in ("post", "grow") and link["right"] in (e.get("child"), e.get("right")) and e["i"] > link["i"]
        )
        self.page.evaluate("(at) => espalier.go(at)", link["i"] + 1)
        self.drawn()
        node = self.page.locator(f'svg.tree .node[data-n="{link["right"]}"]')
        self.assertIn("loose", node.get_attribute("class").split())
        self.assertEqual(node.locator(".hatching").count(), 1)
        self.assertEqual(self.facts()["not posted"], 1)
        self.page.evaluate("(at) => espalier.go(at)", post["i"] + 1)
        self.drawn()
        self.assertNotIn("loose", node.get_attribute("class").split())
        self.press("ArrowLeft")
        self.assertIn("loose", node.get_attribute("class").split())

    def test_an_inner_node_and_its_copy_are_both_to_be_seen(self):
        self.open("#live=blink,link,classic,8&ops=insert:sequential,200,0,1")
        events = self.page.evaluate("() => espalier.pane.source.trace.events")
        split = next(e for e in events if e["e"] == "split" and e["n"].startswith("i"))
        self.page.evaluate("(at) => espalier.go(at)", split["i"] + 1)
        self.drawn()
        for name in (split["n"], split["new"]):
            box = self.page.locator(f'svg.tree .node[data-n="{name}"] .box').bounding_box()
            self.assertGreater(box["width"], 20, name)

    def test_a_latch_has_a_padlock_while_it_is_held(self):
        self.open()
        events = self.page.evaluate("() => espalier.pane.source.trace.events")
        latch = next(e for e in events if e["e"] == "latch")
        self.page.evaluate("(at) => espalier.go(at)", latch["i"] + 1)
        self.drawn()
        node = self.page.locator(f'svg.tree .node[data-n="{latch["n"]}"]')
        self.assertIn("latched", node.get_attribute("class").split())
        self.assertEqual(node.locator(".mark-latch").count(), 1)
        self.press("ArrowLeft")
        self.assertNotIn("latched", node.get_attribute("class").split())
