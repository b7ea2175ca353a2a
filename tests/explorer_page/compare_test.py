"""Two traces on one clock."""

import os
import pathlib
import re
import shlex
import subprocess

from support import Explorer, PageTest, random_inserts


class CompareTraces(PageTest):
    @classmethod
    def make_arguments(cls):
        recorder = Explorer()
        arguments = []
        for protocol in ("link", "couple"):
            path = pathlib.Path(cls.folder.name) / f"{protocol}.jsonl"
            path.write_text(
                recorder.record({"index": "blink", "protocol": protocol, "slots": 8}, [random_inserts(80)], threads=2)
            )
            arguments += ["--trace", path]
        recorder.close()
        return arguments

    def positions(self):
        return self.page.evaluate("() => espalier.panes.map((p) => p.replay.at)")

    def test_both_are_there_and_move_together(self):
        self.open()
        self.assertEqual(self.page.locator(".pane").count(), 2)
        self.assertIn("link.jsonl beside couple.jsonl", " ".join(self.page.inner_text("#source").split()))
        self.page.select_option("#clock", "events")
        self.page.evaluate("() => espalier.go(50)")
        self.drawn()
        self.assertEqual(self.positions(), [50, 50])
        self.press("ArrowLeft")
        self.assertEqual(self.positions(), [49, 49])

    def test_by_operations_both_have_done_as_many(self):
        self.open()
        self.page.select_option("#clock", "operations")
        for tick in self.page.evaluate("""() => {
                const ends = espalier.panes[0].source.trace.events.filter((e) => e.e === "end");
                return [0, 20, 40, 60].map((k) => espalier.clock.tick_of(0, ends[k].i + 1)); }"""):
            self.page.evaluate("(tick) => espalier.go(tick)", tick)
            done = self.page.evaluate("() => espalier.panes.map((p) => p.tree.operations)")
            self.assertEqual(done[0], done[1])

    def test_by_time_neither_is_ahead(self):
        self.open()
        self.page.select_option("#clock", "time")
        self.page.evaluate("() => espalier.go(Math.floor(espalier.clock.last / 2))")
        last, following = self.page.evaluate("""() => [espalier.panes.map((p) => p.replay.event()?.t ?? 0),
            espalier.panes.map((p) => p.source.trace.events[p.replay.at]?.t ?? Infinity)]""")
        self.assertLess(max(last), min(following))

    def test_at_the_end_both_are_at_their_end(self):
        self.open()
        for way in ("events", "operations", "time"):
            self.page.select_option("#clock", way)
            self.press("End")
            self.assertEqual(
                self.positions(), self.page.evaluate("() => espalier.panes.map((p) => p.replay.length)"), way
            )
            self.assertEqual(self.facts(0)["keys"], self.facts(1)["keys"])

    def test_a_link_holds_both(self):
        self.open("#trace=t2&beside=t1&clock=operations&at=30")
        self.assertIn("couple.jsonl beside link.jsonl", " ".join(self.page.inner_text("#source").split()))
        self.assertEqual(self.position(), 30)
        self.assertEqual(self.page.input_value("#clock"), "operations")

    def test_the_second_can_be_closed(self):
        self.open()
        self.press("c")
        self.assertEqual(self.page.locator(".pane").count(), 1)
        self.assertFalse(self.page.is_visible("#clock"))


class CompareBenchmarks(PageTest):
    """The commands that docs/explorer.md gives; two runs on a CPU, since a GPU may be missing."""

    @classmethod
    def make_arguments(cls):
        guide = pathlib.Path(__file__).resolve().parents[2] / "docs" / "explorer.md"
        text = guide.read_text().replace("\\\n", "")  # lines that a backslash continues
        commands = re.findall(r"^espalier (bench .*--trace .*)$", text, re.MULTILINE)
        arguments = []
        for command, device in zip(commands, ("cpu", "gpu"), strict=True):
            assert f"--device {device} " in command
            words = shlex.split(command.replace("--device gpu", "--device cpu --threads 2"))
            path = pathlib.Path(cls.folder.name) / words.pop()
            subprocess.run([os.environ["ESPALIER_CLI"], *words, path], check=True, stdout=subprocess.DEVNULL)
            arguments += ["--trace", path]
        return arguments

    def keys(self, pane):
        _, nodes = self.tree_state(pane)
        return {int(key) for name, node in nodes.items() if name.startswith("l") for key in node[4]}

    def test_the_same_work_leads_to_the_same_tree(self):
        self.open()
        self.assertIn("cpu.trace beside gpu.trace", " ".join(self.page.inner_text("#source").split()))
        for way in ("events", "operations", "time"):
            self.page.select_option("#clock", way)
            self.press("Home")
            self.assertEqual([self.keys(0), self.keys(1)], [set(range(1000))] * 2, way)
            self.press("End")  # 512 keys have come, and the first 512 have gone
            self.assertEqual([self.keys(0), self.keys(1)], [set(range(512, 1512))] * 2, way)

    def test_half_of_the_operations_are_half_of_them_in_both(self):
        self.open()
        self.page.select_option("#clock", "operations")
        self.page.evaluate("() => espalier.go(Math.floor(espalier.clock.last / 2))")
        self.drawn()
        done = self.page.evaluate("() => espalier.panes.map((p) => p.tree.operations)")
        self.assertGreater(done[0], 0)
        self.assertLess(abs(done[0] - done[1]), 20)


class CompareLive(PageTest):
    def test_a_second_live_tree_is_asked_the_same(self):
        self.open("#live=blink,link,classic,8&ops=insert:sequential,30,0,3")
        self.page.click("#compare")
        self.page.select_option("#beside-what", label="Live: B+tree (latch coupling), 8 slots")
        self.page.click("#beside button[value=yes]")
        self.page.wait_for_selector(".pane >> nth=1")
        self.drawn()
        self.assertEqual((self.facts(0)["keys"], self.facts(1)["keys"]), (30, 30))
        self.insert("1 2")
        self.assertEqual((self.facts(0)["keys"], self.facts(1)["keys"]), (32, 32))
        self.open(self.link())
        self.assertEqual(self.page.locator(".pane").count(), 2)
        self.assertEqual((self.facts(0)["keys"], self.facts(1)["keys"]), (32, 32))
