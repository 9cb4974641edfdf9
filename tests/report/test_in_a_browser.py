"""The pages in a real browser, from files: quiet console, charts with axes, a timeline that zooms and tells, tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import CHROMIUM, Browser
from invented_run import make_ensemble, make_run, make_sweep
from thalweg.report import compare, compare_sweeps, write_report, write_sweep_report

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")

AXES = {"simulations": [1, 2], "size_bytes": [400_000, 4_000_000], "backend": ["thalweg", "redis"]}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser") / "profile") as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    runs = [make_run(folder / "quick"), make_run(folder / "slow", slower=2.0)]
    sweeps = [
        make_sweep(folder / "many", "many-to-one", AXES, repeats=2, ends={3: "failed", 4: "pending"}),
        make_sweep(folder / "one", "one-to-one", {key: AXES[key] for key in ("size_bytes", "backend")}),
    ]
    again = make_sweep(folder / "again", "many-to-one", AXES, slower=2.0)
    return {
        "run": write_report(runs[0]),
        "ensemble": write_report(make_ensemble(folder / "ensemble")),
        "compare": compare(runs, folder / "compare.html"),
        "sweeps": write_sweep_report(sweeps, folder / "sweeps.html"),
        "compared sweeps": compare_sweeps([sweeps[0], again], folder / "sweeps-compared.html"),
    }


KINDS = ("run", "ensemble", "compare", "sweeps", "compared sweeps")


def opened(browser: Browser, page: Path) -> Browser:
    browser.console.clear()
    browser.requested.clear()
    browser.open(page)
    return browser


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_quiet_and_asks_the_network_for_nothing(kind: str, browser: Browser, pages: dict[str, Path]) -> None:
    opened(browser, pages[kind])
    assert browser.value("document.querySelectorAll('.js-plotly-plot').length") >= 3
    browser.value("window.scrollTo(0, document.body.scrollHeight)")
    browser.until("window.scrollY > 0")
    assert browser.console == []
    assert [address for address in browser.requested if not address.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_has_axes_with_units_and_something_on_them(
    kind: str, browser: Browser, pages: dict[str, Path]
) -> None:
    opened(browser, pages[kind])
    charts = browser.value(
        """[...document.querySelectorAll('.js-plotly-plot')].map((plot) => ({
            titles: [...plot.querySelectorAll('.xtitle, .ytitle')].map((title) => title.textContent),
            marks: plot.querySelectorAll('.point, .js-line').length}))"""
    )
    for chart in charts:
        assert len(chart["titles"]) >= 2, chart
        categories = {"component", "operation"}
        assert all(" / " in title or title in categories for title in chart["titles"]), chart
        assert any(" / " in title for title in chart["titles"]), chart
        assert chart["marks"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_wider_than_the_page(kind: str, browser: Browser, pages: dict[str, Path]) -> None:
    opened(browser, pages[kind])
    assert browser.value("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("kind", KINDS)
def test_legends_lie_beside_the_data(kind: str, browser: Browser, pages: dict[str, Path]) -> None:
    opened(browser, pages[kind])
    overlaps = browser.value(
        """[...document.querySelectorAll('.js-plotly-plot:has(.legend .bg)')].map((plot) => {
            const legend = plot.querySelector('.legend .bg').getBoundingClientRect();
            const tops = [...plot.querySelectorAll('.cartesianlayer .bg, .bglayer .bg')]
                .map((area) => area.getBoundingClientRect().top);
            return legend.bottom - Math.min(...tops, Infinity); }).filter((overlap) => overlap > 1)"""
    )
    assert overlaps == []


def rows_by(browser: Browser, title: str, heading: str, click: bool) -> list[str]:
    """Cells of one column of a table, after a click on its heading."""
    found: list[str] = browser.value(
        f"""(() => {{
            const section = [...document.querySelectorAll('section.table')]
                .find((part) => part.querySelector('h3').textContent.includes({title!r}));
            const headings = [...section.querySelectorAll('th')];
            const place = headings.findIndex((cell) => cell.textContent === {heading!r});
            if ({str(click).lower()}) headings[place].click();
            return [...section.querySelectorAll('tbody tr')].map((row) => row.cells[place].textContent); }})()"""
    )
    return found


@pytest.mark.parametrize(
    ("kind", "title", "heading"),
    [
        ("run", "Events by component", "mean / ms"),
        ("compare", "Operations", "median / ms"),
        ("sweeps", "many-to-one: medians", "read / (GB/s)"),
        ("compared sweeps", "Medians", "many / ms"),
    ],
)
def test_tables_sort_by_number_both_ways(
    kind: str, title: str, heading: str, browser: Browser, pages: dict[str, Path]
) -> None:
    opened(browser, pages[kind])
    before = rows_by(browser, title, heading, click=False)
    rising = rows_by(browser, title, heading, click=True)
    falling = rows_by(browser, title, heading, click=True)

    def numbers(cells: list[str]) -> list[float]:
        return [float(cell.replace("\u202f", "")) for cell in cells if cell != "–"]

    assert len(set(before)) > 1
    assert numbers(rising) == sorted(numbers(before))
    assert numbers(falling) == sorted(numbers(before), reverse=True)
    assert sorted(rising) == sorted(before)


def test_tables_sort_by_word_too(browser: Browser, pages: dict[str, Path]) -> None:
    opened(browser, pages["ensemble"])
    names = rows_by(browser, "Events by component", "component", click=True)
    assert names == sorted(names)
    assert rows_by(browser, "Events by component", "component", click=True) == names[::-1]


RANGE = "document.querySelector('.js-plotly-plot').layout.xaxis.range.slice()"


def place_of(browser: Browser, lane: str, kind: str) -> dict[str, Any]:
    """Where in the window one event of a lane is drawn."""
    found: dict[str, Any] = browser.value(
        f"""(() => {{
            const plot = document.querySelector('.js-plotly-plot');
            plot.scrollIntoView();
            const trace = plot._fullData.find((trace) => trace.mode === 'markers' && trace.legendgroup === {kind!r});
            const place = trace.text.findIndex((words) => words.includes({f"{lane} · {kind}"!r}));
            const area = plot.querySelector('.nsewdrag').getBoundingClientRect();
            const {{xaxis, yaxis}} = plot._fullLayout;
            return {{x: area.left + xaxis.d2p(trace.x[place]), y: area.top + yaxis.d2p(trace.y[place]),
                     words: trace.text[place]}}; }})()"""
    )
    return found


@pytest.mark.parametrize(("kind", "lane"), [("run", "solver"), ("ensemble", "simulation-5")])
def test_the_timeline_names_the_event_under_the_pointer(
    kind: str, lane: str, browser: Browser, pages: dict[str, Path]
) -> None:
    opened(browser, pages[kind])
    # near enough that events do not lie on each other
    near = [0.3, 0.5] if kind == "run" else [0, 0.08]
    browser.value(
        f"Plotly.relayout(document.querySelector('.js-plotly-plot'), {{'xaxis.range': {near}}}).then(() => 0)"
    )
    at = place_of(browser, lane, "write")
    browser.mouse("mouseMoved", at["x"] - 30, at["y"] + 40)
    browser.mouse("mouseMoved", at["x"], at["y"])
    told = browser.until("document.querySelector('.hoverlayer .hovertext')?.textContent")
    assert f"{lane} · write" in told
    assert "key field/" in told or "key ensemble/5/" in told
    assert " MB" in told
    assert " ms from " in told


def test_the_timeline_zooms_by_wheel_and_moves_by_drag(browser: Browser, pages: dict[str, Path]) -> None:
    opened(browser, pages["run"])
    at = place_of(browser, "solver", "write")
    low, high = browser.value(RANGE)
    browser.mouse("mouseWheel", at["x"], at["y"], deltaX=0, deltaY=-240)
    browser.until(f"(([low, high]) => high - low < {high - low} * 0.95)({RANGE})")
    low, high = browser.value(RANGE)
    browser.mouse("mouseMoved", at["x"], at["y"])
    browser.mouse("mousePressed", at["x"], at["y"], button="left", clickCount=1)
    for step in (40, 80, 120):
        browser.mouse("mouseMoved", at["x"] - step, at["y"], button="left", buttons=1)
    browser.mouse("mouseReleased", at["x"] - 120, at["y"], button="left", clickCount=1)
    browser.until(f"{RANGE}[0] > {low}")
    moved = browser.value(RANGE)
    assert moved[1] - moved[0] == pytest.approx(high - low)
    assert browser.console == []


def test_a_point_of_a_figure_says_all_of_itself(browser: Browser, pages: dict[str, Path]) -> None:
    opened(browser, pages["sweeps"])
    at = browser.value(
        """(() => {
            const plot = document.querySelector('.js-plotly-plot');
            plot.scrollIntoView();
            const point = plot.querySelector('.scatterlayer .trace .point').getBoundingClientRect();
            return {x: point.left + point.width / 2, y: point.top + point.height / 2}; })()"""
    )
    browser.mouse("mouseMoved", at["x"] - 40, at["y"] + 30)
    browser.mouse("mouseMoved", at["x"], at["y"])
    told = browser.until("document.querySelector('.hoverlayer .hovertext')?.textContent")
    for words in ("thalweg", "write", "0.4 MB: ", "GB/s over the runs", "10 arrays in 2 runs"):
        assert words in told


def test_a_hundred_thousand_events_are_thinned(browser: Browser, tmp_path: Path) -> None:
    opened(browser, write_report(make_run(tmp_path / "long", iterations=65_000)))
    assert "events are drawn; timeline.json has all of them" in browser.value("document.body.textContent")
    drawn = browser.value(
        """document.querySelector('.js-plotly-plot')._fullData.filter((trace) => trace.mode === 'markers')
            .reduce((sum, trace) => sum + trace.x.length, 0)"""
    )
    assert 1000 < drawn <= 20_000
    assert browser.console == []
