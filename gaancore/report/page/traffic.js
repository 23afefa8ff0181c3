// A run that forecasts: a map of its sensors, one sensor at a time, and where the errors are.

function ofTraffic(found) {
  const [run] = found.runs, { count, total } = found.windows;
  const sample = count < total ? `${whole(count)} of the ${whole(total)} test windows, spread evenly over them` : `all ${whole(total)} test windows`;
  return [
    header(["What ", named(run.name), " learned"], found.runs),
    [
      scoresOfTraffic(run),
      learning(found.runs),
      section("ahead", "Where the errors are", `Mean absolute error, in the data's unit, over ${sample}.`,
        el("div", { class: "grid" }, byStep(found, run), found.by_hour ? byHour(found) : el("p", { class: "muted" }, "The time of day is not known, so there are no errors by hour."))),
      sensors(found, run, sample),
    ],
  ];
}

function byStep(found, run) {
  const { minutes } = found.by_step, own = found.by_step[run.model], last = found.by_step["last value"];
  const draw = (colour) => [[[own, run.model, 0], [last, "last value", 1]].map(([y, name, at]) => ({ x: minutes, y, mode: "lines+markers", name,
    line: lineStyle(colour, at), marker: { size: 5 }, hovertemplate: `${name}, %{x} min: %{y:.3f}<extra></extra>` })),
  { showlegend: true, xaxis: axis(colour, "minutes ahead", { rangemode: "tozero" }), yaxis: axis(colour, "MAE", { rangemode: "tozero" }) }];
  return chart("By minutes ahead", `At ${minutes.at(-1)} minutes the network is off by ${digits(own.at(-1), 3)}, the last value by ${digits(last.at(-1), 3)}.`, draw,
    { numbers: [["minutes", run.model, "last value"], minutes.map((m, at) => [m, digits(own[at], 3), digits(last[at], 3)])] });
}

function byHour(found) {
  const hours = Array.from({ length: 24 }, (_, hour) => hour);
  const draw = (colour) => [found.aheads.map(([name], at) => ({ x: hours, y: found.by_hour[at], mode: "lines+markers", name, line: lineStyle(colour, at),
    marker: { size: 4 }, hovertemplate: `${name}, hour %{x}: %{y:.3f}<extra></extra>` })),
  { showlegend: true, xaxis: axis(colour, "hour of the day that is forecast", { tickvals: [0, 6, 12, 18], range: [-0.5, 23.5] }), yaxis: axis(colour, "MAE", { rangemode: "tozero" }) }];
  const far = found.by_hour.at(-1), worst = far.reduce((best, value, hour) => (value ?? -1) > (far[best] ?? -1) ? hour : best, 0);
  return chart("By hour of the day", `${found.aheads.at(-1)[0]} ahead, hour ${worst} is worst: off by ${digits(far[worst], 3)}.`, draw,
    { numbers: [["hour", ...found.aheads.map(([name]) => name)], hours.map((hour) => [hour, ...found.by_hour.map((row) => digits(row[hour], 3))])] });
}

