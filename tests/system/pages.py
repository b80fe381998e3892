"""Pages of --report in a real browser, in light and in dark."""

import base64
import json
import os
import re

from harness import Case, Process, need_program, patience

SCHEMES = {"dark": "0", "light": "1"}  # as Chromium counts them

# Put before all else: what goes wrong in the page.
WATCH = """<script>
const wrong = [];
addEventListener("error", (event) => wrong.push(String(event.message ?? event.target)), true);
addEventListener("securitypolicyviolation", (event) => wrong.push(event.violatedDirective));
for (const kind of ["error", "warn"]) console[kind] = (...words) => wrong.push(words.join(" "));
</script>"""

# Put after all else: what a person would see, as JSON. Lines are coloured, all else is grey.
LOOK = r"""<script>
setTimeout(() => {
    const brightness = (colour) => {
        const [r, g, b] = colour.match(/\w\w/g).map((hex) => parseInt(hex, 16) / 255)
            .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue("--" + name).trim();
    const contrast = (name) => {
        const both = [brightness(colour(name)), brightness(colour("paper"))];
        return Math.max(...both) / Math.min(...both);
    };
    const ink = (canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let i = 0; i < data.length; i += 4) {
            const [r, g, b, a] = data.slice(i, i + 4);
            count += a > 128 && Math.max(r, g, b) - Math.min(r, g, b) > 60;
        }
        return count;
    };
    const text = (element) => element?.textContent ?? null;
    const seen = {
        wrong,
        dark: matchMedia("(prefers-color-scheme: dark)").matches,
        paper: brightness(getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3)
            .map((c) => Number(c).toString(16).padStart(2, "0")).join("")),
        contrasts: Object.fromEntries(["ink", "soft", ...Array(8).keys()].map((name) =>
            [name, contrast(typeof name === "number" ? "line-" + name : name)])),
        title: document.title,
        command: text(document.querySelector(".command")),
        sections: [...document.querySelectorAll("h2")].map(text),
        cells: [...document.querySelectorAll("td")].map(text),
        foreign: document.querySelectorAll("#page script, #page img, #page b").length,
        wide: document.documentElement.scrollWidth > innerWidth,
        charts: [...document.querySelectorAll("figure")].map((figure) => ({
            title: text(figure.querySelector("figcaption")),
            points: Number(figure.dataset.points),
            legend: [...figure.querySelectorAll(".u-series:not(:first-child) .u-label")].map(text),
            ink: [...figure.querySelectorAll("canvas")].map(ink),
        })),
    };
    const told = document.body.appendChild(document.createElement("pre"));
    told.id = "seen";
    told.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(seen))));
}, 100);
</script>"""


class PageCase(Case):
    def setUp(self):
        super().setUp()
        self.page = os.path.join(self.scratch, "out.html")

    def look(self, scheme):
        """What stands on the page."""
        browser = need_program("chromium")
        with open(self.page, encoding="utf-8") as file:
            page = file.read()
        self.assertLess(len(page), 3_000_000)
        probed = os.path.join(self.scratch, f"probed-{scheme}.html")
        with open(probed, "w", encoding="utf-8") as file:
            file.write(page.replace("<head>", "<head>" + WATCH, 1).replace("</body>", LOOK + "</body>", 1))
        process = Process([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           f"--user-data-dir={self.folder('profile-' + scheme)}", "--window-size=1200,1000",
                           f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
                           "--virtual-time-budget=10000", "--dump-dom", f"file://{probed}"], env=self.environment)
        self.addCleanup(process.kill)
        self.assertEqual(process.wait(patience(120)), 0, process.stderr[-3000:])
        told = re.search(r'<pre id="seen">([^<]*)</pre>', process.stdout)
        self.assertTrue(told, process.stderr[-3000:])
        return json.loads(base64.b64decode(told.group(1)))

    def check(self, seen, scheme):
        """What holds for every page."""
        self.assertEqual(seen["wrong"], [])
        self.assertEqual(seen["dark"], scheme == "dark")
        self.assertEqual(seen["paper"] < 0.2, scheme == "dark")
        for name, contrast in seen["contrasts"].items():
            self.assertGreaterEqual(contrast, {"ink": 7, "soft": 4.5}.get(name, 3), name)
        self.assertEqual(seen["foreign"], 0)
        self.assertFalse(seen["wide"], "the page is wider than its window")
        for chart in seen["charts"]:
            self.assertGreater(chart["points"], 0, chart)
            self.assertEqual(len(chart["ink"]), 1, chart)
            self.assertGreater(chart["ink"][0], 100, chart)
