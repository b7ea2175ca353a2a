"""What is told apart without colour: retries, latches, nodes not posted, the ways of several teams; and calm pages."""

import json

from support import PageTest


def node(name, level, keys, children=None, right=None, high=None, version=0):
    made = {"n": name, "level": level, "version": version, "dead": False, "right": right, "high": high, "keys": keys}
    return made | ({"children": children} if children else {})


START = {
    "root": "i0",
    "nodes": [
        node("i0", 1, ["0", "50", "90"], ["l0", "l1", "l2"]),
        node("l0", 0, ["10", "20", "30", "40"], right="l1", high="49"),
        node("l1", 0, ["50", "60", "70", "80"], right="l2", high="89"),
        node("l2", 0, ["90", "95"]),
    ],
    "lane": [],
}
HEADER = {
    "trace": "espalier",
    "format": 1,
    "index": "blink",
    "protocol": "link",
    "upper": "classic",
    "slots": 8,
    "key": "u64",
    "device": "cpu",
    "team": "thread",
    "clock": "step",
    "start": START,
}
# Team 0 has l0 latched; team 1 finds it so and tries again; team 2 is on its way to l2. Then l1 is split.
STEPS = [
    (0, {"e": "begin", "op": "insert", "key": "15"}),
    (0, {"e": "reach", "n": "i0", "by": "root"}),
    (0, {"e": "reach", "n": "l0", "by": "child"}),
    (0, {"e": "latch", "n": "l0", "version": 0}),
    (1, {"e": "begin", "op": "insert", "key": "16"}),
    (1, {"e": "reach", "n": "i0", "by": "root"}),
    (1, {"e": "reach", "n": "l0", "by": "child"}),
    (2, {"e": "begin", "op": "find", "key": "95"}),
    (2, {"e": "reach", "n": "i0", "by": "root"}),
    (2, {"e": "reach", "n": "l1", "by": "child"}),
    (2, {"e": "reach", "n": "l2", "by": "link"}),
    (1, {"e": "retry", "n": "l0", "why": "busy"}),
    (3, {"e": "begin", "op": "insert", "key": "65"}),
    (3, {"e": "reach", "n": "l1", "by": "child"}),
    (3, {"e": "latch", "n": "l1", "version": 0}),
    (3, {"e": "split", "n": "l1", "new": "l3", "keep": 2}),
    (3, {"e": "link", "n": "l1", "right": "l3", "keep": 2, "high": "69"}),
    (1, {"e": "reach", "n": "l0", "by": "again"}),
]
AFTER_RETRY, ALL = 12, len(STEPS)


def trace_text():
    events = [{"i": i, "t": i, "w": w} | e for i, (w, e) in enumerate(STEPS)]
    final = {
        "root": "i0",
        "nodes": [
            START["nodes"][0],
            START["nodes"][1] | {"version": 1},
            node("l1", 0, ["50", "60"], right="l3", high="69", version=1),
            START["nodes"][3],
            node("l3", 0, ["70", "80"], right="l2", high="89"),
        ],
        "lane": [],
    }
    end = {"end": True, "events": len(events), "lost": 0, "final": final}
    return "".join(json.dumps(line) + "\n" for line in [HEADER, *events, end])