function sensors(found, run, sample) {
  const s = found.sensors, look = found.attention;
  const worst = (step) => s.mae[step].reduce((best, value, n) => (value ?? -1) > (s.mae[step][best] ?? -1) ? n : best, 0);
  const state = { step: found.aheads.length - 1, sensor: 0, part: 0 };
  state.sensor = worst(state.step);
  const weights = look ? unpacked(look.weights) : null;

  const steps = choice(found.aheads.map(([name], at) => [at, `${name} ahead`]), () => { state.step = +steps.value; show(); }, { id: "ahead-step" });
  steps.value = state.step;
  const byId = choice(s.ids.map((id, n) => [n, short(id, 40)]), () => { state.sensor = +byId.value; show(); }, { id: "sensor" });
  const parts = look ? choice(look.parts.map((name, at) => [at, name]), () => { state.part = +parts.value; show(); }, { id: "attention-part" }) : null;

  const arcsOf = (sensor) => !look ? [] : look.targets.flatMap((target, arc) => target === sensor
    ? [{ source: look.sources[arc], weight: weights.numbers[state.part * weights.shape[1] + arc] }] : []).sort((a, b) => b.weight - a.weight);

  const drawMap = (colour) => {
    const roads = { x: [], y: [], mode: "lines", line: { color: colour.line, width: 1 }, hoverinfo: "skip" };
    for (const [a, b] of s.roads) { roads.x.push(s.x[a], s.x[b], null); roads.y.push(s.y[a], s.y[b], null); }
    const errors = s.mae[state.step], known = errors.filter((x) => x !== null).sort((a, b) => a - b);
    const dots = { x: s.x, y: s.y, mode: "markers", text: s.ids.map((id) => literal(id)), customdata: errors.map((e) => digits(e, 3)),
      marker: { size: 9, color: errors, colorscale: "Cividis", cmin: known[0], cmax: known[Math.floor(0.95 * (known.length - 1))], line: { width: 1, color: colour.faint },
        colorbar: { title: { text: "MAE", font: { size: 11, color: colour.muted } }, thickness: 10, len: 0.7, outlinewidth: 0, tickfont: { size: 10, color: colour.muted } } },
      hovertemplate: "%{text}: off by %{customdata}<extra></extra>" };
    const arcs = arcsOf(state.sensor), most = arcs.length ? arcs[0].weight : 1;
    const seen = arcs.map(({ source, weight }) => ({ x: [s.x[source], s.x[state.sensor]], y: [s.y[source], s.y[state.sensor]], mode: "lines", hoverinfo: "skip",
      line: { color: colour.second, width: 0.8 + 6 * weight / most } }));
    const own = { x: [s.x[state.sensor]], y: [s.y[state.sensor]], mode: "markers", hoverinfo: "skip", marker: { size: 17, symbol: "circle-open", color: colour.ink, line: { width: 2.5 } } };
    const bare = { visible: false, showgrid: false, zeroline: false, fixedrange: false };
    return [[roads, ...seen, dots, own], { margin: { l: 4, r: 4, t: 4, b: 4 }, xaxis: bare, yaxis: { ...bare, scaleanchor: "x" }, dragmode: "pan", hovermode: "closest" }];
  };
  const mapWords = () => {
    const n = worst(state.step);
    const how = s.from_coordinates ? "Sensors stand at their coordinates, north is up." : "The data have no coordinates: sensors are as far apart as there are roads between them.";
    return `${how} Darker is better. ${found.aheads[state.step][0]} ahead, sensor ${short(s.ids[n], 30)} is worst: off by ${digits(s.mae[state.step][n], 3)}. A click chooses a sensor.`;
  };
  const map = chart("Map of the sensors", mapWords, drawMap, { size: "tall", onclick: (point) => {
    const n = s.x.findIndex((x, at) => x === point.x && s.y[at] === point.y);
    if (n >= 0) { state.sensor = n; show(); }
  } });
  const time = oneDay(found, state);
  const table = el("div"), arcsTable = el("div"), facts = el("p", { role: "status", id: "sensor-facts" });

  function show() {
    byId.value = state.sensor;
    facts.replaceChildren("Sensor ", el("strong", {}, named(s.ids[state.sensor])), `, ${found.aheads[state.step][0]} ahead: the network is off by ${digits(s.mae[state.step][state.sensor], 3)}, the last value by ${digits(s.last_value[state.step][state.sensor], 3)}.`);
    map.redraw();
    time.redraw();
    if (!look) return;
    const rows = arcsOf(state.sensor).map(({ source, weight }) => [s.ids[source], weight]);
    arcsTable.replaceChildren(more(`What sensor ${short(s.ids[state.sensor], 30)} looks at: ${rows.length} arcs as a table`,
      sortable("Attention", [["sensor", "text", (id) => named(id)], ["attention", "share", (w) => digits(w)]], rows)));
  }

  table.append(more("Errors of each sensor as a table", sortable("Errors of each sensor",
    [["sensor", "text", (id) => named(id)], ...found.aheads.flatMap(([name]) => [[name, "number", (e) => digits(e, 3)]]), ["last value", "number", (e) => digits(e, 3)]],
    s.ids.map((id, n) => [id, ...s.mae.map((row) => row[n]), s.last_value.at(-1)[n]]), [found.aheads.length, true])));
  const said = look ? `Orange roads lead from where the chosen sensor's attention looks, as thick as its weight: the mean over heads, steps and ${look.windows} windows; at most the 12 strongest.` : `A ${run.model} has no attention.`;
  const cap = s.ids.length < s.total ? ` Here are ${whole(s.ids.length)} of the ${whole(s.total)} sensors, drawn by seed.` : "";
  setTimeout(show);
  return section("sensors", "One sensor at a time", `Errors over ${sample}.${cap} ${said}`,
    el("div", { class: "controls" }, labelled("colour: error", steps), labelled("sensor", byId), parts ? labelled("attention of", parts) : null),
    facts, el("div", { class: "two" }, map, time), arcsTable, table);
}

