// Makes tables and charts of the data. Words come from anywhere: they are set as text, never as HTML.
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

function addTable(parent, table) {
    const element = add(add(parent, "div", "wide"), "table", "summary");
    const is_number = (text) => /^[-+]?[\d.]+(e[-+]?\d+)?( %)?$/.test(text) || text === "" || text === "-";
    const numeric = table.head.map((_, i) => table.rows.every((row) => is_number(row[i] ?? "")));
    const addRow = (to, tag, cells) => {
        const row = add(to, "tr");
        cells.forEach((text, i) => add(row, tag, numeric[i] ? "number" : "", text));
    };
    addRow(add(element, "thead"), "th", table.head);
    const body = add(element, "tbody");
    for (const row of table.rows) addRow(body, "td", row);
    if (table.left_out) add(parent, "p", "text", `${table.left_out} more rows are left out.`);
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

// Shares of a whole, one below the other.
function addBars(parent, bars) {
    const box = add(parent, "div", "bars");
    add(box, "h3", "", bars.title);
    if (bars.text) add(box, "p", "text", bars.text);
    bars.parts.forEach((part, i) => {
        const row = add(box, "div", "bar");
        add(row, "span", "", part.name);
        const fill = add(add(row, "span", "track"), "span", "fill");
        fill.style.width = `${Math.min(1, part.share ?? 0) * 100}%`;
        fill.style.background = `var(--line-${i % COLOURS})`;
        add(row, "span", "number", `${Math.round((part.share ?? 0) * 100)} %`);
    });
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
    const main = document.getElementById("page");
    document.title = page.title;
    add(main, "h1", "", page.title);
    if (page.text) add(main, "p", "text", page.text);
    add(main, "pre", "command", page.command);
    page.sections.forEach((section, number) => {
        const part = add(main, "section");
        if (section.title) add(part, "h2", "", section.title);
        if (section.text) add(part, "p", "text", section.text);
        for (const table of section.tables) addTable(part, table);
        const bars = section.bars.length > 0 ? add(part, "div", "charts") : null;
        for (const each of section.bars) addBars(bars, each);
        const charts = add(part, "div", "charts");
        for (const chart of section.charts) addChart(charts, chart, number);
    });
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
