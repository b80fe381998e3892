// Draws the charts of the data. Words come from anywhere: they are set as text, never as HTML.
"use strict";

const COLOURS = 8;
const DASHES = [[], [7, 4], [2, 3]];
const MARKS = ["solid", "dashed", "dotted"];
const HEIGHT = 250;
const FEW = 32;  // points that are drawn as such
const page = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const slots = [];  // the charts: {box, chart, section, plot}

function add(parent, tag, kind, text) {
    const element = parent.appendChild(document.createElement(tag));
    if (kind) element.className = kind;
    if (text !== undefined) element.textContent = text;
    return element;
}

function addChart(parent, chart, section) {
    const box = add(parent, "figure");
    const said = [];
    if (chart.left_out) said.push(`${chart.lines.length} of ${chart.lines.length + chart.left_out} lines`);
    if (chart.group > 1) said.push(`means of ${chart.group} points`);
    add(box, "figcaption", "", chart.title + (said.length ? ` (${said.join(", ")})` : ""));
    box.setAttribute("aria-label", chart.title);
    slots.push({ box, chart, section, plot: null });
}

function shown(value) {
    return value == null ? "" : Number(value.toPrecision(4)).toString();
}

const bandEdge = { class: "band", width: 0, points: { show: false } };

function options(slot) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const axis = (label, size) => ({
        label, labelSize: 20, labelFont: font, font, size, stroke: colour("soft"), gap: 4,
        grid: { stroke: colour("rule"), width: 1 }, ticks: { stroke: colour("rule"), width: 1 },
    });
    // As wide as its marks.
    const size = (_, marks) => 34 + 7 * Math.max(0, ...(marks ?? []).map((mark) => (mark ?? "").length));
    const values = (_, marks) => marks.map(shown);
    const least = slot.chart.top ?? 0;
    const lines = slot.chart.lines, banded = lines.filter((line) => line.low);
    const few = slot.chart.seconds.length <= FEW;
    return {
        width: slot.box.clientWidth,
        height: HEIGHT,
        scales: {
            x: { time: false },
            y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(least, (high ?? 0) * 1.05) || 1] },
        },
        axes: [{ ...axis(slot.chart.across, 34), values }, { ...axis(slot.chart.unit, size), values }],
        legend: { markers: { dash: (_, i) => MARKS[Math.floor((i - 1) / COLOURS) % MARKS.length] } },
        cursor: { sync: { key: `section ${slot.section}` } },
        series: [
            { label: "s", value: (_, value) => shown(value) },
            ...lines.map((line, i) => ({
                label: line.name,
                stroke: colour(`line-${i % COLOURS}`),
                dash: DASHES[Math.floor(i / COLOURS) % DASHES.length],
                width: 1.5,
                points: few ? { show: true, size: 6, fill: colour(`line-${i % COLOURS}`) } : undefined,
                value: (_, value) => shown(value),
            })),
            ...banded.flatMap(() => [bandEdge, bandEdge]),
        ],
        bands: banded.map((line, i) => ({
            series: [1 + lines.length + 2 * i, 2 + lines.length + 2 * i],
            fill: `${colour(`line-${lines.indexOf(line) % COLOURS}`)}33`,
        })),
        hooks: {
            // For tests: what was really drawn.
            draw: [(plot) => {
                slot.box.dataset.points =
                    plot.data.slice(1, 1 + lines.length).flat().filter((value) => value != null).length;
            }],
        },
    };
}

function draw(slot) {
    slot.plot?.destroy();
    const { seconds, lines } = slot.chart;
    const bands = lines.filter((line) => line.low).flatMap((line) => [line.high, line.low]);
    slot.plot = new uPlot(options(slot), [seconds, ...lines.map((line) => line.values), ...bands], slot.box);
}

function build() {
    for (const place of document.querySelectorAll("[data-section]")) {
        const number = Number(place.dataset.section);
        for (const chart of page.sections[number].charts) addChart(place, chart, number);
    }
    for (const slot of slots) {
        const some = slot.chart.lines.some((line) => line.values.some((value) => value != null));
        if (some) {
            draw(slot);
        } else {
            slot.box.dataset.points = 0;
            add(slot.box, "p", "none", "Nothing to draw.");
        }
    }
    const drawn = slots.filter((slot) => slot.plot);
    dark.addEventListener("change", () => drawn.forEach(draw));
    addEventListener("resize", () => {
        for (const slot of drawn) slot.plot.setSize({ width: slot.box.clientWidth, height: HEIGHT });
    });
}

build();
