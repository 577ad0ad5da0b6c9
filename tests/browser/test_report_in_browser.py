"""Reports in a browser: read off, switched, sorted, light and dark, on a phone, on paper."""

import pytest
from helpers.pages import hostile_result, plain_result

from quell.pages.door import report
from quell.text import printable


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Addresses of reports by name."""
    folder = tmp_path_factory.mktemp("reports")
    made = {
        "plain": plain_result(),
        "hostile": hostile_result(),
        "runs": {"one": plain_result(), "two": plain_result(5104)},
    }
    return {name: report(one, folder / f"{name}.html").as_uri() for name, one in made.items()}


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def silent(page, address):
    """No complaint, and nothing asked for but the page itself."""
    assert page.complaints == []
    wanted = [url for url in page.requests if not url.startswith("data:")]
    assert wanted == [address]


@pytest.mark.parametrize("name", ["plain", "hostile", "runs"])
def test_a_page_is_silent_and_fits_the_screen(page, place, name):
    page.goto(place[name])
    assert page.locator("h1").is_visible()
    for width in (1200, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    silent(page, place[name])


def test_a_chart_is_read_off_by_pointer_and_by_keys(page, place):
    page.goto(place["plain"])
    chart, output = page.locator("#trace"), page.locator("#trace-readout")
    chart.scroll_into_view_if_needed()
    chart.hover(position={"x": 300, "y": 60})
    first = output.inner_text()
    assert "evaluations: ELBO" in first
    page.mouse.move(0, 0)
    chart.focus()
    chart.press("ArrowRight")
    second = output.inner_text()
    assert second != first
    assert "evaluations: ELBO" in second
    chart.press("ArrowLeft")
    assert output.inner_text() == first
    silent(page, place["plain"])


def test_the_corner_is_read_off_and_a_pair_is_chosen(page, place):
    page.goto(place["plain"])
    corner, output = page.locator("#corner"), page.locator("#corner-readout")
    page.set_viewport_size({"width": 1200, "height": 1400})
    corner.scroll_into_view_if_needed()
    box = page.locator("#corner-2-1").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert "beta = " in output.inner_text()
    assert "in the 50 % region" in output.inner_text()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    chosen = [page.locator(f"#pair-{axis}").input_value() for axis in "xy"]
    assert chosen == ["1", "2"]
    assert page.locator("#pair-view title").text_content() == "beta and gamma"


def test_a_pair_is_switched_and_turned(page, place):
    page.goto(place["plain"])
    view, output = page.locator("#pair-view"), page.locator("#pair-readout")
    page.select_option("#pair-x", label="gamma")
    assert page.locator("#pair-view title").text_content() == "gamma and beta"
    view.hover()
    assert output.inner_text().startswith("gamma = ")
    assert "beta = " in output.inner_text()
    page.select_option("#pair-y", label="gamma")  # the same twice: they change places
    assert page.locator("#pair-view title").text_content() == "beta and gamma"
    page.check("#pair-points")
    assert "h0" in page.locator("#pair-view .near").get_attribute("d")
    before = output.inner_text()
    view.press("ArrowRight")
    assert output.inner_text() != before
    silent(page, place["plain"])


def test_a_turned_pair_shows_the_same_region(page, place):
    """The point in the middle of the 50 % region is in it, whichever way round it is drawn."""
    page.goto(place["plain"])
    page.locator("#pair-view").scroll_into_view_if_needed()
    answers = []
    for x, y in (("0", "1"), ("1", "0")):
        page.select_option("#pair-x", x)
        page.select_option("#pair-y", y)
        mask = page.evaluate(
            """() => {
              const view = document.getElementById("pair-view");
              const path = view.querySelector(".r50").getBoundingClientRect();
              return [path.x + path.width / 2, path.y + path.height / 2];
            }"""
        )
        page.mouse.move(*mask)
        text = page.locator("#pair-readout").inner_text()
        values, where = text.split(": ")
        answers.append((sorted(values.split(", ")), where))
    (first, where), (second, same) = answers
    assert where == same == "in the 50 % region"
    for one, other in zip(first, second, strict=True):
        name, value = one.split(" = ")
        assert other.startswith(f"{name} = ")
        assert float(other.split(" = ")[1]) == pytest.approx(float(value), abs=0.1)


def test_evaluations_are_sorted_and_filtered(page, place):
    page.goto(place["plain"])
    table, n = page.locator("#evaluation-table"), len(plain_result().evaluations)
    rows = table.locator("tbody tr")
    assert rows.count() == 15
    page.click("#evaluation-all")
    assert rows.count() == n
    head = table.locator("th", has_text="number")
    head.locator("button").click()
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert rows.first.locator("td").first.inner_text() == "1"
    page.select_option("#evaluation-origin", "design")
    count = plain_result().evaluations.origin.count("design")
    assert rows.count() == count
    page.fill("#evaluation-filter", "no such row")
    assert rows.count() == 0
    assert "0 of 0" in page.locator("#evaluation-count").inner_text()


def test_light_and_dark(page, place):
    page.emulate_media(color_scheme="dark")
    page.goto(place["plain"])
    dark = background(page)
    page.emulate_media(color_scheme="light")
    light = background(page)
    assert light == "rgb(255, 255, 255)" != dark
    page.click("#theme")
    assert background(page) == dark
    page.emulate_media(color_scheme="dark")
    page.click("#theme")
    assert background(page) == light
    page.click("#theme")
    page.emulate_media(media="print")
    assert background(page) == light  # paper is white
    silent(page, place["plain"])


def test_hostile_names_are_text(page, place):
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page.goto(place["hostile"])
    names = [printable(name) for name in hostile_result().posterior.names[:3]]
    assert page.locator("#pair-x option").all_inner_texts() == names
    page.select_option("#pair-x", index=2)
    page.locator("#pair-view").hover()
    assert names[2] in page.locator("#pair-readout").inner_text()
    page.click("#evaluation-all")
    assert page.locator("img").count() == 0
    assert asked == []
    silent(page, place["hostile"])


def test_without_scripts(new_page, place):
    page = new_page(java_script_enabled=False, viewport={"width": 1000, "height": 800})
    page.goto(place["plain"])
    for name in ("corner", "trace", "values", "slice-0", "evaluation-table"):
        assert page.locator(f"#{name}").is_visible(), name
    for name in ("pair", "evaluation-controls", "trace-readout"):
        assert not page.locator(f"#{name}").is_visible(), name
    assert page.locator("#evaluation-table tbody tr").count() == 15


def test_the_policy_stops_what_does_not_belong(page, place):
    page.goto(place["plain"])
    page.evaluate(
        """() => {
          const image = new Image();
          image.src = "http://127.0.0.1:9/x.png";
          document.body.append(image);
          const script = document.createElement("script");
          script.textContent = "window.intruder = true";
          document.body.append(script);
        }"""
    )
    page.wait_for_timeout(100)
    assert page.evaluate("window.intruder") is None
    assert any("Content Security Policy" in text for text in page.complaints)


def test_on_paper(page, place, tmp_path):
    page.goto(place["plain"])
    page.pdf(path=tmp_path / "fit.pdf", format="A4")
    assert (tmp_path / "fit.pdf").read_bytes().startswith(b"%PDF")
    page.emulate_media(media="print")
    for name in ("theme", "pair", "evaluation-controls", "trace-readout"):
        assert not page.locator(f"#{name}").is_visible(), name
    assert page.locator("#corner").is_visible()
    assert page.locator("details").first.get_attribute("open") is not None
