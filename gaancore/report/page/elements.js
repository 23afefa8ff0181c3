// Elements, and texts and numbers in them. Texts of the data become text nodes, never markup.

const page = document.getElementById("page");
const content = JSON.parse(document.getElementById("data").textContent);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

// A name from the data: kept apart from the direction of the text around it.
function named(text, most = 60) {
  return el("bdi", text.length > most ? { title: text } : {}, short(text, most));
}

function short(text, most = 60) {
  if (text === "") return "(empty)";
  const letters = [...text];
  if (letters.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${letters.slice(0, half).join("")}…${letters.slice(-half).join("")}`;
}

function digits(value, places = 4) {
  return value === null || value === undefined ? "–" : value.toFixed(places);
}

function whole(value) {
  return value.toLocaleString("en");
}

function percent(value) {
  return value === null ? "–" : `${(100 * value).toFixed(1)} %`;
}

// The numbers that report/values.py packed, and their shape.
function unpacked({ shape, float32 }) {
  const bytes = Uint8Array.from(atob(float32), (letter) => letter.charCodeAt(0));
  const values = new DataView(bytes.buffer);
  const numbers = Float32Array.from({ length: bytes.length / 4 }, (_, at) => values.getFloat32(4 * at, true));
  return { shape, numbers };
}

function section(id, title, lead, ...children) {
  return el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title), lead ? el("p", { class: "lead" }, lead) : null, ...children);
}

function labelled(text, control) {
  return el("label", {}, text, control);
}

function choice(options, onchange, attributes = {}) {
  return el("select", { ...attributes, onchange },
    ...options.map(([value, text]) => el("option", { value }, text)));
}

function more(title, ...children) {
  return el("details", {}, el("summary", {}, title), ...children);
}

function scrolling(label, ...children) {
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, ...children);
}

// columns: [title, kind, show]; kind is "text", "number" or "share", which has a bar as long as it.
// rows: arrays of values. A click on a title sorts by its column.
function sortable(label, columns, rows, first = null) {
  const body = el("tbody");
  const heads = columns.map(([title, kind], at) =>
    el("th", { scope: "col", class: kind === "text" ? "text" : null, "aria-sort": "none" },
      el("button", { type: "button", onclick: () => sort(at) }, title)));
  function sort(at, down = heads[at].getAttribute("aria-sort") !== "descending") {
    const compare = (a, b) => typeof a[at] === "string" ? a[at].localeCompare(b[at], "en") : a[at] - b[at];
    rows.sort((a, b) => (down ? -1 : 1) * compare(a, b));
    heads.forEach((head, n) => head.setAttribute("aria-sort", n !== at ? "none" : down ? "descending" : "ascending"));
    show();
  }
  function show() {
    body.replaceChildren(...rows.map((row) => el("tr", {}, ...row.map((value, at) => cell(columns[at], value)))));
  }
  show();
  if (first) sort(...first);
  return scrolling(label, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body));
}

function cell([, kind, show], value) {
  const inside = show ? show(value) : value;
  if (kind !== "share") return el("td", { class: kind === "text" ? "text" : null }, inside);
  return el("td", { class: "bar" }, inside, bar(value));
}

function bar(share) {
  const element = el("i", { "aria-hidden": "true" });
  element.style.width = `${100 * Math.min(1, Math.max(0, share || 0))}%`;
  return element;
}

function plainTable(columns, rows) {
  return el("table", {}, el("thead", {}, el("tr", {}, ...columns.map((title) => el("th", { scope: "col" }, title)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((value) => el("td", {}, value))))));
}

// Lines of a name, a bar and a number.
function lines(rows) {
  return el("div", { class: "lines" }, ...rows.flatMap(([name, share, text, kind]) => {
    const inner = el("i", { class: kind || null });
    inner.style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
    return [el("span", { class: "of" }, name), el("span", { class: "track", "aria-hidden": "true" }, inner), el("span", {}, text)];
  }));
}