class Marks(PageTest):
    @classmethod
    def make_arguments(cls):
        import pathlib

        path = pathlib.Path(cls.folder.name) / "meeting.jsonl"
        path.write_text(trace_text())
        return ("--trace", path)

    def at(self, position):
        self.open()
        self.page.evaluate("(at) => espalier.go(at)", position)
        self.drawn()

    def classes(self, name):
        return self.page.get_attribute(f'svg.tree .node[data-n="{name}"]', "class").split()

    def dashes(self, selector):
        return self.page.eval_on_selector(selector, "(x) => getComputedStyle(x).strokeDasharray")

    def test_a_retry_has_a_sign_and_a_border_of_its_own(self):
        self.at(AFTER_RETRY - 1)
        self.assertNotIn("retrying", self.classes("l0"))
        self.assertEqual(self.page.locator(".mark-retry").count(), self.page.locator("#legend .mark-retry").count())
        self.press("ArrowRight")
        self.assertIn("retrying", self.classes("l0"))
        sign = self.page.locator('svg.tree .node[data-n="l0"] .mark-retry')
        self.assertEqual((sign.locator("circle").count(), sign.locator("path").count()), (1, 1))
        self.assertEqual(self.facts()["retry"], 1)
        self.assertIn("tries again at l0: another team has its latch", self.now())
        self.press("2")
        self.page.click('svg.tree .node[data-n="l0"] .box', force=True)
        self.drawn()
        self.assertIn("team 1 tries again here", self.page.inner_text("#panel-node"))
        self.press("ArrowLeft")
        self.assertNotIn("retrying", self.classes("l0"))

    def test_no_two_states_share_shape_and_border(self):
        self.at(AFTER_RETRY)
        retry_border = self.dashes('svg.tree .node[data-n="l0"] .box')
        self.page.evaluate("(at) => espalier.go(at)", ALL)
        self.drawn()
        latched, loose, rest = (self.dashes(f'svg.tree .node[data-n="{n}"] .box') for n in ("l0", "l3", "i0"))
        self.assertEqual(len({retry_border, loose, rest}), 3, "borders differ in their dashes")
        self.assertEqual(latched, rest)
        self.assertEqual(self.page.locator('svg.tree .node[data-n="l0"] .mark-latch rect').count(), 1)
        self.assertEqual(self.page.locator('svg.tree .node[data-n="l3"] .mark-loose').count(), 1)
        self.assertEqual(self.page.locator('svg.tree .node[data-n="l3"] .hatching').count(), 1)

    def test_each_team_has_its_way_and_its_number(self):
        self.at(AFTER_RETRY - 1)
        ways = self.page.evaluate("() => [...espalier.pane.tree.workers.values()].map((w) => [w.w, w.path])")
        self.assertEqual(sorted(ways), [[0, ["i0", "l0"]], [1, ["i0", "l0"]], [2, ["i0", "l1", "l2"]]])
        lines = self.page.locator("svg.tree path.team")
        self.assertEqual(lines.count(), 3)
        self.assertEqual(len({lines.nth(i).get_attribute("stroke-dasharray") for i in range(3)}), 3)
        self.assertEqual(sorted(self.page.locator("svg.tree .mark-team text").all_text_contents()), ["0", "1", "2"])
        self.assertEqual(self.page.locator("svg.tree .mark-team.current text").all_text_contents(), ["2"])
        self.press("ArrowLeft", "ArrowLeft")
        short = self.page.evaluate("() => espalier.pane.tree.workers.get(2).path")
        self.assertEqual(short, ["i0"], "a way is as long as the team has come")
        self.press("5")
        said = self.page.inner_text("#panel-teams")
        for team in ("Thread 0", "Thread 1", "Thread 2"):
            self.assertIn(team, said)

    def test_saved_pictures_have_all_signs(self):
        self.at(AFTER_RETRY)
        with self.page.expect_download() as saved:
            self.press("s")
        with open(saved.value.path()) as file:
            text = file.read()
        for part in ('class="mark-retry"', 'class="mark-latch"', 'class="team', 'class="mark-team', 'data-n="l2"'):
            self.assertIn(part, text)


class Calm(PageTest):
    live = "#live=blink,link,classic,8&ops=insert:sequential,8,0,10"

    def moving(self):
        return self.page.evaluate(
            """() => [...document.querySelectorAll("*")].filter((x) => {
                const style = getComputedStyle(x);
                const lasts = (text) => text.split(",").some((t) => parseFloat(t) > 0);
                const moves = style.animationName !== "none" && lasts(style.animationDuration);
                return moves || lasts(style.transitionDuration);
            }).map((x) => x.tagName + "." + x.className)"""
        )

    def test_who_asks_for_less_motion_sees_the_end_at_once(self):
        self.open(self.live)
        self.assertEqual(self.moving(), [])
        self.insert("45")
        self.assertEqual(self.position(), self.last())
        self.assertEqual(self.page.get_attribute("#play", "aria-label"), "Play")

    def test_others_see_a_key_on_its_way(self):
        self.page.emulate_media(reduced_motion="no-preference")
        self.open(self.live)
        self.page.select_option("#speed", "1")
        before = self.last()
        self.insert("45")
        self.assertLess(self.position(), self.last())
        self.assertGreaterEqual(self.position(), before)
        self.assertEqual(self.page.get_attribute("#play", "aria-label"), "Pause")
        self.page.click("#play")
