"""Try it: the real library behind the forms of the page."""

from support import PageTest


class Live(PageTest):
    empty = "#live=blink,link,classic,8"

    def test_the_first_page_has_a_tree_to_play_with(self):
        self.open()
        self.assertIn("Live: B-link tree", self.page.inner_text("#source"))
        self.assertGreater(self.facts()["keys"], 10)

    def test_the_ninth_key_splits_a_leaf_of_eight_slots(self):
        self.open(self.empty)
        self.assertEqual(self.insert("10 20 30 40 50 60 70 80"), "Inserted 8 of 8.")
        self.assertEqual(self.facts()["leaves"], 1)
        before = self.last()
        self.assertEqual(self.insert("45"), "Inserted 1 of 1.")
        self.assertEqual((self.facts()["leaves"], self.facts()["keys"]), (2, 9))
        kinds = self.page.evaluate("(from) => espalier.pane.source.trace.events.slice(from).map((e) => e.e)", before)
        self.assertIn("split", kinds)
        keys = sorted(self.page.locator("svg.tree .node .key").all_text_contents(), key=int)
        for key in ("10", "45", "80"):
            self.assertIn(key, keys)
        self.page.evaluate("(at) => espalier.go(at)", before)
        self.drawn()
        self.assertEqual((self.facts()["leaves"], self.facts()["keys"]), (1, 8))

    def test_a_key_is_inserted_once(self):
        self.open(self.empty)
        self.insert("5")
        self.assertEqual(self.insert("5"), "Inserted 0 of 1, 1 were there already.")
        self.assertEqual(self.facts()["keys"], 1)

    def test_keys_are_looked_up_and_erased(self):
        self.open(self.empty)
        self.insert("1 2 3")
        self.page.fill("#one-keys", "2 9")
        self.page.click("#one button[value=find]")
        self.assertEqual(self.answer(), "Found 1 of 2, 1 were not there.")
        self.page.click("#one button[value=erase]")
        self.assertEqual(self.answer(), "Erased 1 of 2, 1 were not there.")
        self.assertEqual(self.facts()["keys"], 2)

    def test_a_range(self):
        self.open(self.empty)
        self.insert("1 5 9 13 400")
        self.page.fill("#range-from", "5")
        self.page.fill("#range-to", "100")
        self.page.click("#range button")
        self.assertEqual(self.answer(), "3 keys: 5, 9, 13.")

    def series(self, order, n, first, second):
        self.page.select_option("#series-order", order)
        self.page.fill("#series-n", str(n))
        self.page.fill("#series-from", first)
        self.page.fill("#series-to", second)
        self.page.click("#series button")
        return self.answer()

    def test_series(self):
        self.open(self.empty)
        self.assertEqual(self.series("sequential", 30, "0", "2"), "Inserted 30 of 30.")
        self.assertEqual(self.series("reversed", 30, "1", "2"), "Inserted 30 of 30.")
        self.assertEqual(self.facts()["keys"], 60)
        self.assertRegex(self.series("random", 40, "1000", "999999"), r"Inserted (3\d|40) of 40")
        leaves = [
            keys for _, dead, _, _, keys, children, *_ in self.tree_state()[1].values() if children is None and not dead
        ]
        self.assertEqual(sum(map(len, leaves)), self.facts()["keys"])

    def test_a_pasted_list(self):
        self.open(self.empty)
        self.page.click("summary")
        self.page.fill("#pasted-keys", "7, 8;9\n[18446744073709551615]")
        self.page.click("#pasted button[value=insert]")
        self.assertEqual(self.answer(), "Inserted 4 of 4.")
        self.page.fill("#search-key", "18446744073709551615")
        self.press("Enter")
        self.page.click("#search button")
        self.drawn()
        self.assertIn("18446744073709551615 is there", self.page.inner_text("#said"))

    def test_what_is_not_a_key_gets_a_sentence(self):
        self.open(self.empty)
        self.assertIn("18446744073709551616 is not a key", self.insert("18446744073709551616"))
        self.assertIn("Give at least one key", self.insert("pear"))
        self.assertIn("bad", self.page.get_attribute("#answer", "class"))
        self.assertEqual(self.facts()["keys"], 0)

    def test_another_tree(self):
        self.open(self.empty)
        self.page.select_option("#shape", label="B+tree (latch coupling)")
        self.page.select_option("#slots", "12")
        self.page.fill("#fill", "500")
        self.page.click("#new-tree button")
        self.answer()
        self.assertIn("B+tree (latch coupling), 12 slots", self.page.inner_text("#source"))
        self.assertEqual(self.facts()["keys"], 500)
        self.assertEqual(self.insert("123456789123"), "Inserted 1 of 1.")
        self.assertEqual(self.facts()["keys"], 501)

    def test_a_tree_that_is_not_changed_only_answers(self):
        self.need("static")
        self.open("#live=static,none,,4,100,sequential,1")
        self.assertTrue(self.page.is_disabled("#one button[value=insert]"))
        self.page.fill("#one-keys", "50 1000")
        self.page.click("#one button[value=find]")
        self.assertEqual(self.answer(), "Found 1 of 2, 1 were not there.")
        self.assertGreater(self.last(), 0)

    def test_a_radix_node_that_is_full_changes_its_kind(self):
        self.need("radix")
        self.open("#live=radix,none,,256")
        self.insert("1 2 3 4")
        before = self.last()
        self.insert("5")
        events = self.page.evaluate("(from) => espalier.pane.source.trace.events.slice(from)", before)
        change = next(e for e in events if e["e"] == "kind")
        self.assertEqual((change["from"], change["to"]), ("node4", "node16"))
        latched = [e["n"] for e in events if e["e"] == "latch"]
        self.assertIn(change["n"], latched)
        self.page.evaluate("(at) => espalier.go(at)", change["i"])
        self.drawn()
        node = self.page.locator(f'svg.tree .node[data-n="{change["n"]}"]')
        self.assertIn("node4", node.text_content())
        self.assertEqual(node.locator(".mark-latch").count(), 1)
        self.press("ArrowRight")
        self.assertEqual(node.count(), 0)
        self.assertIn("node16", self.page.text_content(f'svg.tree .node[data-n="{change["new"]}"]'))
        self.assertIn(f"turns {change['n']} (node4) into {change['new']} (node16)", self.now())
        self.press("ArrowLeft")
        self.assertEqual(node.count(), 1)

    def test_a_series_too_long_gets_a_sentence(self):
        self.open(self.empty)
        self.assertIn("must be a whole number up to", self.series("sequential", 10**7, "0", "1"))
