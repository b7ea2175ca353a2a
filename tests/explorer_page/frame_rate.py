#!/usr/bin/env python3
"""Prints how many frames a second the page makes while it plays, pans and zooms a large tree, in headless Chromium.

usage: frame_rate.py PATH_OF_ESPALIER [KEYS ...]        (KEYS: 1048576 if nothing is said)

For people: a busy machine gives other numbers, so no test asks for them.
"""

import os
import pathlib
import sys
import time

import run

MEASURE = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  const gather = async (n, what) => {
    const times = [];
    for (let i = 0, last = await frame(); i < n; ++i) {
      what(i);
      const now = await frame();
      times.push(now - last);
      last = now;
    }
    times.sort((a, b) => a - b);
    return [1000 * n / times.reduce((a, b) => a + b), times[n >> 1], times[Math.floor(n * 0.95)]];
  };
  const found = {};
  espalier.step(-Infinity);
  espalier.set_speed(1000);
  espalier.player.play();
  found.playing = await gather(240, () => {});
  espalier.player.pause();
  for (let i = 0; i < 6; ++i) espalier.pane.zoom(0.5);
  await frame();
  await frame();
  found.panning = await gather(240, (i) => espalier.pane.pan(i < 120 ? 0.02 : -0.02));
  found.zooming = await gather(120, (i) => espalier.pane.zoom(i % 2 ? 0.5 : 2));
  return found; }"""


def measure(page, explorer, keys):
    from support import random_inserts

    begin = time.monotonic()
    page.goto("about:blank")
    page.goto(f"{explorer.url}/#live=blink,link,classic,12,{keys},random,1")
    page.wait_for_selector("html[data-ready]", timeout=600000)
    print(f"{page.locator('.facts-line').inner_text()}: built, sent and drawn in {time.monotonic() - begin:.1f} s")
    page.evaluate("(doing) => espalier.run(doing, 4)", random_inserts(4000, most=2**63))
    for what, (rate, median, slow) in page.evaluate(MEASURE).items():
        print(f"  {what}: {rate:.0f} frames a second, median {median:.1f} ms, 95 of 100 within {slow:.1f} ms")


def main():
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit("frame_rate.py needs the path of the built espalier; see its first lines.")
    run.use_project_environment()
    os.environ["ESPALIER_CLI"] = str(pathlib.Path(sys.argv[1]).resolve())
    os.environ["ESPALIER_BROWSER"] = run.find_browser() or sys.exit("Chromium is missing; scripts/setup installs it.")
    from support import Explorer, browser

    explorer = Explorer()
    page = browser().new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(600000)
    for keys in map(int, sys.argv[2:] or ["1048576"]):
        measure(page, explorer, keys)
    explorer.close()


if __name__ == "__main__":
    main()
