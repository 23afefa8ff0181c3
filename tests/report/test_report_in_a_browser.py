"""Pages in Chromium: each control is used, nothing is fetched, nothing of the data runs."""

import pytest
from report_runs import HOSTILE
from small_run import small_dataset, small_run

import gaancore
from gaancore.report import write

pytest.importorskip("selenium", reason="needs the extra `test`: selenium drives the browser")
from selenium.webdriver import ActionChains, Keys

NOT_OURS = "img, iframe, object, embed, form, base, link, script[src], a:not([href^='#'])"


@pytest.fixture(scope="module")
def pages(browser, nodes_run, seeds_runs, hostile_run, traffic_run, tmp_path_factory):
    """The pages by name; of labels, and of two runs side by side, too."""
    folder = tmp_path_factory.mktemp("pages")
    data = small_dataset()
    small_run(folder / "labels", data).train()
    runs = {
        "nodes": nodes_run,
        "labels": gaancore.open_run(folder / "labels", data=data),
        "hostile": hostile_run,
        "traffic": traffic_run,
        "several": seeds_runs,
        "hostile several": [hostile_run, hostile_run],
    }
    return {name: write(run, folder / f"{name}.html") for name, run in runs.items()}


def use_everything(browser) -> int:
    """Open all that can be opened, press every button, give every list each of its values."""
    used = 0
    browser.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for button in range(browser.run("return document.querySelectorAll('button').length")):
        browser.run("document.querySelectorAll('button')[arguments[0]]?.click()", button)
        used += 1
    for select in [element.get_attribute("id") for element in browser.all("select")]:
        values = browser.run(
            "return Array.from(document.getElementById(arguments[0]).options, (o) => o.value)",
            select,
        )
        for value in values[:12]:
            browser.choose(f"[id='{select}']", value)
            used += 1
    browser.run(
        "document.querySelectorAll('.drawing circle.node').forEach((c) => c.focus());"
        "document.querySelectorAll('nav a').forEach((a) => a.click())"
    )
    return used


def hover_over_the_charts(browser) -> None:
    for chart in browser.all(".chart"):
        browser.run("arguments[0].scrollIntoView({block: 'center'})", chart)
        ActionChains(browser.driver, duration=0).move_to_element(chart).perform()


def expect_quiet(browser, page) -> None:
    """No error, no request but for the page itself, and nothing of the data that has run."""
    assert browser.complaints() == []
    left = [url for url in browser.requests() if not url.startswith("data:")]
    assert {url.partition("#")[0] for url in left} == {page.as_uri()}
    assert browser.run("return window.ran === undefined")
    assert browser.run("return document.querySelectorAll(arguments[0]).length", NOT_OURS) == 0