function oneDay(found, state) {
  const day = found.day, truth = unpacked(day.truth), forecasts = unpacked(day.forecasts), last = unpacked(day.last_value);
  const low = day.low ? unpacked(day.low) : null, high = day.high ? unpacked(day.high) : null;
  const [rows, N] = truth.shape, W = day.made.length;
  const at = (row) => day.times ? day.times[row] : row;
  const curves = () => {
    const [, step] = found.aheads[state.step], windows = day.made.map((made, w) => [made + step - 1, w]).filter(([row]) => row < rows);
    const x = windows.map(([row]) => at(row)), y = windows.map(([, w]) => forecasts.numbers[(state.step * W + w) * N + state.sensor]);
    const guess = windows.map(([, w]) => last.numbers[w * N + state.sensor]);
    const ends = (side) => y.map((value) => Math.fround(value + side.numbers[state.step * N + state.sensor]));
    return { x, y, guess, low: low && ends(low), high: high && ends(high), windows };
  };
  const draw = (colour) => {
    const c = curves(), traces = [];
    if (c.low) {
      traces.push({ x: c.x, y: c.low, mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false },
        { x: c.x, y: c.high, mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: "rgba(86,180,233,.25)", name: `${Math.round(100 * day.level)} % interval`, hoverinfo: "skip" });
    }
    const measured = Array.from({ length: rows }, (_, row) => truth.numbers[row * N + state.sensor]);
    traces.push({ x: measured.map((_, row) => at(row)), y: measured.map((v) => Number.isNaN(v) ? null : v), mode: "lines", line: { color: colour.ink, width: 1.2 }, name: "measured", hovertemplate: "measured %{y:.2f}<extra></extra>" },
      { x: c.x, y: c.guess, mode: "lines", line: { color: colour.faint, width: 1.2, dash: "dot" }, name: "last value", hovertemplate: "last value %{y:.2f}<extra></extra>" },
      { x: c.x, y: c.y, mode: c.x.length > 150 ? "lines" : "lines+markers", line: { color: colour.accent, width: 1.8 }, marker: { size: 4 }, name: "forecast", hovertemplate: "forecast %{y:.2f}<extra></extra>" });
    return [traces, { showlegend: true, hovermode: "x", xaxis: axis(colour, day.times ? "" : `row of the test part (${day.minutes} minutes each)`, { fixedrange: false }), yaxis: axis(colour, "in the data's unit", {}) }];
  };
  const words = () => `The first day of the test part, ${found.aheads[state.step][0]} ahead, from ${whole(W)} windows. ${low ? `The interval is made of errors in ${whole(day.validation_windows)} windows of validation.` : "Validation has too few readings for an interval."}`;
  const numbers = () => {
    const c = curves();
    return [["time", "measured", "forecast", "low", "high", "last value"], c.windows.map(([row], n) => [at(row),
      ...[truth.numbers[row * N + state.sensor], c.y[n], c.low?.[n], c.high?.[n], c.guess[n]].map((v) => v === undefined || Number.isNaN(v) ? "–" : v.toFixed(2))])];
  };
  return chart("Forecast and truth", words, draw, { size: "tall", numbers });
}
