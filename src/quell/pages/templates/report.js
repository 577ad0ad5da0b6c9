"use strict";
// The page is complete without this: it adds reading off, one pair of parameters at a time, sorting and filtering.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  root.classList.add("js");

  function make(tag, attributes, parent, text) {
    const node = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    if (parent) parent.append(node);
    return node;
  }

  // Where in the coordinates of a picture the pointer is.
  function place(svg, event) {
    const point = new DOMPoint(event.clientX, event.clientY);
    return point.matrixTransform(svg.getScreenCTM().inverse());
  }

  // Light and dark.
  function themes() {
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    const button = document.createElement("button");
    button.type = "button";
    button.id = "theme";
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
    const say = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", isDark() ? "Switch to light colours" : "Switch to dark colours");
    };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      say();
    });
    dark.addEventListener("change", say);
    say();
    byId("tools").append(button);
  }

  // Charts: the nearest point is read off, by pointer or with the arrow keys.
  function readable(ident, points) {
    const svg = byId(ident);
    const output = byId(`${ident}-readout`);
    if (!svg || !output || !points.x.length) return;
    const hint = "Point at the chart, or use the arrow keys in it, to read it off.";
    output.textContent = svg.closest(".grid") ? "\u00a0" : hint;
    svg.setAttribute("tabindex", "0");
    const order = points.x.map((_, i) => i).sort((a, b) => points.x[a] - points.x[b]);
    const spot = make("circle", { class: "spot", r: 4.5, visibility: "hidden" }, svg);
    let at = -1;
    function show(i) {
      at = i;
      spot.setAttribute("cx", points.x[i]);
      spot.setAttribute("cy", points.y[i]);
      spot.setAttribute("visibility", "visible");
      output.textContent = points.words[i];
    }
    svg.addEventListener("pointermove", (event) => {
      const { x, y } = place(svg, event);
      let best = 0;
      let least = Infinity;
      for (let i = 0; i < points.x.length; i += 1) {
        const down = points.along ? 0 : points.y[i] - y;
        const away = (points.x[i] - x) ** 2 + down ** 2;
        if (away < least) [best, least] = [i, away];
      }
      show(best);
    });
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const here = at < 0 ? (step > 0 ? -1 : order.length) : order.indexOf(at);
      show(order[Math.min(Math.max(here + step, 0), order.length - 1)]);
    });
  }

  // Values of a parameter from how far along its axis they are, and back.
  function valueAt(parameter, part) {
    let value = parameter.low + part * (parameter.high - parameter.low);
    if (parameter.log) value = parameter.low * (parameter.high / parameter.low) ** part;
    if (parameter.period) {
      const past = (value - parameter.lower) % parameter.period;
      value = parameter.lower + (past < 0 ? past + parameter.period : past);
    }
    return parameter.integer ? Math.round(value) : value;
  }
  function partOf(parameter, value) {
    let v = value;
    if (parameter.period) {
      const middle = 0.5 * (parameter.low + parameter.high);
      v -= parameter.period * Math.round((v - middle) / parameter.period);
    }
    if (parameter.log) return Math.log(v / parameter.low) / Math.log(parameter.high / parameter.low);
    return (v - parameter.low) / (parameter.high - parameter.low);
  }
  function figure(value) {
    return String(Number(value.toPrecision(4)));
  }
  function below(parameter, part) {
    const curve = parameter.curve;
    let i = curve.findIndex((point) => point[0] >= part);
    if (i < 0) i = curve.length - 1;
    return parameter.below[i];
  }
  // In which region a point of a map lies, as the map's own paths have it.
  function region(map, x, y) {
    const point = new DOMPoint(x, y);
    const inside = (name) => [...map.querySelectorAll(`.${name}`)].some((path) => path.isPointInFill(point));
    if (inside("r50")) return "in the 50 % region";
    return inside("r90") ? "in the 90 % region" : "outside of the 90 % region";
  }

  function corners(corner, evaluations) {
    const { map: size, places, parameters } = corner;
    const svg = byId("corner");
    const output = byId("corner-readout");
    const step = places.panel + places.gap;
    let open = null;
    if (parameters.length > 1) open = pairs(corner, evaluations);
    const hint = "Point at a panel to read it off" + (open ? "; press it to see it larger." : ".");
    output.textContent = hint;
    function under(event) {
      const { x, y } = place(svg, event);
      const column = Math.floor((x - places.left) / step);
      const row = Math.floor((y - places.top) / step);
      const across = (x - places.left - column * step) / places.panel;
      const up = 1 - (y - places.top - row * step) / places.panel;
      const ok = column >= 0 && column <= row && row < parameters.length
        && across >= 0 && across <= 1 && up >= 0 && up <= 1;
      return ok ? { row, column, across, up } : null;
    }
    svg.addEventListener("pointermove", (event) => {
      const found = under(event);
      if (!found) {
        output.textContent = hint;
        return;
      }
      const first = parameters[found.column];
      const words = `${first.name} = ${figure(valueAt(first, found.across))}`;
      if (found.row === found.column) {
        const share = Math.round(1000 * below(first, found.across)) / 10;
        output.textContent = `${words}: ${share} % of the probability is below`;
        return;
      }
      const second = parameters[found.row];
      const where = region(byId(`corner-${found.row}-${found.column}`), found.across * size, (1 - found.up) * size);
      output.textContent = `${words}, ${second.name} = ${figure(valueAt(second, found.up))}: ${where}`;
    });
    svg.addEventListener("click", (event) => {
      const found = under(event);
      if (found && open && found.row !== found.column) open(found.column, found.row);
    });
  }

  // One pair, larger, with the marginals at its sides.
  function pairs(corner, evaluations) {
    const { map: size, parameters } = corner;
    const view = byId("pair-view");
    const output = byId("pair-readout");
    const [chooseX, chooseY, withPoints] = ["pair-x", "pair-y", "pair-points"].map(byId);
    const box = { left: 62, top: 62, side: 290, strip: 50 };
    parameters.forEach((parameter, i) => {
      chooseX.append(new Option(parameter.name, i));
      chooseY.append(new Option(parameter.name, i));
    });
    const state = { x: 0, y: 1, across: 0.5, up: 0.5 };
    const right = box.left + box.side;
    const bottom = box.top + box.side;

    function strip(parameter, turned) {
      const start = turned ? right + 8 : box.top - 8;
      const points = parameter.curve.map(([part, high]) => {
        const along = turned ? bottom - part * box.side : box.left + part * box.side;
        const tall = Math.min(high, 1) * box.strip;
        return turned ? `${start + tall} ${along}` : `${along} ${start - tall}`;
      });
      if (points.length) make("path", { class: "curve", d: `M${points.join("L")}` }, view);
    }
    function axes(parameter, turned) {
      make("path", { class: "axis", d: turned ? `M${box.left} ${box.top}V${bottom}` : `M${box.left} ${bottom}H${right}` }, view);
      for (const [part, text] of parameter.ticks) {
        if (part < 0 || part > 1) continue;
        if (turned) {
          const y = bottom - part * box.side;
          make("path", { class: "axis", d: `M${box.left - 4} ${y}H${box.left}` }, view);
          make("text", { class: "tick end", x: box.left - 8, y: y + 4 }, view, text);
        } else {
          const x = box.left + part * box.side;
          make("path", { class: "axis", d: `M${x} ${bottom}V${bottom + 4}` }, view);
          make("text", { class: "tick mid", x, y: bottom + 17 }, view, text);
        }
      }
      for (const part of parameter.bounds) {
        const d = turned ? `M${box.left} ${bottom - part * box.side}H${right}` : `M${box.left + part * box.side} ${box.top}V${bottom}`;
        make("path", { class: "bound", d }, view);
      }
      const name = parameter.name.length > 40 ? `${parameter.name.slice(0, 39)}…` : parameter.name;
      const middle = box.left + box.side / 2;
      const high = box.top + box.side / 2;
      const where = turned ? { x: 16, y: high, transform: `rotate(-90 16 ${high})` } : { x: middle, y: bottom + 38 };
      make("text", { class: "name mid", ...where }, view, name);
    }
    function original() {
      const [low, high] = [Math.min(state.x, state.y), Math.max(state.x, state.y)];
      return byId(`corner-${high}-${low}`);
    }
    // A point of the view in the map's own coordinates: the map may be drawn the other way round.
    function inMap() {
      const [x, y] = [state.across * size, (1 - state.up) * size];
      return state.x < state.y ? [x, y] : [size - y, size - x];
    }
    function dots() {
      const [px, py] = [parameters[state.x], parameters[state.y]];
      let d = "";
      for (const row of evaluations.rows) {
        const [x, y] = [partOf(px, row[4][px.index]), partOf(py, row[4][py.index])];
        if (row[1] !== null && x >= 0 && x <= 1 && y >= 0 && y <= 1) {
          d += `M${(box.left + x * box.side).toFixed(1)} ${(bottom - y * box.side).toFixed(1)}h0`;
        }
      }
      make("path", { class: "dot near", d }, view);
    }
    function draw() {
      view.replaceChildren();
      make("title", { id: "pair-title" }, view, `${parameters[state.x].name} and ${parameters[state.y].name}`);
      const copy = original().cloneNode(true);
      copy.removeAttribute("id");
      const scale = box.side / size;
      const turn = state.x < state.y ? "" : ` matrix(0 -1 -1 0 ${size} ${size})`;
      copy.setAttribute("transform", `translate(${box.left} ${box.top}) scale(${scale})${turn}`);
      view.append(copy);
      axes(parameters[state.x], false);
      axes(parameters[state.y], true);
      strip(parameters[state.x], false);
      strip(parameters[state.y], true);
      if (withPoints.checked) dots();
      make("path", { class: "cursor", id: "pair-cursor" }, view);
      for (const old of byId("corner").querySelectorAll(".chosen")) old.remove();
      const [low, high] = [Math.min(state.x, state.y), Math.max(state.x, state.y)];
      const { left, top, panel, gap } = corner.places;
      make("rect", { class: "chosen", x: left + low * (panel + gap), y: top + high * (panel + gap), width: panel, height: panel }, byId("corner"));
    }
    function mark() {
      const x = box.left + state.across * box.side;
      const y = bottom - state.up * box.side;
      byId("pair-cursor").setAttribute("d", `M${x} ${box.top}V${bottom}M${box.left} ${y}H${right}`);
    }
    function read() {
      mark();
      const [px, py] = [parameters[state.x], parameters[state.y]];
      const where = region(original(), ...inMap());
      output.textContent = `${px.name} = ${figure(valueAt(px, state.across))}, ${py.name} = ${figure(valueAt(py, state.up))}: ${where}`;
    }
    function choose(x, y) {
      [state.x, state.y] = [x, y];
      [chooseX.value, chooseY.value] = [x, y];
      output.textContent = "Point at the picture, or use the arrow keys in it, to read it off.";
      draw();
    }
    chooseX.addEventListener("change", () => {
      const x = Number(chooseX.value);
      choose(x, x === state.y ? state.x : state.y); // the same twice: they change places
    });
    chooseY.addEventListener("change", () => {
      const y = Number(chooseY.value);
      choose(y === state.x ? state.y : state.x, y);
    });
    withPoints.addEventListener("change", draw);
    view.addEventListener("pointermove", (event) => {
      const { x, y } = place(view, event);
      state.across = Math.min(Math.max((x - box.left) / box.side, 0), 1);
      state.up = Math.min(Math.max((bottom - y) / box.side, 0), 1);
      read();
    });
    view.addEventListener("keydown", (event) => {
      const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!step) return;
      event.preventDefault();
      state.across = Math.min(Math.max(state.across + 0.02 * step[0], 0), 1);
      state.up = Math.min(Math.max(state.up + 0.02 * step[1], 0), 1);
      read();
    });
    byId("pair").hidden = false;
    choose(0, 1);
    return (x, y) => {
      choose(x, y);
      byId("pair").scrollIntoView({ block: "nearest" });
    };
  }

  // Tables that are sorted by a press on the head of a column.
  function numberIn(text) {
    const value = parseFloat(text.replace("−", "-"));
    return Number.isNaN(value) ? null : value;
  }
  function compare(a, b) {
    const [x, y] = [numberIn(a), numberIn(b)];
    if (x !== null && y !== null) return x - y;
    if (x !== null || y !== null) return x !== null ? 1 : -1;
    return a.localeCompare(b);
  }
  function sortable(table, sorted) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (head.tagName !== "TH") return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") !== "descending" && (head.classList.contains("n") || head.hasAttribute("aria-sort"));
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        sorted(column, falling ? -1 : 1);
      });
    });
  }
  function sortRows(table) {
    sortable(table, (column, sign) => {
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => sign * compare(a.cells[column].textContent, b.cells[column].textContent));
      table.tBodies[0].append(...rows);
    });
  }

  // All evaluations in the table of the best ones, filtered and sorted.
  function evaluationTable(evaluations) {
    const table = byId("evaluation-table");
    if (!table) return;
    const few = table.tBodies[0].rows.length;
    const [filter, origin, all, count] = ["filter", "origin", "all", "count"].map((name) => byId(`evaluation-${name}`));
    const cells = (row) => [row[0], row[1] === null ? "failed" : row[1].toFixed(3), row[2], row[3], ...row[4]].map(String);
    let rows = evaluations.rows.map((row) => ({ origin: row[3], error: row[5], cells: cells(row) }));
    rows.sort((a, b) => compare(b.cells[1], a.cells[1]));
    for (const name of new Set(rows.map((row) => row.origin))) origin.append(new Option(name, name));
    function fill() {
      const word = filter.value.trim().toLowerCase();
      const fits = rows.filter((row) => (!origin.value || row.origin === origin.value)
        && (!word || `${row.cells.join(" ")} ${row.error}`.toLowerCase().includes(word)));
      const shown = all.getAttribute("aria-pressed") === "true" ? fits : fits.slice(0, few);
      table.tBodies[0].replaceChildren(...shown.map((row) => {
        const line = document.createElement("tr");
        row.cells.forEach((text, i) => {
          const cell = document.createElement("td");
          if (i !== 3) cell.className = "n";
          cell.textContent = text;
          if (row.error) cell.title = row.error;
          line.append(cell);
        });
        return line;
      }));
      count.textContent = `${shown.length} of ${fits.length} shown`;
    }
    sortable(table, (column, sign) => {
      rows = [...rows].sort((a, b) => sign * compare(a.cells[column], b.cells[column]));
      fill();
    });
    all.addEventListener("click", () => {
      all.setAttribute("aria-pressed", String(all.getAttribute("aria-pressed") !== "true"));
      fill();
    });
    filter.addEventListener("input", fill);
    origin.addEventListener("change", fill);
    byId("evaluation-controls").hidden = false;
    fill();
  }

  themes();
  for (const [ident, points] of Object.entries(data.charts)) readable(ident, points);
  if (data.corner) corners(data.corner, data.evaluations);
  if (data.evaluations) evaluationTable(data.evaluations);
  document.querySelectorAll("table.sortable").forEach(sortRows);
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((one) => { one.open = true; });
  });
})();