@pytest.mark.parametrize("name", ["nodes", "labels", "traffic", "several"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_control_of_a_page_works_and_nothing_is_fetched(browser, pages, name, width, scheme):
    browser.open(pages[name], width, scheme)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    charts = browser.run(
        "return [document.querySelectorAll('.chart').length,"
        " document.querySelectorAll('.chart .main-svg').length]"
    )
    assert charts[1] >= charts[0] > 0
    assert use_everything(browser) > (3 if name == "several" else 10)
    hover_over_the_charts(browser)
    expect_quiet(browser, pages[name])


@pytest.mark.parametrize("name", ["hostile", "hostile several"])
def test_ids_and_classes_that_look_like_programs_are_texts(browser, pages, name):
    browser.open(pages[name])
    use_everything(browser)
    hover_over_the_charts(browser)
    if name == "hostile":
        for text in HOSTILE:
            browser.choose("#node-search", text)
            answer = browser.text("#node-answer")
            assert "on this page" in answer
        assert browser.run(
            "return Array.from(document.querySelectorAll('bdi'), (b) => b.textContent)"
        ).count(HOSTILE[0]), "a class is shown as it is called"
    expect_quiet(browser, pages[name])
    assert browser.run("return document.documentElement.scrollWidth") <= 1280


def test_a_page_that_fetches_or_runs_something_would_be_found_out(browser, pages, tmp_path):
    text = pages["several"].read_text(encoding="utf-8")
    for planted in (
        "<img src='https://elsewhere.example/x.png' alt=''>",
        "<img src='data:,' alt='' onerror='window.ran = 1'>",
        "<script>fetch('https://elsewhere.example/')</script>",
    ):
        page = tmp_path / "planted.html"
        page.write_text(text.replace("</body>", f"{planted}</body>"), encoding="utf-8")
        browser.open(page)
        with pytest.raises(AssertionError):
            expect_quiet(browser, page)


def test_everything_can_be_reached_and_is_told_in_words(browser, pages):
    for name in ("nodes", "traffic", "several"):
        browser.open(pages[name])
        unnamed = browser.run(
            "return Array.from(document.querySelectorAll('select, input, button, [role=img], "
            "[role=region], section')).filter((e) => !(e.getAttribute('aria-label') || "
            "e.getAttribute('aria-labelledby') || e.closest('label') || e.textContent.trim()))"
            ".length"
        )
        assert unnamed == 0
        for chart in browser.all(".chart"):
            assert len(chart.get_attribute("aria-label")) > 20


def test_keys_alone_lead_to_the_next_wrong_node(browser, pages, hostile_run):
    browser.open(pages["hostile"])
    before = browser.text("#node-answer")
    browser.run("document.getElementById('previous-wrong').focus()")
    ActionChains(browser.driver, duration=0).send_keys(Keys.TAB, Keys.ENTER).perform()
    assert browser.run("return document.activeElement.id") == "next-wrong"
    assert browser.text("#node-answer") != before
    assert "wrong" in browser.text("#node-answer")


def test_a_node_is_found_by_its_id_and_shows_the_numbers_of_explain(browser, pages, nodes_run):
    browser.open(pages["nodes"])
    names = browser.run(
        "return Array.from(document.querySelectorAll('#node-ids option'), (o) => o.value)"
    )
    browser.choose("#node-search", names[-1])
    browser.choose("#node-layer", 1)
    browser.choose("#node-head", 1)
    found = nodes_run.explain(what="attention", nodes=names)
    row = nodes_run.dataset.node_ids.tolist().index(int(names[-1]))
    weights = found.layers[2][found.targets == row, 1].astype(float)
    arcs = browser.run(
        "return Array.from(document.querySelectorAll('#one .drawing line.arc'), "
        "(line) => +line.getAttribute('stroke-width'))"
    )
    assert sorted(arcs) == pytest.approx(sorted(0.6 + 10 * weights / weights.max()))
    shown = browser.text("#one .two")
    for gates in nodes_run.explain(nodes=names).values():
        assert all(f"{gate:.4f}" in shown for gate in gates[-1])
    browser.choose("#node-search", "no such node")
    assert "No node no such node among" in browser.text("#node-answer")


def test_a_click_on_the_map_chooses_a_sensor(browser, pages, traffic_run):
    browser.open(pages["traffic"])
    browser.choose("#sensor", 0)
    # the dots of sensors are the trace with as many points as there are sensors
    dots = browser.run(
        "return Array.from(document.querySelectorAll('#sensors .chart .points'))"
        ".map((g) => Array.from(g.children)).filter((c) => c.length === arguments[0])[0]",
        traffic_run.dataset.num_sensors,
    )
    browser.run("arguments[0].scrollIntoView({block: 'center'})", dots[3])
    ActionChains(browser.driver, duration=0).move_to_element(dots[3]).pause(0.2).click().perform()
    assert browser.run("return document.getElementById('sensor').value") == "3"
    assert traffic_run.dataset.sensor_ids[3] in browser.text("#sensor-facts")


def test_a_title_sorts_its_table_both_ways(browser, pages):
    browser.open(pages["nodes"])
    column = (
        "return Array.from(document.querySelectorAll('#classes .scroll table tbody tr'), "
        "(row) => row.cells[3].textContent).slice(0, 3)"
    )
    press = "document.querySelectorAll('#classes .scroll thead button')[3].click()"
    browser.run(press)
    down = browser.run(column)
    assert down == sorted(down, reverse=True)
    browser.run(press)
    assert browser.run(column) == down[::-1]
