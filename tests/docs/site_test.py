#!/usr/bin/env python3
"""The built site in headless Chromium, from its files: desktop and phone, light and dark.

usage: site_test.py SITE [--shots FOLDER]      (with pictures: all pages in all four ways)

No page scrolls sideways, asks another machine for anything, or has an error; pictures load; the words of plots are as
large on a phone as elsewhere; the search finds. Returns 77 where Chromium or Playwright is missing.
"""

import argparse
import pathlib
import shutil
import sys

PAGES = [
    "index",
    "docs/tutorials/joins",
    "docs/howto/own-kernel",
    "docs/howto/larger-than-gpu",
    "docs/howto/sql",
    "docs/howto/cluster",
    "docs/python",
    "measured",
    "docs/comparison",
    "docs/bench",
    "docs/explorer",
    "reference/cpp",
    "reference/python",
    "reference/cli",
    "ARCHITECTURE",
    "bench/results/index",
]
WITH_PLOTS = {"index", "measured", "docs/comparison", "docs/bench", "ARCHITECTURE"}
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
USUAL = {("desktop", "light"), ("phone", "dark")}
HANG = 300_000  # milliseconds: more than a machine with any load needs
PLOTS = "() => [...document.querySelectorAll('.plot img')].filter((i) => i.offsetParent).map((i) => i.clientWidth)"
LOADED = "() => [...document.images].filter((i) => i.offsetParent && !(i.complete && i.naturalWidth)).map((i) => i.src)"


def look(browser, site, name, size, scheme, shots):
    wrong = []
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.set_default_timeout(HANG)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on(
        "request",
        lambda asked: None if asked.url.startswith(("file:", "data:")) else wrong.append(f"asks for {asked.url}"),
    )
    page.goto(f"file://{site}/{name}.html")
    page.wait_for_load_state("load")
    sideways = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
    if sideways > 0:
        wrong.append(f"scrolls sideways by {sideways} pixels")
    wrong += [f"{src} did not load" for src in page.evaluate(LOADED)]
    plots = page.evaluate(PLOTS)
    if name in WITH_PLOTS and not plots:
        wrong.append("shows no plot")
    wrong += [f"a plot is {wide} pixels wide: its words are too small" for wide in plots if wide < 600]
    if page.evaluate("() => document.documentElement.dataset.theme") != scheme:
        wrong.append("has not the colours that the system asks for")
    if shots:
        page.screenshot(path=f"{shots}/{name.replace('/', '-')}-{size}-{scheme}.png")
    page.close()
    return [f"{name}, {size}, {scheme}: {sentence}" for sentence in wrong]


def search(browser, site):
    page = browser.new_page()
    page.set_default_timeout(HANG)
    page.goto(f"file://{site}/search.html?q=tolerance")
    page.wait_for_selector("#search-results li")
    found = page.locator("#search-results li a").all_inner_texts()
    page.close()
    return [] if any("As-of" in title for title in found) else [f"the search for tolerance finds only {found}"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("site", type=pathlib.Path)
    arguments.add_argument("--shots", type=pathlib.Path)
    options = arguments.parse_args()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("Skipped: Playwright is missing; scripts/setup installs it into .venv.")
        return 77
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        print("Skipped: Chromium is missing; scripts/setup installs it.")
        return 77
    site = options.site.resolve()
    if options.shots:
        options.shots.mkdir(parents=True, exist_ok=True)
    wrong = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, chromium_sandbox=False)
        for name in PAGES:
            for size in SIZES:
                for scheme in ("light", "dark"):
                    if options.shots or name == "index" or (size, scheme) in USUAL:
                        wrong += look(browser, site, name, size, scheme, options.shots)
        wrong += search(browser, site)
        browser.close()
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
