// Charts by Plotly, in the colours of the page. Beside each stand words and its numbers as a table.

const waiting = [];
const DASHES = ["solid", "dash", "dot", "dashdot"];
const dark = matchMedia("(prefers-color-scheme: dark)");

// Okabe and Ito's colours, which the colour-blind can tell apart; black is the colour of the text.
function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const several = dark.matches
    ? ["#56b4e9", "#e69f00", "#2fc79a", "#cc79a7", "#f0e442", "#d55e00", "#e6e9ed", "#8fa3b8"]
    : ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1c2530", "#8c96a1"];
  return { ink: of("ink"), muted: of("muted"), line: of("line"), paper: of("paper"), faint: of("faint"),
    accent: of("accent"), second: of("second"), third: of("third"), several };
}

function lineStyle(colour, at) {
  const several = colour.several;
  return { color: several[at % several.length], dash: DASHES[Math.floor(at / several.length) % DASHES.length], width: 1.8 };
}

// A name from the data in a chart: Plotly reads tags and entities in texts, so these are escaped.
function literal(text, most = 28) {
  const shown = short(text, most).replace(/[\u0000-\u001f]/g, " ");
  return `\u2068${shown.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;")}\u2069`;
}

function axis(colour, title, extra = {}) {
  return { title: { text: title, font: { size: 12, color: colour.muted }, standoff: 8 }, gridcolor: colour.line, linecolor: colour.line,
    zeroline: false, ticks: "", tickfont: { size: 11, color: colour.muted }, automargin: true, fixedrange: true, ...extra };
}

function layoutOf(colour, layout) {
  return { margin: { l: 48, r: 12, t: 8, b: 40 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", size: 12, color: colour.ink },
    showlegend: false, hoverlabel: { bgcolor: colour.paper, bordercolor: colour.line, font: { color: colour.ink, size: 12 } },
    legend: { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { size: 11, color: colour.muted }, bgcolor: "rgba(0,0,0,0)" },
    ...layout };
}

const CONFIG = { displayModeBar: false, displaylogo: false, responsive: true, showTips: false };

// draw(colour) gives [traces, layout]. words: what it shows, with numbers. numbers: [columns, rows].
function chart(title, words, draw, { numbers = null, size = "", onclick = null } = {}) {
  const place = el("div", { class: `chart ${size}`, role: "img" });
  const caption = el("figcaption");
  const held = el("div");
  const figure = el("figure", {}, title ? el("h3", {}, title) : null, place, caption, held);
  let listening = false;
  figure.redraw = () => {
    const said = typeof words === "function" ? words() : words;
    caption.replaceChildren(said);
    place.setAttribute("aria-label", `${title}. ${said}`);
    const [columns, rows] = (typeof numbers === "function" ? numbers() : numbers) || [];
    const open = held.querySelector("details")?.open;
    held.replaceChildren(...(columns ? [more("The numbers", scrolling(`The numbers of: ${title}`, plainTable(columns, rows)))] : []));
    if (open) held.querySelector("details").open = true;
    if (!window.Plotly || !place.isConnected) return;
    const colour = colours();
    const [traces, layout] = draw(colour);
    window.Plotly.react(place, traces, layoutOf(colour, layout), CONFIG);
    if (onclick && !listening) {
      place.on("plotly_click", (event) => onclick(event.points[0]));
      listening = true;
    }
  };
  waiting.push(figure);
  return figure;
}

function redrawAll() {
  for (const figure of waiting) figure.redraw();
}

dark.addEventListener("change", redrawAll);

// The program of the charts is packed in the page; browsers since 2023 can unpack it.
async function loadCharts() {
  const text = document.getElementById("library").textContent;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const program = el("script");
  program.textContent = await new Response(stream).text();
  document.head.append(program);
}
