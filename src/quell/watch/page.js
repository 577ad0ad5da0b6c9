"use strict";
// Everything that comes from the run is put in as text (textContent), never as markup.
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);
let state = null, evaluations = [], offset = 0;

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  for (const child of children) node.append(child);  // text stays text
  return node;
}
function draw(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
function clock(seconds) {
  if (seconds === null || !Number.isFinite(seconds)) return "?";
  const s = Math.max(0, Math.floor(seconds)), two = (n) => String(n).padStart(2, "0");
  const days = Math.floor(s / 86400), hours = Math.floor(s / 3600) % 24;
  const minutes = Math.floor(s / 60) % 60;
  if (days) return `${days} d ${hours}:${two(minutes)}`;
  return hours ? `${hours}:${two(minutes)}:${two(s % 60)}` : `${minutes}:${two(s % 60)}`;
}
function number(x, digits = 4) {
  if (x === null || x === undefined) return "–";
  return String(Number(x.toPrecision(digits))).replace("-", "−");
}
const fixed = (x) => (x === null || x === undefined ? "–" : x.toFixed(2).replace("-", "−"));
const now = () => Date.now() / 1000 + offset;

function scale(low, high, from, to) {
  const span = high - low || 1;
  return (x) => from + ((x - low) / span) * (to - from);
}
function ticks(low, high, n = 4) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const raw = span / n, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= raw);
  const found = [];
  for (let x = Math.ceil(low / step) * step; x <= high + step * 1e-9; x += step) found.push(x);
  return found;
}
function chart(width, height, label) {
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}
function axes(svg, x, y, [xLow, xHigh], [yLow, yHigh], bottom, left, right, about) {
  for (const t of ticks(yLow, yHigh)) {
    svg.append(draw("line", { x1: left, x2: right, y1: y(t), y2: y(t), class: "axis" }));
    svg.append(draw("text", { x: left - 6, y: y(t) + 4, "text-anchor": "end" }, number(t)));
  }
  for (const t of ticks(xLow, xHigh)) {
    if (!Number.isInteger(t)) continue;
    svg.append(draw("text", { x: x(t), y: bottom + 15, "text-anchor": "middle" }, number(t)));
  }
  svg.append(draw("text", { x: right, y: bottom + 30, "text-anchor": "end" }, about));
}
const path = (points) => points.map(([x, y], i) =>
  `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

function quantile(sorted, share) { return sorted[Math.floor(share * (sorted.length - 1))]; }

function drawTrace() {
  const rows = state.trace.filter((row) => row.elbo !== null), place = byId("trace");
  if (rows.length < 2) return nothing(place, "After the first iterations.");
  const W = 500, H = 230, L = 52, R = W - 6, T = 8, B = H - 36;
  // Early iterations may be far off: the later half decides what is in view.
  const later = rows.slice(Math.floor(rows.length / 2));
  let low = Math.min(...later.map((r) => r.elbo - 2 * (r.sd || 0)));
  let high = Math.max(...later.map((r) => r.elbo + 2 * (r.sd || 0)));
  const pad = 0.6 * (high - low) || 1; low -= pad; high += 0.4 * pad;
  const n0 = rows[0].n, n1 = rows[rows.length - 1].n;
  const x = scale(n0, n1, L, R), inside = (v) => Math.min(high, Math.max(low, v));
  const y = scale(low, high, B, T), at = (v) => y(inside(v));
  const svg = chart(W, H, "ELBO against the number of evaluations");
  axes(svg, x, y, [n0, n1], [low, high], B, L, R, "evaluations");
  const top = rows.map((r) => [x(r.n), at(r.elbo + 2 * (r.sd || 0))]);
  const bottom = rows.map((r) => [x(r.n), at(r.elbo - 2 * (r.sd || 0))]).reverse();
  svg.append(draw("path", { d: path([...top, ...bottom]) + "Z", class: "band" }));
  svg.append(draw("path", { d: path(rows.map((r) => [x(r.n), at(r.elbo)])), class: "curve" }));
  place.replaceChildren(svg);
}
function drawValues() {
  const place = byId("values"), good = evaluations.filter((e) => e[0] !== null && !e[3]);
  if (!good.length) return nothing(place, "After the first evaluations.");
  const W = 500, H = 230, L = 52, R = W - 6, T = 8, B = H - 36;
  const sorted = good.map((e) => e[0]).sort((a, b) => a - b);
  const high = sorted[sorted.length - 1];
  let low = quantile(sorted, 0.15);
  low = Math.min(low, high - 1e-9); low -= 0.15 * (high - low);
  const n = evaluations.length, x = scale(1, Math.max(2, n), L, R);
  const y = scale(low, high + 0.05 * (high - low), B, T);
  const svg = chart(W, H, "log-likelihoods in the order of evaluation; crosses are failures");
  axes(svg, x, y, [1, n], [low, high], B, L, R, "evaluation (× failed, ▾ lower)");
  evaluations.forEach((e, i) => {
    if (e[3] || e[0] === null) {
      const cx = x(i + 1), cy = B - 5;
      svg.append(draw("path", { class: "bad",
        d: `M${cx - 4} ${cy - 4}l8 8m0 -8l-8 8` }));
    } else if (e[0] < low) {
      svg.append(draw("path", { class: "dot", d: `M${x(i + 1) - 4} ${B - 4}h8l-4 6Z` }));
    } else {
      svg.append(draw("circle", { cx: x(i + 1), cy: y(e[0]), r: 2.5, class: "dot" }));
    }
  });
  place.replaceChildren(svg);
}
function drawMarginals() {
  const place = byId("marginals");
  if (!state.marginals.length) return nothing(place, "After the first iterations.");
  place.replaceChildren(...state.marginals.map((one) => {
    const W = 240, H = 92, B = H - 20, low = one.x[0], high = one.x[one.x.length - 1];
    const x = scale(low, high, 2, W - 2), y = scale(0, Math.max(...one.y) || 1, B, 6);
    const svg = chart(W, H, `density of ${one.name}`);
    const points = one.x.map((v, i) => [x(v), y(one.y[i])]);
    if (one.low !== null && one.low < one.high) {
      const within = points.filter((_, i) => one.x[i] >= one.low && one.x[i] <= one.high);
      if (within.length) {
        const [first, last] = [within[0][0], within[within.length - 1][0]];
        svg.append(draw("path", { class: "band", d: path([[first, B], ...within, [last, B]]) + "Z" }));
      }
    }
    svg.append(draw("line", { x1: 0, x2: W, y1: B, y2: B, class: "axis" }));
    svg.append(draw("path", { d: path(points), class: "curve" }));
    svg.append(draw("text", { x: 2, y: H - 5 }, number(low, 3)));
    svg.append(draw("text", { x: W - 2, y: H - 5, "text-anchor": "end" }, number(high, 3)));
    return make("figure", {}, make("figcaption", {}, one.name,
      make("span", {}, `${number(one.mean, 3)} ± ${number(one.sd, 3)}`),
      make("span", {}, `95 %: ${number(one.low, 3)} to ${number(one.high, 3)}`)), svg);
  }));
}
function nothing(place, text) { place.replaceChildren(make("p", { class: "none" }, text)); }

function fill(id, header, rows, empty) {
  const table = byId(id);
  if (!rows.length) {
    return table.replaceChildren(make("tr", {}, make("td", { class: "none" }, empty)));
  }
  const cell = (tag) => (text) => {
    const right = typeof text === "object" && text !== null && !(text instanceof Node);
    if (right) return make(tag, { class: text.class }, text.text);
    return make(tag, {}, text);
  };
  table.replaceChildren(make("tr", {}, ...header.map(cell("th"))),
    ...rows.map((row) => make("tr", {}, ...row.map(cell("td")))));
}
const right = (text) => ({ class: "number", text });
const point = (theta) => theta.map((x) => number(x)).join(", ");

function tick() {  // what changes with time alone
  if (!state) return;
  const a = state.answer, running = state.status === "running";
  const passed = now() - state.now;
  const tiles = [["Evaluations", `${state.evaluations}${state.budget ? ` / ${state.budget}` : ""}`],
    ["Failed", String(state.failed)]];
  if (running) tiles.push(["Time left", state.left === null ? "?" : clock(state.left - passed)]);
  tiles.push(["Phase", state.phase]);
  if (a.elbo !== undefined) tiles.push(["ELBO", `${fixed(a.elbo)} ± ${fixed(a.elbo_sd)}`]);
  if (state.status === "finished" && a.log_evidence !== undefined) {
    tiles.push(["Log evidence", `${fixed(a.log_evidence)} ± ${fixed(a.log_evidence_sd)}`]);
  }
  if (a.reliability !== undefined) tiles.push(["Reliability", number(a.reliability, 2), "stable below 1"]);
  if (a.components !== undefined) tiles.push(["Components", String(a.components)]);
  const end = running ? now() : state.last;
  if (state.begun !== null && end !== null) tiles.push(["Since it began", clock(end - state.begun)]);
  if (state.pace !== null) tiles.push(["Per evaluation", `${number(state.pace, 3)} s`]);
  byId("tiles").replaceChildren(...tiles.map(([name, value, about]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value,
      ...(about ? [make("span", {}, about)] : [])))));
  fill("pending", ["Point", right("For"), state.parameters.join(", ")], state.pending.map((p) =>
    [`#${p.index}${p.attempts ? `, attempt ${p.attempts + 1}` : ""}`, right(clock(now() - p.since)),
      point(p.theta)]), running ? "None just now." : "None.");
  fill("workers", ["Who", right("Evaluations"), right("Failed"), right("Seconds each"),
    right("Last answer")], state.workers.map((w) => [w.who, right(String(w.evaluations)),
    right(String(w.failed)), right(number(w.seconds, 3)), right(`${clock(now() - w.last)} ago`)]),
  "Nobody has answered yet.");
}
function show() {
  offset = state.now - Date.now() / 1000;
  document.title = `${state.evaluations}${state.budget ? `/${state.budget}` : ""} ${state.name}`;
  byId("name").textContent = state.name;
  byId("status").textContent = state.status;
  byId("status").className = `pill ${state.status}`;
  byId("words").textContent = state.words;
  const bar = byId("bar");
  bar.hidden = !state.budget;
  bar.max = state.budget || 1;
  bar.value = Math.min(state.evaluations, bar.max);
  const said = [];
  if (state.status === "finished" && state.answer.status) {
    const others = state.answer.reasons.filter((text) => text !== state.words);
    said.push(`The answer is “${state.answer.status}”.`, ...others);
  }
  byId("notes").replaceChildren(...state.notes.map((text) => make("li", { class: "note" }, text)),
    ...said.map((text) => make("li", {}, text)));
  byId("h-marginals").textContent = state.status === "finished" ? "Posterior" : "Posterior so far";
  fill("failures", ["Evaluation", "Why", "At", "Who"], state.failures.map((f) =>
    [String(f.n), { class: "error", text: f.error }, point(f.theta), f.who]).reverse(), "None.");
  drawMarginals(); drawTrace(); drawValues(); tick();
}
function listen() {
  const source = new EventSource("events");
  source.onmessage = (event) => {
    const message = JSON.parse(event.data);
    state = message.state;
    evaluations = evaluations.slice(0, message.from).concat(message.new);
    byId("link").textContent = "";
    show();
  };
  source.onerror = () => { byId("link").textContent = "quell watch has ended, or cannot be reached"; };
}
listen();
setInterval(tick, 1000);
