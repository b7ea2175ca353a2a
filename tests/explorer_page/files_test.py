"""Traces from files, good and bad, and what the page saves."""

import json
import xml.etree.ElementTree as xml

from support import PageTest, random_inserts

SVG = "{http://www.w3.org/2000/svg}"


class Files(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = cls.explorer.record({"index": "blink", "slots": 8}, [random_inserts(30)], threads=2)

    def open_text(self, name, text):
        self.page.set_input_files("#file", self.write(name, text))
        self.page.wait_for_function(
            "() => !document.querySelector('#trouble').hidden || espalier.pane.source.kind === 'file'"
        )
        self.drawn()

    def refused(self, text):
        """The sentence for a bad trace. The page goes on with what it had."""
        before = self.page.inner_text("#source")
        self.open_text("bad.jsonl", text)
        self.assertEqual(self.page.inner_text("#source"), before)
        self.assertGreater(self.page.locator("svg.tree .node").count(), 0)
        self.assertTrue(self.page.is_visible("#trouble"))
        said = self.page.inner_text("#trouble-text")
        self.page.click("#trouble-close")
        return said

    def test_a_file_is_opened(self):
        self.open()
        self.open_text("mine.jsonl", self.trace)
        self.assertIn("mine.jsonl", self.page.inner_text("#source"))
        self.assertEqual(self.last(), self.trace.count("\n") - 2)

    def test_a_bad_trace_gets_a_sentence_and_its_line(self):
        self.open()
        lines = self.trace.splitlines()
        self.assertRegex(self.refused("pears"), "^Line 1: this is not JSON")
        self.assertRegex(self.refused('{"a":1}'), "^Line 1: this is not a trace of Espalier")
        self.assertRegex(self.refused(""), "empty")
        self.assertRegex(self.refused("\n".join(lines[:9])), "breaks off after 8 events")
        self.assertRegex(
            self.refused("\n".join(lines[:5] + lines[6:])), "^Line 6: event 4 should stand here, and this is event 5"
        )
        newer = json.loads(lines[0]) | {"format": 9}
        self.assertRegex(self.refused("\n".join([json.dumps(newer)] + lines[1:])), "^Line 1: this trace has format 9")

    def test_events_that_cannot_be_are_found(self):
        self.open()
        lines = self.trace.splitlines()
        at = next(i for i, line in enumerate(lines) if '"e":"insert"' in line)
        event = json.loads(lines[at])
        for change, sentence in (
            ({"at": 77}, f"^Line {at + 1}: event {event['i']} is about slot 77"),
            ({"n": "l999"}, "speaks of node l999, which does not exist"),
            ({"e": "fly"}, 'of the kind "fly"'),
            ({"key": "31415926"}, "do not lead to the tree at the end"),
        ):
            bad = lines[:at] + [json.dumps(event | change)] + lines[at + 1 :]
            self.assertRegex(self.refused("\n".join(bad)), sentence)

    def test_the_trace_is_saved_and_opens_again(self):
        self.open("#live=blink,link,classic,8&ops=insert:sequential,40,0,10;erase:10,20")
        with self.page.expect_download() as saved:
            self.page.click("#save-json")
        text = open(saved.value.path()).read()
        expected = self.tree_state()
        header, *events, end = map(json.loads, text.splitlines())
        self.assertEqual((header["trace"], end["events"]), ("espalier", len(events)))
        self.open()
        self.open_text("saved.jsonl", text)
        self.press("End")
        self.assertEqual(self.tree_state(), expected)

    def test_the_server_agrees_with_what_is_saved(self):
        self.open("#live=blink,link,classic,8&ops=insert:sequential,40,0,10")
        with self.page.expect_download() as saved:
            self.press("Shift+S")
        text = open(saved.value.path()).read()
        answer = self.page.evaluate(
            """async (text) => (await fetch("api/v1/check",
            { method: "POST", headers: { "Content-Type": "application/x-ndjson" }, body: text })).json()""",
            text,
        )
        self.assertEqual(answer.get("ok"), True, answer)

    def test_the_picture_is_saved_with_all_it_needs(self):
        self.open("#live=blink,link,classic,8&ops=insert:sequential,40,0,10")
        with self.page.expect_download() as saved:
            self.page.click("#save-svg")
        text = open(saved.value.path()).read()
        root = xml.fromstring(text)
        self.assertEqual(root.tag, f"{SVG}svg")
        boxes = [g for g in root.iter(f"{SVG}g") if "node" in g.get("class", "").split()]
        self.assertEqual(len(boxes), self.page.locator("svg.tree .node").count())
        self.assertNotIn("var(", text)
        self.assertNotIn("color-mix", text)
        self.assertRegex(text, r"\.node \.box \{ fill: #[0-9a-f]{6}")

    def test_a_file_is_not_in_a_link(self):
        self.open()
        self.open_text("mine.jsonl", self.trace)
        self.page.click("#share")
        self.assertIn("not part of a link", self.page.inner_text("#trouble-text"))

    def test_names_in_a_trace_are_text(self):
        self.open()
        evil = '<img src=x onerror="globalThis.hurt=1">'
        text = self.trace.replace('"l0"', json.dumps(evil))
        self.open_text("evil.jsonl", text)
        self.press("End", "3", "k", "k")
        self.press("2", "5", "4")
        self.assertIsNone(self.page.evaluate("() => globalThis.hurt ?? null"))
        self.assertEqual(self.page.locator("main img").count(), 0)
