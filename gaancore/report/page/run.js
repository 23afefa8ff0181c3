// What was run, its scores, and how it learned: of one run or of several.

function header(title, runs) {
  const run = runs[0];
  const same = (of) => runs.every((other) => of(other) === of(run));
  const about = [
    !same((r) => r.data.name) ? "several data sets" : el("span", {}, run.synthetic ? "SYNTHETIC data: " : "data: ", named(run.data.name)),
    same((r) => r.task) ? `task ${run.task}` : "several tasks",
    same((r) => r.model) && same((r) => r.variant) ? `${run.model}, variant ${run.variant}` : "several models",
    !same((r) => r.recipe) ? "several recipes" : run.recipe ? `recipe ${run.recipe}` : "no shipped recipe",
    runs.length > 1 && !same((r) => r.seed) ? `seeds ${runs.map((r) => r.seed).join(", ")}` : `seed ${run.seed}`,
    Object.entries(run.versions).map(([name, version]) => `${name} ${version}`).join(", "),
  ].filter((part) => part);
  const first = el("p", { class: "what", id: "what" });
  about.forEach((part, at) => first.append(at ? " · " : "", part));
  return [
    first,
    el("h1", {}, ...title),
    same((r) => r.data.words) ? el("p", { class: "muted" }, run.data.words) : null,
    run.synthetic ? el("p", { class: "told" }, ...run.data.notes.slice(0, 1)) : null,
    ...runs.flatMap((r) => r.doubts.map((doubt) =>
      el("p", { class: "told" }, runs.length > 1 ? `${short(r.name)}: ` : "", doubt))),
    more("Settings, files and notes", ...runs.map(details)),
  ];
}

function details(run) {
  const record = run.record;
  const facts = [["run", named(run.folder, 200)], ["data", named(run.data.path || run.data.name, 200)]];
  if (record) {
    facts.push(["trained", `${record.epochs} epochs, ${whole(record.num_parameters)} parameters, on ${record.device}, ${record.seconds} s`]);
  }
  return el("div", {},
    el("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])),
    ...run.data.notes.map((note) => el("p", { class: "muted" }, note)),
    scrolling(`Settings of ${run.name}`, plainTable(["setting", "value"], Object.entries(run.settings).map(([k, v]) => [k, named(v, 200)]))));
}

function scoresOfNodes(run) {
  if (!run.scores) return section("scores", "Scores", "The run has not finished; scores come with its record.");
  const rows = Object.entries(run.scores);
  const body = rows.map(([name, found]) => el("tr", { class: / on /.test(name) ? "beside" : null },
    el("th", { scope: "row" }, name),
    ...["micro_f1", "macro_f1"].map((key) => found[key] === undefined ? el("td", {}, "") :
      el("td", { class: "bar" }, digits(found[key]), bar(found[key])))));
  return section("scores", "Scores",
    "F1 of the best weights, and of guesses that see less than the network does. What is not above the guesses has learned nothing.",
    el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "of"), el("th", { scope: "col" }, "micro-F1"), el("th", { scope: "col" }, "macro-F1"))),
      el("tbody", {}, ...body)));
}

function scoresOfTraffic(run) {
  if (!run.scores) return section("scores", "Errors", "The run has not finished; errors come with its record.");
  const [, first] = Object.entries(run.scores)[0];
  const aheads = Object.keys(first);
  const rows = Object.entries(run.scores).map(([name, found]) => el("tr", { class: / on /.test(name) ? "beside" : null },
    el("th", { scope: "row" }, name),
    ...aheads.flatMap((ahead) => el("td", {}, digits(found[ahead].mae, 3), el("br"),
      el("span", { class: "muted" }, `${digits(found[ahead].rmse, 3)} · ${found[ahead].mape === null ? "–" : `${digits(found[ahead].mape, 2)} %`}`)))));
  return section("scores", "Errors", "Mean absolute error in the data's unit; below it root mean squared error and mean absolute percentage error.",
    scrolling("Errors", el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "of"), ...aheads.map((a) => el("th", { scope: "col" }, a)))), el("tbody", {}, ...rows))));
}

// Curves of runs, overlaid; a dot at the best validation, a cross where one stopped early.
function learning(runs) {
  const ofNodes = runs[0].family === "nodes";
  const score = ofNodes ? "validation micro-F1" : "validation MAE";
  if (!runs.some((run) => run.log.length)) return section("learning", "How it learned", "No validation is written down.");
  const losses = runs.flatMap((run) => run.log.map((line) => line.loss)).filter((loss) => loss !== null);
  const logarithmic = Math.min(...losses) > 0 && Math.max(...losses) > 5 * Math.min(...losses);
  const draw = (key, title, extra) => (colour) => {
    const traces = [];
    runs.forEach((run, at) => {
      const line = lineStyle(colour, at), x = run.log.map((l) => l.epoch), y = run.log.map((l) => l[key]);
      traces.push({ x, y, mode: run.log.length > 1 ? "lines" : "markers", line, name: literal(run.name), hovertemplate: `epoch %{x}<br>${title} %{y:.4f}<extra></extra>` });
      const best = bestOf(run), last = run.log.length - 1;
      const mark = (n, symbol, word) => traces.push({ x: [x[n]], y: [y[n]], mode: "markers", showlegend: false,
        marker: { symbol, size: 10, color: line.color, line: { width: 2, color: symbol === "x-thin" ? line.color : colour.paper } }, hovertemplate: `${word}: epoch %{x}, %{y:.4f}<extra></extra>` });
      if (best >= 0) mark(best, "circle", "best");
      if (run.record?.stopped_early) mark(last, "x-thin", "stopped early");
    });
    return [traces, { xaxis: axis(colour, "epoch", { rangemode: "tozero" }), yaxis: axis(colour, title, extra), showlegend: runs.length > 1 }];
  };
  const said = runs.map((run) => {
    const best = run.log[bestOf(run)];
    const who = runs.length > 1 ? `${short(run.name)}: ` : "";
    const ending = run.record?.stopped_early ? "; it stopped early" : "";
    return best ? `${who}best ${score} ${digits(best.score)} at epoch ${best.epoch} of ${run.log.at(-1).epoch}${ending}` : `${who}no best validation`;
  }).join(". ");
  const rows = runs.flatMap((run) => run.log.map((l) => [named(run.name), l.epoch, digits(l.score, 6), digits(l.loss, 6), l.best ? "best so far" : ""]));
  return section("learning", "How it learned", "A dot marks the validation whose weights were kept, a cross where training stopped early.",
    el("div", { class: "grid" },
      chart("Validation", `${said}.`, draw("score", score, {}), { numbers: [["run", "epoch", score, "training loss", ""], rows] }),
      chart("Training loss", `Mean over the steps since the validation before${logarithmic ? "; a logarithmic axis" : ""}.`,
        draw("loss", "loss", logarithmic ? { type: "log", tickvals: roundNumbers(losses), tickformat: "~g" } : {}))));
}

// 1, 2 and 5 in every power of ten that the values span; over many powers 1 alone.
function roundNumbers(values) {
  const first = Math.floor(Math.log10(Math.min(...values))), last = Math.ceil(Math.log10(Math.max(...values)));
  const powers = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  return powers.flatMap((power) => (powers.length > 3 ? [1] : [1, 2, 5]).map((digit) => Number(`${digit}e${power}`)));
}

function bestOf(run) {
  return run.log.findLastIndex((line) => line.best);
}
