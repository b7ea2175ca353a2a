"""Trees that are too large to come to the page: seen from afar by cells, and near by the surroundings of a node."""

from support import PageTest, random_inserts

# 4,194,304 keys are 466,000 leaves of 12 slots: more than the page takes as a whole.
FAR = "#live=blink,link,classic,12,4194304,sequential,1"


class Far(PageTest):
    def test_a_radix_tree_of_half_a_million_keys(self):
        self.need("radix")
        self.open("#live=radix,none,,256,524288,random,1")
        self.assertEqual(self.facts()["leaves"], 524288)
        key = self.page.evaluate("() => espalier.pane.far.summary.levels.at(-1).cells[500].low")
        self.page.fill("#search-key", key)
        self.page.click("#search button")
        self.page.wait_for_selector("#panel-node .keys li.sought")
        self.assertEqual(self.page.inner_text("#panel-node .keys li.sought"), key)
        self.assertEqual(self.page.locator("svg.tree path.sought").count(), 1)
        self.press("i")
        self.assertIn("node", self.page.inner_text("#panel-node .facts"))

    def settled(self):
        """Waits until what was asked of the server has come."""
        self.page.wait_for_function("() => espalier.pane.far.summary.at === espalier.pane.replay.at")
        self.drawn()

    def test_a_tree_of_four_million_keys(self):
        asked = []
        self.page.on("request", lambda request: asked.append(request.url))
        self.open(FAR)
        self.assertEqual(self.page.text_content("#trouble-text"), "")
        facts = self.facts()
        self.assertEqual(facts["keys"], 4194304)
        self.assertGreater(facts["leaves"], 300000)
        whole = [url for url in asked if url.endswith("/trace") or "/state?" in url]
        self.assertEqual(whole, [], "it was not sent as a whole")
        self.assertGreater(self.page.locator("svg.tree .heat").count(), 1)
        self.assertLess(self.page.locator("svg.tree *").count(), 4000)

        # A double click on the leaves shows some of them with their keys.
        box = self.page.locator("svg.tree .heat[data-level='0']").bounding_box()
        self.page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.page.wait_for_function("() => espalier.pane.far.part !== null")
        self.drawn()
        self.assertEqual(self.page.locator("svg.tree .heat").count(), 0)
        middle = self.page.evaluate("() => espalier.pane.far.middle")
        keys = self.page.evaluate("(n) => espalier.pane.tree.nodes.get(n).keys", middle)
        source = self.page.evaluate("() => espalier.pane.source.id")
        answer = self.explorer.ask_json(f"sources/{source}/around?at=0&n={middle}&reach=0")["state"]["nodes"]
        self.assertEqual(keys, next(node for node in answer if node["n"] == middle)["keys"])

        # The key is searched by the server; its way is drawn in the surroundings of its end.
        self.page.fill("#search-key", "3000000")
        self.page.click("#search button")
        self.page.wait_for_function("() => document.querySelector('#said').textContent.startsWith('3000000 is there')")
        self.drawn()
        self.assertIn("3000000", self.page.locator("#panel-node .keys li.sought").all_inner_texts())
        self.press("Escape", "0")
        self.page.wait_for_function("() => espalier.pane.far.part === null")

        # The library goes on behind it, and each moment can be seen.
        self.page.evaluate("(doing) => espalier.run(doing, 2)", random_inserts(500, most=2**63))
        self.settled()
        self.assertGreater(self.facts()["keys"], 4194304)
        self.press("Home")
        self.settled()
        self.assertEqual(self.facts()["keys"], 4194304)
        self.press("ArrowRight", "ArrowRight", "ArrowRight")
        self.settled()
        self.assertEqual(self.page.evaluate("() => espalier.pane.far.summary.at"), 3)
