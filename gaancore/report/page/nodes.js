// A run that classifies nodes: classes, where it is right, gates.

function ofNodes(found) {
  const [run] = found.runs, { part, count, total } = found.scored;
  const several = "labels" in found.confusion;
  const noun = several ? "labels" : "classes";
  const sample = count < total ? `a sample of ${whole(count)} of the ${whole(total)} ${part} nodes` : `all ${whole(total)} ${part} nodes`;
  const drawn = found.scored.sampled_scores ? " Scores above draw neighbours as in training; from here on each node sees its whole neighbourhood, as in predict." : "";
  return [
    header(["What ", named(run.name), " learned"], found.runs),
    [
      scoresOfNodes(run),
      learning(found.runs),
      section("classes", several ? "Label by label" : "Class by class", `Over ${sample}. A click on a title sorts.${drawn}`,
        el("div", {}, classTable(found), confusion(found, noun))),
      section("where", "Where it is right", `Micro-F1 over ${sample}, in groups of about equal size, and how far its probabilities can be trusted.`,
        el("div", { class: "grid" }, byDegree(found), byConfidence(found, several), calibration(found, several))),
      gates(found, run, sample),
      oneNode(found, several),
    ],
  ];
}

function classTable(found) {
  const { names, rows, ece, total } = found.classes;
  const columns = [["labels" in found.confusion ? "label" : "class", "text", (c) => named(names[c])], ["precision", "share", digits], ["recall", "share", digits],
    ["F1", "share", digits], ["support", "number", whole], ["ECE", "number", digits]].map(([title, kind, show]) => [title, kind, (v) => show(v)]);
  const said = rows.length < total ? `The ${whole(rows.length)} of ${whole(total)} with most nodes. ` : "";
  return el("div", {}, sortable("Scores of each class", columns, rows.map((row) => [...row]), [4, true]),
    el("p", { class: "muted" }, `${said}Expected calibration error (ECE) of all predictions: ${digits(ece)}.`));
}

function confusion(found, noun) {
  const { names } = found.classes;
  const box = el("div", {});
  box.style.marginTop = "1.75rem";
  if (found.confusion.matrix) box.append(el("h3", {}, "Which class is taken for which"), matrix(found.confusion.matrix, names));
  else if (found.confusion.pairs) box.append(el("h3", {}, "The pairs that are confused most"), sortable("Pairs of classes",
    [["true class", "text", (c) => named(names[c])], ["taken for", "text", (c) => named(names[c])], ["nodes", "number", whole]], found.confusion.pairs));
  else box.append(worstLabels(found.confusion.labels, names, noun));
  return box;
}

function matrix(counts, names) {
  const sums = counts.map((row) => row.reduce((a, b) => a + b, 0));
  const head = el("tr", {}, el("th", { scope: "col" }, "true class"), ...names.map((name, at) => el("th", { scope: "col", title: name }, `${at + 1}`)));
  const body = counts.map((row, i) => el("tr", {},
    el("th", { scope: "row" }, `${i + 1}  `, named(names[i])),
    ...row.map((value, j) => {
      const share = sums[i] ? value / sums[i] : 0;
      const td = el("td", { title: `${percent(share)} of ${short(names[i])} are taken for ${short(names[j])}` }, value ? whole(value) : "");
      td.style.background = value ? `color-mix(in srgb, var(${i === j ? "--accent" : "--second"}) ${Math.round(12 + 70 * share)}%, var(--paper))` : "var(--panel)";
      if (share > 0.5) td.style.color = "var(--paper)";
      return td;
    })));
  const right = counts.reduce((all, row, i) => all + row[i], 0), all = sums.reduce((a, b) => a + b, 0);
  return el("div", {}, scrolling("Confusion of classes", el("table", { class: "confusion" }, el("thead", {}, head), el("tbody", {}, ...body))),
    el("p", { class: "muted" }, `A row is a true class, a column what its nodes are taken for; ${whole(right)} of ${whole(all)} are on the diagonal.`));
}

function worstLabels(rows, names, noun) {
  const [worst, missed, wrong] = rows[0];
  const draw = (colour) => {
    const y = rows.map((_, at) => at);
    const bars = (key, name, color) => ({ type: "bar", orientation: "h", y, x: rows.map((row) => row[key]), name, marker: { color },
      text: rows.map((row) => literal(names[row[0]])), textposition: "none", hovertemplate: `%{text}: %{x} ${name}<extra></extra>` });
    return [[bars(1, "missed", colour.accent), bars(2, "given to nodes without it", colour.second)],
      { barmode: "stack", showlegend: true, xaxis: axis(colour, "nodes"), bargap: 0.35,
        yaxis: axis(colour, "", { autorange: "reversed", tickvals: y, ticktext: rows.map((row) => literal(names[row[0]])) }) }];
  };
  return chart(`The ${rows.length} ${noun} with most errors`,
    `Most errors: label ${short(names[worst])}, missed at ${whole(missed)} nodes and given to ${whole(wrong)} without it.`, draw,
    { size: "tall", numbers: [["label", "missed", "given without it"], rows.map(([c, m, w]) => [named(names[c]), whole(m), whole(w)])] });
}

function grouped(title, said, groups, label, xTitle) {
  const draw = (colour) => {
    const x = groups.map((_, at) => at);
    return [[{ type: "bar", x, y: groups.map((g) => g.micro_f1), marker: { color: colour.accent }, text: groups.map((g) => `${whole(g.count)} nodes`),
      textposition: "none", hovertemplate: "%{text}: %{y:.4f}<extra></extra>" }],
      { bargap: 0.3, yaxis: axis(colour, "micro-F1", { range: [0, 1] }), xaxis: axis(colour, xTitle, { tickvals: x, ticktext: groups.map(label), tickangle: groups.length > 6 ? -40 : 0 }) }];
  };
  return chart(title, said, draw, { numbers: [[xTitle, "nodes", "micro-F1"], groups.map((g) => [label(g), whole(g.count), digits(g.micro_f1)])] });
}

