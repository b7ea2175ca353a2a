"""A tree of 2^20 keys. Times are printed, not judged: the machine may be busy."""

import time

from support import PageTest, random_inserts

MEASURE = """async () => {
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const times = { step: [], zoom: [], play: [] };
  const note = async (kind, what) => { what(); await drawn(); times[kind].push(espalier.frame_ms); };
  for (let i = 0; i < 24; ++i) await note("step", () => espalier.step(i % 2 ? -3 : 3));
  for (let i = 0; i < 16; ++i) await note("zoom", () => espalier.pane.zoom(i < 8 ? 0.5 : 2));
  for (let i = 0; i < 24; ++i) await note("play", () => espalier.go(espalier.clock.tick - 20));
  return times; }"""


class Large(PageTest):
    def test_two_to_the_twentieth_keys(self):
        begin = time.monotonic()
        self.open("#live=blink,link,classic,12,1048576,random,1")
        loaded = time.monotonic() - begin
        self.assertEqual(self.page.text_content("#trouble-text"), "")
        facts = self.facts()
        self.assertGreater(facts["keys"], 1000000)
        self.assertGreater(facts["leaves"], 80000)
        self.page.evaluate("(doing) => espalier.run(doing, 4)", random_inserts(4000, most=2**63))
        self.assertGreater(self.page.locator("svg.tree .heat").count(), 1)
        self.assertLess(self.page.locator("svg.tree *").count(), 4000)
        times = self.page.evaluate(MEASURE)
        for kind, values in times.items():
            values.sort()
            print(f"  {kind}: median {values[len(values) // 2]:.1f} ms a frame, slowest {values[-1]:.1f} ms")
        print(f"  built, sent and drawn in {loaded:.1f} s, {facts['leaves']} leaves")
        leaf = self.page.evaluate("() => espalier.pane.arranged().rows.at(-1).nodes[50000].n")
        self.page.evaluate("(leaf) => { espalier.choose(leaf); espalier.pane.expand(leaf); }", leaf)
        self.drawn()
        self.assertEqual(self.page.locator(f'svg.tree .node.chosen[data-n="{leaf}"] .name').count(), 2)
        self.assertEqual(
            self.page.locator("#panel-node .keys li:not(.spare)").all_inner_texts(),
            self.page.evaluate("(leaf) => espalier.pane.tree.nodes.get(leaf).keys", leaf),
        )
