// Puts the page together, then draws the charts.

function navigation(sections) {
  return el("nav", { "aria-label": "Parts of the page" }, ...sections.filter((s) => s?.id).map((s) =>
    el("a", { href: `#${s.id}` }, s.querySelector("h2").textContent)));
}

const KINDS = { nodes: ofNodes, traffic: ofTraffic, compare: ofSeveral };
const [head, parts] = KINDS[content.kind](content);
const sections = parts.filter((part) => part);
page.replaceChildren(...head.filter((part) => part), navigation(sections), ...sections,
  el("p", { class: "muted" }, "Made by gaancore. This page holds its data and programs; it fetches nothing."));
redrawAll();
loadCharts().then(redrawAll, () => page.prepend(el("p", { class: "told" },
  "This browser cannot unpack the program of the charts; one of 2023 or later can. The tables below have the numbers.")))
  .then(() => document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView())
  .finally(() => { document.documentElement.dataset.ready = "yes"; });