function byDegree(found) {
  const groups = found.by_degree;
  const label = (g) => g.from === g.to ? whole(g.from) : `${whole(g.from)}–${whole(g.to)}`;
  const [first, last] = [groups[0], groups.at(-1)];
  return grouped("F1 by number of neighbours", `${digits(first.micro_f1)} with ${label(first)} neighbours, ${digits(last.micro_f1)} with ${label(last)}.`, groups, label, "neighbours");
}

function byConfidence(found, several) {
  const groups = found.by_confidence;
  const label = (g) => `${g.from.toFixed(2)}–${g.to.toFixed(2)}`;
  const [first, last] = [groups[0], groups.at(-1)];
  const what = several ? "mean over the labels of how sure it is" : "probability of what it says";
  return grouped("F1 by confidence", `Confidence: the ${what}. ${digits(first.micro_f1)} where it is least sure, ${digits(last.micro_f1)} where it is surest.`, groups, label, "confidence");
}

function calibration(found, several) {
  const bins = found.calibration, all = bins.reduce((sum, bin) => sum + bin.count, 0);
  const draw = (colour) => [[
    { x: [0, 1], y: [0, 1], mode: "lines", line: { color: colour.faint, dash: "dot", width: 1 }, hoverinfo: "skip" },
    { x: bins.map((b) => b.mean), y: bins.map((b) => b.share), mode: "lines+markers", line: { color: colour.accent, width: 1.5 },
      marker: { color: colour.accent, size: bins.map((b) => 5 + 15 * Math.sqrt(b.count / all)) }, text: bins.map((b) => whole(b.count)),
      hovertemplate: "says %{x:.3f}, true %{y:.3f} of %{text}<extra></extra>" }],
  { xaxis: axis(colour, "probability it gives", { range: [0, 1.02] }), yaxis: axis(colour, "share that is true", { range: [0, 1.02] }) }];
  return chart("Calibration", `On the dotted line, probabilities come true as often as they say; larger dots are more ${several ? "labels" : "nodes"}. ECE ${digits(found.classes.ece)}.`,
    draw, { numbers: [["probability", "true", several ? "labels" : "nodes"], bins.map((b) => [digits(b.mean), digits(b.share), whole(b.count)])] });
}

function gates(found, run, sample) {
  if (!found.gates.length) return section("gates", "Gates", `A ${run.model} has no gates; a gaan has one for each node and head.`);
  const layers = found.gates.map((layer, number) => {
    const heads = layer.mean.map((_, at) => at + 1);
    const of = (at) => layer.quantiles.map((row) => row[at]);
    const draw = (colour) => [[{ type: "box", x: heads, lowerfence: of(0), q1: of(1), median: of(2), q3: of(3), upperfence: of(4), mean: layer.mean,
      line: { color: colour.accent, width: 1.5 }, fillcolor: "rgba(86,180,233,.25)", width: 0.55, hoverinfo: "y" }],
    { xaxis: axis(colour, "head", { tickvals: heads, range: [0.3, Math.max(2.7, heads.length + 0.7)] }), yaxis: axis(colour, "gate", { range: [0, 1.02] }) }];
    const open = layer.mean.indexOf(Math.max(...layer.mean)), closed = layer.mean.indexOf(Math.min(...layer.mean));
    return chart(`Layer ${number + 1}: gates over nodes`,
      `Most open is head ${open + 1}, mean ${digits(layer.mean[open])}; most closed head ${closed + 1}, mean ${digits(layer.mean[closed])}. Boxes: quartiles; whiskers: 5 % and 95 %; dashed: mean.`, draw,
      { numbers: [["head", "mean", "5 %", "25 %", "50 %", "75 %", "95 %"], heads.map((head, at) => [head, digits(layer.mean[at]), ...layer.quantiles[at].map((q) => digits(q))])] });
  });
  const log = run.log.filter((line) => line.gates);
  const training = log.length < 2 ? [] : found.gates.map((layer, number) => {
    const draw = (colour) => [layer.mean.map((_, head) => ({ x: log.map((l) => l.epoch), y: log.map((l) => l.gates[number].mean[head]), mode: "lines",
      name: `head ${head + 1}`, line: lineStyle(colour, head), hovertemplate: `head ${head + 1}, epoch %{x}: %{y:.4f}<extra></extra>` })),
    { xaxis: axis(colour, "epoch", { rangemode: "tozero" }), yaxis: axis(colour, "mean gate", { range: [0, 1.02] }), showlegend: true }];
    const last = log.at(-1).gates[number].mean;
    return chart(`Layer ${number + 1}: gates in training`, `At the last validation from ${digits(Math.min(...last))} to ${digits(Math.max(...last))}.`, draw,
      { numbers: [["epoch", ...layer.mean.map((_, head) => `head ${head + 1}`)], log.map((l) => [l.epoch, ...l.gates[number].mean.map((m) => digits(m))])] });
  });
  const said = log.length ? "" : " How they changed in training is not written down.";
  return section("gates", "Gates", `A gate near 0 shuts a head off for a node, one near 1 lets all of it through. Over ${sample}${training.length ? "; in training over validation nodes" : ""}.${said}`,
    el("div", { class: "grid pairs" }, ...layers.flatMap((layer, at) => training.length ? [layer, training[at]] : [layer])));
}
