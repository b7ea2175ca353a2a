"""The page's replay against the server's: the same tree at every moment, forwards and backwards."""

import random

from support import PageTest, by_name, random_inserts


class Replay(PageTest):
    def check_against_server(self, fragment, operations, threads):
        self.open(fragment)
        for doing in operations:
            self.page.evaluate("([doing, threads]) => espalier.run(doing, threads)", [doing, threads])
        source = self.page.evaluate("() => espalier.pane.source.id")
        total = self.page.evaluate("() => espalier.pane.replay.length")
        self.assertGreater(total, 100)
        moments = [0, total] + random.Random(7).sample(range(total), 12) + [total, 0]
        for at in moments:
            self.page.evaluate("(at) => espalier.go_to_position(at)", at)
            expected = self.explorer.ask_json(f"sources/{source}/state?at={at}")["state"]
            self.assertEqual(self.tree_state(), by_name(expected), f"after {at} of {total} events")

    def mixed(self, n):
        return [
            random_inserts(n),
            {"op": "erase", "series": {"n": n, "order": "random", "seed": 2, "from": "0", "to": "100000"}},
            {"op": "erase", "series": {"n": n, "order": "random", "seed": 1, "from": "0", "to": "100000"}},
            random_inserts(n, seed=5),
        ]

    def test_link(self):
        self.check_against_server("#live=blink,link,classic,8", self.mixed(150), 4)

    def test_couple(self):
        self.check_against_server("#live=blink,couple,classic,8", self.mixed(150), 4)

    def test_express_lane_with_maintenance(self):
        self.check_against_server(
            "#live=blink,link,express,8", [random_inserts(200), {"op": "maintain"}, random_inserts(100, seed=3)], 2
        )

    def test_radix(self):
        self.need("radix")
        self.check_against_server("#live=radix,none,,256", self.mixed(40), 1)

    def test_radix_by_several_threads(self):
        self.need("radix")
        self.check_against_server("#live=radix,none,,256", self.mixed(150), 4)

    def test_the_regular_layout_of_a_hybrid_tree(self):
        self.need("hybrid")
        self.check_against_server("#live=hybrid,link,express,12", [*self.mixed(150), {"op": "maintain"}], 2)

    def test_a_hundred_thousand_events_are_stepped_at_once(self):
        self.open("#live=blink,link,classic,8")
        for seed in range(4):
            self.page.evaluate("(doing) => espalier.run(doing, 4)", random_inserts(4000, seed=seed + 1, most=10**9))
        took = self.page.evaluate("""() => {
            const begin = performance.now(); espalier.step(-1); espalier.step(-1); espalier.step(1);
            const steps = performance.now() - begin; const far = performance.now(); espalier.step(-Infinity);
            return [espalier.clock.last, steps, performance.now() - far]; }""")
        print(f"  {took[0]} events: three steps {took[1]:.2f} ms, all the way back {took[2]:.0f} ms")
        self.assertGreater(took[0], 100000)
        self.assertEqual(self.page.evaluate("() => espalier.pane.replay.at"), 0)
