"""That the page of these tests sees what it should: without that, no silence means anything."""


def test_complaints_and_requests_are_seen(page, tmp_path):
    place = tmp_path / "bad.html"
    place.write_text(
        '<!doctype html><title>bad</title><link rel="icon" href="data:,">'
        '<img src="missing.png" alt="">'
        '<script>console.error("one"); setTimeout(() => { throw new Error("two"); });</script>',
        encoding="utf-8",
    )
    page.goto(place.as_uri())
    page.wait_for_function("document.readyState === 'complete'")
    page.wait_for_timeout(50)
    said = " ".join(page.complaints)
    assert "one" in said
    assert "two" in said
    assert any(url.endswith("missing.png") for url in page.requests)
