// One node at a time: what it is predicted, its gates, and which neighbours its heads look at.

function oneNode(found, several) {
  const one = found.one, { ids } = one.drawn, { names } = found.classes;
  const weights = one.arcs.weights.map(unpacked), gateValues = one.gates.map(unpacked);
  const isWrong = (n) => one.wrong[n] > 0;
  const wrongOnes = one.nodes.map((_, n) => n).filter(isWrong);
  const telling = wrongOnes.find((n) => one.arcs.starts[n + 1] - one.arcs.starts[n] >= 5);
  const state = { n: telling ?? wrongOnes[0] ?? 0, layer: weights.length - 1, head: -1 };

  const search = el("input", { id: "node-search", list: "node-ids", autocomplete: "off", spellcheck: "false", onchange: () => find(search.value) });
  const list = el("datalist", { id: "node-ids" }, ...one.nodes.map((at) => el("option", { value: ids[at] })));
  const answer = el("p", { class: "muted", role: "status", id: "node-answer" });
  const layers = choice(weights.map((_, at) => [at, `layer ${at + 1}`]), () => { state.layer = +layers.value; state.head = -1; fillHeads(); show(); }, { id: "node-layer" });
  const heads = choice([], () => { state.head = +heads.value; show(); }, { id: "node-head" });
  const picture = el("div", { class: "drawing" }), facts = el("div"), hover = el("div", { class: "hover", role: "status", id: "node-hover" });
  const neighbours = el("div");

  function fillHeads() {
    if (!weights.length) return;
    const count = weights[state.layer].shape[1];
    heads.replaceChildren(...[[-1, "mean of heads"], ...Array.from({ length: count }, (_, k) => [k, `head ${k + 1}`])]
      .map(([value, text]) => el("option", { value }, text)));
  }

  function find(text) {
    const n = one.nodes.findIndex((at) => ids[at] === text);
    if (n < 0) {
      answer.replaceChildren("No node ", named(text, 40), ` among the ${whole(one.nodes.length)} on this page, of ${whole(one.total)} ${one.part} nodes.`);
      return;
    }
    state.n = n;
    show();
  }

  function step(by) {
    const order = wrongOnes.length ? wrongOnes : one.nodes.map((_, n) => n);
    const next = by > 0 ? order.find((n) => n > state.n) ?? order[0] : order.findLast((n) => n < state.n) ?? order.at(-1);
    state.n = next;
    show();
  }

  function weightOf(arc) {
    if (!weights.length) return null;
    const { shape, numbers } = weights[state.layer], row = numbers.subarray(arc * shape[1], (arc + 1) * shape[1]);
    return state.head >= 0 ? row[state.head] : row.reduce((a, b) => a + b, 0) / row.length;
  }

  function classesOf(list) {
    if (!list) return ["unknown"];
    if (!list.length) return ["none"];
    return list.slice(0, 8).flatMap((c, at) => [at ? ", " : "", named(names[c], 40)]).concat(list.length > 8 ? [`, and ${list.length - 8} more`] : []);
  }

  function describe(at) {
    const d = one.drawn;
    const told = d.features[at].flatMap(([f, value], n) => [n ? ", " : "", named(d.feature_names[f], 30), ` ${+value.toPrecision(4)}`]);
    return [el("div", {}, "node ", el("strong", {}, named(ids[at], 60)), ` · ${d.splits[at]} · ${whole(d.degrees[at])} neighbours`),
      el("div", {}, several ? "labels: " : "class: ", ...classesOf(d.labels[at])),
      d.given ? el("div", {}, "predicted: ", ...classesOf(d.given[at])) : null,
      el("div", {}, "features: ", ...(told.length ? told : ["all 0"]))].filter((x) => x);
  }

  function show() {
    const at = one.nodes[state.n], d = one.drawn;
    const first = one.arcs.starts[state.n], arcs = Array.from({ length: one.arcs.starts[state.n + 1] - first }, (_, a) => {
      const source = one.arcs.sources[first + a];
      return { source, weight: weightOf(first + a), alike: alike(d.labels[at], d.labels[source], several) };
    });
    search.value = ids[at];
    answer.replaceChildren(`${state.n + 1} of ${whole(one.nodes.length)} on this page; `, isWrong(state.n)
      ? el("span", { class: "bad" }, several ? `${one.wrong[state.n]} of ${names.length} labels wrong` : "wrong") : el("span", { class: "good" }, "right"));
    const chosen = weights.length ? `layer ${state.layer + 1}, ${state.head < 0 ? "mean of heads" : `head ${state.head + 1}`}` : "no attention";
    picture.replaceChildren(ego(at, arcs, chosen));
    hover.replaceChildren(...describe(at));
    facts.replaceChildren(
      el("h3", {}, "Predicted"),
      lines(one.told[state.n].map(([c, p, true_]) => [el("span", { class: true_ ? "good" : null }, named(names[c]), true_ ? " ✓" : ""), p, digits(p), true_ ? "" : "not"])),
      el("p", { class: "muted" }, several ? "✓ has this label; the surest mistakes first. Above 0.5 it is given." : "✓ the true class."),
      ...gateValues.flatMap((values, layer) => {
        const K = values.shape[1], row = values.numbers.subarray(state.n * K, (state.n + 1) * K);
        return [el("h3", {}, `Gates, layer ${layer + 1}`), lines(Array.from(row, (g, k) => [`head ${k + 1}`, g, digits(g), layer === state.layer && state.head >= 0 && k !== state.head ? "not" : ""]))];
      }));
    const rows = arcs.map(({ source, weight }) => [ids[source], weight ?? 0, d.splits[source], source]);
    neighbours.replaceChildren(more(`The ${whole(arcs.length)} arcs as a table`, sortable("Neighbours and attention",
      [["neighbour", "text", (id) => named(id)], ["attention", "share", (w) => digits(w)], ["part", "text"], [several ? "labels" : "class", "text", (source) => el("span", {}, ...classesOf(d.labels[source]))]], rows, [1, true])));
  }

  function ego(at, arcs, chosen) {
    const total = one.drawn.degrees[at], most = Math.max(...arcs.map((arc) => arc.weight ?? 0), 1e-9);
    const R = 190, cx = 260, cy = 240;
    const graph = drawn("svg", { viewBox: "0 0 520 480", role: "group", "aria-label": `Node ${short(ids[at], 40)} and ${arcs.length} of its ${total} neighbours; ${chosen}` });
    const places = arcs.map((_, n) => { const angle = -Math.PI / 2 + 2 * Math.PI * n / arcs.length; return [cx + R * Math.cos(angle), cy + R * Math.sin(angle)]; });
    arcs.forEach((arc, n) => {
      const width = arc.weight === null ? 1.5 : 0.6 + 10 * arc.weight / most;
      graph.append(arc.source === at
        ? drawn("circle", { class: "arc", cx, cy: cy - 26, r: 20, "stroke-width": width })
        : drawn("line", { class: "arc", x1: places[n][0], y1: places[n][1], x2: cx, y2: cy, "stroke-width": width }));
    });
    const dot = (index, x, y, r, kind, label) => {
      const words = () => hover.replaceChildren(...describe(index));
      graph.append(drawn("circle", { class: `node ${kind}`, cx: x, cy: y, r, tabindex: 0, role: "img", "aria-label": label, onmouseenter: words, onfocus: words }));
    };
    arcs.forEach((arc, n) => {
      if (arc.source !== at) dot(arc.source, ...places[n], 11, arc.alike, `neighbour ${short(ids[arc.source], 40)}, attention ${digits(arc.weight)}`);
      const [x, y] = places[n];
      if (arc.source !== at) {
        const label = drawn("text", { x: cx + (x - cx) * 1.1, y: cy + (y - cy) * 1.1 + 4, "text-anchor": Math.abs(x - cx) < 20 ? "middle" : x > cx ? "start" : "end" });
        label.textContent = `\u2068${short(ids[arc.source], 8)}\u2069`;
        graph.append(label);
      }
    });
    dot(at, cx, cy, 17, "same", `the node ${short(ids[at], 40)}`);
    const key = (kind, text) => el("li", {}, swatch(kind), text);
    const said = weights.length ? `Arcs are as thick as the attention of ${chosen}, the thickest ${digits(most)}. ` : "This model has no attention. ";
    const capped = arcs.length < total ? `Drawn are ${arcs.length} of ${whole(total)} arcs, those with most attention over all heads.` : `All ${whole(total)} arcs into the node are drawn.`;
    return el("figure", {}, graph, el("ul", { class: "key" }, key("--accent", several ? "shares most of its labels" : "same class as the node"),
      key("--second", several ? "shares few or none" : "another class"), key("--faint", "in no split, or no label")),
    el("figcaption", {}, total ? said + capped : "The node has no neighbours."));
  }

  layers.value = state.layer;
  fillHeads();
  show();
  const attention = weights.length ? [labelled("attention of", layers), labelled("head", heads)] : [];
  const cap = one.nodes.length < one.total ? `Here are ${whole(one.nodes.length)} of the ${whole(one.total)} ${one.part} nodes, drawn by seed, half of them wrong where there are so many.` : `All ${whole(one.total)} ${one.part} nodes are here.`;
  return section("one", "One node at a time", `${cap}${several ? " A node is wrong if one of its labels is." : ""} Point at a node of the drawing for its features and labels.`,
    el("div", { class: "controls" }, labelled("node", search), list,
      el("button", { type: "button", class: "plain", id: "previous-wrong", onclick: () => step(-1) }, wrongOnes.length ? "← previous wrong" : "← previous"),
      el("button", { type: "button", class: "plain", id: "next-wrong", onclick: () => step(1) }, wrongOnes.length ? "next wrong →" : "next →"), ...attention),
    answer, el("div", { class: "two" }, el("div", { class: "stay" }, picture, hover), facts), neighbours);
}

function swatch(variable) {
  const dot = el("i", { "aria-hidden": "true" });
  dot.style.background = `var(${variable})`;
  return dot;
}

function alike(own, other, several) {
  if (!own || !other) return "";
  if (!several) return own[0] === other[0] ? "same" : "other";
  const common = other.filter((label) => own.includes(label)).length;
  return 2 * common > new Set([...own, ...other]).size ? "same" : "other";
}
