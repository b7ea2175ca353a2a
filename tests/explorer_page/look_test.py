"""What is seen: search, nodes, surroundings, links, lists, colours, small windows."""

import time

from support import PageTest

THOUSAND = "#live=blink,link,classic,8,1000,random,1"
SMALL = "#live=blink,link,classic,8&ops=insert:sequential,40,0,10"


class Look(PageTest):
    def search(self, key):
        self.page.fill("#search-key", key)
        self.page.click("#search button")
        self.drawn()
        return self.page.inner_text("#said")

    def test_a_search_follows_the_key_to_its_leaf(self):
        self.open(SMALL)
        self.assertRegex(self.search("250"), r"^250 is there: i\d+, .*l\d+\.$")
        self.assertEqual(self.page.locator("svg.tree path.sought").count(), 1)
        self.assertEqual(self.page.locator("#panel-node li.sought").all_inner_texts(), ["250"])
        self.assertRegex(self.search("251"), "^251 is not there")
        self.press("Escape")
        self.assertEqual(self.page.locator("svg.tree path.sought").count(), 0)

    def check_ways(self, shape):
        self.need(shape.split(",")[0])
        self.open(f"#live={shape}")
        source = self.page.evaluate("() => espalier.pane.source.id")
        some = self.page.evaluate(
            """() => [...espalier.pane.tree.nodes.values()].filter((n) => !n.children && n.keys.length)
                .slice(0, 9).map((n) => n.keys[0])"""
        )
        for key in [*some, "0", "123456", "18446744073709551615"]:
            expected = self.explorer.ask_json(f"sources/{source}/path?key={key}&at=0")
            way = self.page.evaluate(
                "(key) => { espalier.go(0); espalier.search(key); return espalier.pane.way; }", key
            )
            self.assertEqual((way["found"], way["path"]), (expected["found"], expected["path"]), f"{key} in {shape}")

    def test_the_way_is_that_of_the_server(self):
        self.check_ways("blink,link,classic,8,1000,random,1")

    def test_the_way_by_the_express_lane_is_that_of_the_server(self):
        self.check_ways("blink,link,express,8,1000,random,1")

    def test_the_way_in_a_static_tree_is_that_of_the_server(self):
        self.check_ways("static,none,,4,1000,random,1")

    def test_the_way_in_a_radix_tree_is_that_of_the_server(self):
        self.check_ways("radix,none,,256,300,random,1")

    def test_a_search_for_no_key_gets_a_sentence(self):
        self.open(SMALL)
        self.search("pear")
        self.assertIn("pear is not a key", self.page.inner_text("#trouble-text"))

    def test_a_click_shows_keys_high_key_fill_and_version(self):
        self.open(SMALL)
        node = self.page.locator('svg.tree .node[data-n^="l"]').first
        name = node.get_attribute("data-n")
        node.click()
        self.drawn()
        said = self.page.inner_text("#panel-node")
        self.assertIn(name, said)
        for word in ("High key", "Fill", "Version", "Right link"):
            self.assertIn(word, said)
        keys = self.page.locator("#panel-node .keys li:not(.spare)").all_inner_texts()
        self.assertEqual(keys, self.tree_state()[1][name][4])

    def test_the_keyboard_walks_over_nodes(self):
        self.open(SMALL)
        chosen = lambda: self.page.evaluate("() => espalier.pane.chosen")
        self.press("k")
        root = chosen()
        self.assertEqual(root, self.tree_state()[0])
        self.press("k", "l")
        second = chosen()
        self.assertNotEqual(second, root)
        self.press("j")
        self.assertEqual(self.tree_state()[1][chosen()][2], second)

    def test_many_leaves_are_a_heat_map_and_a_node_has_surroundings(self):
        self.open("#live=blink,link,classic,8,20000,random,1")
        self.assertGreaterEqual(self.page.locator("svg.tree .heat[data-level='0']").count(), 1)
        box = self.page.locator("svg.tree .heat[data-level='0']").bounding_box()
        self.page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.shows("svg.tree .heat[data-level='0']", 0)
        chosen = self.page.evaluate("() => espalier.pane.chosen")
        self.assertEqual(self.page.locator(f'svg.tree .node.chosen[data-n="{chosen}"]').count(), 1)
        self.assertGreater(self.page.locator("svg.tree .node .key").count(), 8)
        self.press("0")
        self.assertEqual(self.page.locator("svg.tree .heat[data-level='0']").count(), 1)

    def test_a_link_shows_the_same_again(self):
        self.open(SMALL)
        self.insert("7 13 444")
        self.search("130")
        self.press("ArrowLeft", "ArrowLeft", "ArrowLeft", "+", "3")
        link = self.link()
        before = (
            self.tree_state(),
            self.position(),
            self.page.evaluate("() => espalier.pane.chosen"),
            self.page.evaluate("() => espalier.pane.view"),
        )
        self.open(link)
        after = (
            self.tree_state(),
            self.position(),
            self.page.evaluate("() => espalier.pane.chosen"),
            self.page.evaluate("() => espalier.pane.view"),
        )
        self.assertEqual(before[:3], after[:3])
        self.assertAlmostEqual(before[3]["from"], after[3]["from"], delta=0.01)
        self.assertEqual(self.page.input_value("#search-key"), "130")
        self.assertTrue(self.page.is_visible("#panel-nodes"))

    def test_a_link_is_followed_however_late_the_server_answers(self):
        def late(route):
            time.sleep(0.6)
            route.continue_()

        self.page.route("**/api/v1/info", late)
        try:
            self.open("#live=blink,couple,classic,12,500,random,1")
        finally:
            self.page.unroute("**/api/v1/info")
        self.assertIn("B+tree (latch coupling), 12 slots", self.page.inner_text("#source"))

    def test_a_link_that_makes_no_sense_still_opens(self):
        for fragment in (
            "#live=pear&at=-4&node=<b>&find=x",
            "#live=blink,link,classic,8&ops=insert:9;fly:7;insert:random,1;drop&at=99999999&from=8&to=2",
        ):
            self.open(fragment)
            self.assertEqual(self.page.locator(".pane").count(), 1)
        self.assertEqual(self.facts()["keys"], 1)

    def test_a_link_to_a_trace_that_is_not_there_says_so(self):
        self.open("#trace=t9")
        self.assertTrue(self.page.is_visible("#trouble"))
        self.assertEqual(["404" in said for said in self.errors], [True])
        self.errors.clear()
        self.assertEqual(self.page.locator(".pane").count(), 1)

    def test_the_list_of_nodes_says_what_the_picture_shows(self):
        self.open(SMALL)
        self.press("3")
        rows = self.page.locator("#panel-nodes .row")
        nodes = self.tree_state()[1]
        self.assertEqual(rows.count(), sum(not node[1] for node in nodes.values()))
        rows.nth(2).click()
        self.drawn()
        chosen = self.page.evaluate("() => espalier.pane.chosen")
        self.assertIn(chosen, rows.nth(2).inner_text())
        self.assertEqual(self.page.get_attribute("#panel-nodes .row >> nth=2", "aria-selected"), "true")

    def test_light_and_dark(self):
        self.open(SMALL)
        ground = lambda: self.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        light = ground()
        self.page.emulate_media(color_scheme="dark")
        dark = ground()
        self.assertNotEqual(light, dark)
        self.page.click("#theme")
        self.assertEqual(ground(), light)
        self.press("t")
        self.page.emulate_media(color_scheme="light")
        self.assertEqual(ground(), dark)
        self.press("t")
        self.assertEqual(ground(), light)

    def test_a_telephone_shows_it_without_scrolling_sideways(self):
        self.page.set_viewport_size({"width": 390, "height": 844})
        self.open(SMALL)
        self.assertLessEqual(self.page.evaluate("() => document.documentElement.scrollWidth"), 390)
        self.assertTrue(self.page.is_visible("#play"))
        self.assertGreater(self.page.locator("svg.tree .node").count(), 2)

    def test_every_control_has_a_name(self):
        self.open(SMALL)
        nameless = self.page.evaluate(
            """() => [...document.querySelectorAll("button, input:not([hidden]), select, textarea")].filter((x) =>
            !(x.getAttribute("aria-label") || x.textContent.trim() || x.labels?.length)).map((x) => x.outerHTML)"""
        )
        self.assertEqual(nameless, [])

    def test_nothing_comes_from_elsewhere(self):
        asked = []
        self.page.on("request", lambda request: asked.append(request.url))
        self.open(SMALL)
        self.assertEqual([url for url in asked if not url.startswith((self.explorer.url, "about:"))], [])
