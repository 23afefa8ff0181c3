// Several runs: what differs in their settings and scores, their curves, and where they disagree.

function ofSeveral(found) {
  const { runs } = found;
  const ofNodes = runs[0].family === "nodes";
  return [
    header([`${runs.length} runs compared`], runs),
    [
      comparedScores(found, ofNodes),
      found.settings.length ? section("settings", "What differs", "Settings that are not the same in all runs.",
        scrolling("Settings that differ", plainTable(["setting", ...runs.map((run) => named(run.name, 40))],
          found.settings.map(([name, ...values]) => [name, ...values.map((value) => value === null ? "–" : named(value, 60))]))))
        : section("settings", "What differs", "All settings are the same."),
      learning(runs),
      found.nodes ? disagreement(found.nodes, runs) : null,
    ],
  ];
}

function comparedScores(found, ofNodes) {
  const { runs, groups } = found;
  const what = ofNodes ? "micro-F1" : "MAE of all steps";
  const of = (run, part) => ofNodes ? run.scores?.[part]?.micro_f1 : run.scores?.[part]?.["all steps"].mae;
  const rows = runs.map((run) => [run.name, of(run, "test") ?? null, of(run, "validation") ?? null, run.record?.best_epoch ?? null]);
  const draw = (colour) => {
    const y = groups.map((_, at) => at);
    const label = (group) => literal(group.runs.length > 1 ? `${runs[group.runs[0]].name} and ${group.runs.length - 1} more` : runs[group.runs[0]].name);
    const dots = { x: [], y: [], text: [], mode: "markers", marker: { color: colour.faint, size: 8 }, hovertemplate: "%{text}: %{x:.4f}<extra></extra>" };
    groups.forEach((group, at) => group.runs.forEach((n) => { dots.x.push(rows[n][1] ?? rows[n][2]); dots.y.push(at); dots.text.push(literal(runs[n].name)); }));
    const means = { x: groups.map((g) => g.mean), y, mode: "markers", marker: { color: colour.accent, size: 10, symbol: "line-ns", line: { width: 3, color: colour.accent } },
      error_x: { type: "data", array: groups.map((g) => g.half ?? 0), color: colour.accent, thickness: 1.5, width: 4 }, hovertemplate: "mean %{x:.4f}<extra></extra>" };
    const ends = groups.flatMap((g) => [g.mean - (g.half ?? 0), g.mean + (g.half ?? 0)]).concat(dots.x), low = Math.min(...ends), high = Math.max(...ends);
    const room = Math.max(0.08 * (high - low), 0.01 * Math.abs(high), 1e-6);
    return [[dots, means], { xaxis: axis(colour, what, { range: [low - room, high + room] }), yaxis: axis(colour, "", { tickvals: y, ticktext: groups.map(label), range: [groups.length - 0.5, -0.5] }) }];
  };
  const said = groups.map((g) => {
    const who = g.runs.map((n) => short(runs[n].name, 30)).join(", ");
    return g.half === null ? `${who}: ${digits(g.mean)}` : `${who}: ${digits(g.mean)} ± ${digits(g.half)} (95 % interval for the mean, ${g.runs.length} seeds)`;
  }).join("; ");
  return section("scores", ofNodes ? "Scores" : "Errors", "Runs that differ only in their seed share a line; three or more give an interval.",
    scrolling("Scores of each run", plainTable(["run", `test ${what}`, `validation ${what}`, "best epoch"],
      rows.map(([name, test, validation, best]) => [named(name), digits(test), digits(validation), best ?? "–"]))),
    chart(ofNodes ? "Test micro-F1" : "Test MAE", `${said}.`, draw, { size: "low" }));
}

function disagreement(nodes, runs) {
  if (nodes.why) return section("nodes", "Where they disagree", nodes.why);
  const words = (list) => list.length ? list.flatMap((c, at) => [at ? ", " : "", named(nodes.classes[c], 40)]) : ["none"];
  const sample = nodes.count < nodes.total ? `a sample of ${whole(nodes.count)} of the ${whole(nodes.total)}` : `the ${whole(nodes.total)}`;
  const listed = nodes.ids.length < nodes.differ ? ` Listed are ${whole(nodes.ids.length)} of them, first those that only some get right, then drawn by seed.` : "";
  const agree = plainTable(["same output", ...runs.map((run) => named(run.name, 30))], nodes.agree.map((row, at) => [named(runs[at].name, 30), ...row.map(percent)]));
  const output = (r, n) => {
    const mistakes = nodes.mistakes[r][n];
    const mark = mistakes ? el("span", { class: "bad" }, nodes.several ? ` ✗ ${mistakes} wrong` : " ✗") : el("span", { class: "good" }, " ✓");
    return el("span", {}, ...(nodes.several ? [] : words(nodes.outputs[r][n])), mark);
  };
  const places = nodes.ids.map((_, n) => n);
  const columns = [["node", "text", (id) => named(id, 40)], [nodes.several ? "its labels" : "true class", "text", (n) => el("span", {}, ...words(nodes.truth[n]))],
    ...runs.map((run, r) => [short(run.name, 30), "text", (n) => output(r, n)])];
  return section("nodes", "Where they disagree",
    `Of ${sample} ${nodes.part} nodes all runs get ${whole(nodes.right)} right and ${whole(nodes.wrong)} wrong; on ${whole(nodes.differ)} they do not say the same.${listed}`,
    scrolling("How often two runs say the same", agree), ...(nodes.ids.length ? [el("h3", { class: "below" }, "Nodes on which they disagree"),
    sortable("Nodes on which the runs disagree", columns, places.map((n) => [nodes.ids[n], n, ...runs.map(() => n)]))] : []));
}
