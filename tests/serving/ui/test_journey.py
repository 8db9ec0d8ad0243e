"""A person with a browser: load, filter, open, label, see the interval move, export; and nothing leaves the machine.

Debian's chromium, driven by Playwright. What a policy wrote is in every place that shows text.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PLAYWRIGHT = "no Playwright: pip install playwright"
pytest.importorskip("gradio", reason="no Gradio: pip install 'guerdon[ui]'")
sync_api = pytest.importorskip("playwright.sync_api", reason=PLAYWRIGHT)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")

WAIT = 60_000  # milliseconds; never waited for in a passing run


class Visit:
    """A page that is open, with every address that it asked for and everything it complained of."""

    def __init__(self, page: Any) -> None:
        self.page, self.asked, self.errors = page, [], []  # type: ignore[var-annotated]
        page.set_default_timeout(WAIT)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def outside(self, url: str) -> list[str]:
        return [asked for asked in self.asked if not asked.startswith((url, "data:", "blob:"))]

    def fill(self, name: str, text: str) -> None:
        """A filter's text, and the page of the table that follows."""
        before = self.page.inner_text("#place .place")
        self.page.fill(f"#{name} input, #{name} textarea", text)
        self.page.wait_for_function(
            "before => document.querySelector('#place .place').innerText !== before", arg=before
        )

    def choose(self, name: str, word: str) -> None:
        before = self.page.inner_text("#place .place")
        self.page.click(f"#{name} input")
        self.page.click(f"[role=option]:has-text('{word}')")
        self.page.wait_for_function(
            "before => document.querySelector('#place .place').innerText !== before", arg=before
        )

    def open(self, sample: str) -> str:
        """Open a sample's row; gives its HTML."""
        self.page.click(f"tr[data-row]:has-text('{sample}')")
        self.page.wait_for_selector(f".detail h3:has-text('{sample}')")
        return str(self.page.inner_html("#sample"))

    def tab(self, name: str) -> None:
        self.page.click(f"button[role=tab]:has-text('{name}')")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def visit(browser: Any, ui_url: str) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, service_workers="block")
    found = Visit(context.new_page())
    found.page.goto(f"{ui_url}/ui/")
    found.page.wait_for_selector("tr[data-row]")
    yield found
    context.close()


def test_from_the_first_page_to_the_exported_rates(visit: Visit, ui_url: str, tmp_path: Path) -> None:
    page = visit.page
    assert "208 scores" in page.inner_text("#place .place")
    visit.choose("f-scorer", "sums")
    assert "74 scores" in page.inner_text("#place .place")
    visit.choose("f-disagrees", "helpful")
    visit.fill("f-steps", "0..1")
    # the right ones of the first 20, to all of which helpful says no
    assert "13 of 13 scores" in page.inner_text("#place .place")
    html = visit.open("sum-4")
    assert "<mark" in html
    page.click("#score-again")
    page.wait_for_selector("#fresh .signals")

    visit.tab("Audit")
    page.fill("#auditor input, #auditor textarea", "ann")
    page.click("#audit-scorer input")
    page.click("[role=option]:has-text('sums')")
    page.click("#audit-begin")
    page.wait_for_selector("[data-id]")
    intervals = []
    for key in "yny":
        shown = page.get_attribute("[data-id]", "data-id")
        page.keyboard.press(key)
        page.wait_for_function("was => document.querySelector('[data-id]').dataset.id !== was", arg=shown)
        page.wait_for_function(
            "n => parseInt(document.querySelector('#audit-rates .tile strong')?.innerText) === n",
            arg=len(intervals) + 1,
        )
        intervals.append(page.inner_text("#rate-false_negative"))
    # the design takes one of each verdict first: only then are there rates, and each label more moves them
    assert intervals[0] == "–"
    assert " to " in intervals[1]
    assert intervals[1] != intervals[2]
    page.keyboard.press("u")
    page.wait_for_function("was => document.querySelector('[data-id]').dataset.id === was", arg=shown)
    page.keyboard.press("y")
    page.wait_for_function("was => document.querySelector('[data-id]').dataset.id !== was", arg=shown)

    page.click("#audit-export")
    page.wait_for_selector("#audit-exported .notice")
    with page.expect_download() as download:
        page.click("#audit-download")
    download.value.save_as(tmp_path / "rates.json")
    assert json.loads((tmp_path / "rates.json").read_text())["kind"] == "noise_rates"
    assert visit.outside(ui_url) == []
    assert visit.errors == []


def test_a_browser_logs_in_with_the_token(browser: Any, database: Path, tmp_path: Path) -> None:
    from guerdon.serving.config import ServeConfig
    from guerdon.serving.server import serving

    config = ServeConfig(port=0, token="secret", ui=True, ui_store=str(database), ui_labels=str(tmp_path / "labels"))
    with serving(config, {}) as url:
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.goto(f"{url}/ui/")
        for token, found in (("guess", ".problem"), ("secret", "tr[data-row]")):
            page.fill("input[name=token]", token)
            page.click("button")
            page.wait_for_selector(found)
        context.close()


def test_no_text_of_a_model_runs_or_loads_anything(visit: Visit, ui_url: str, hostile: tuple[str, ...]) -> None:
    page = visit.page
    visit.choose("f-scorer", "helpful")
    for place in range(len(hostile)):
        visit.open(f"bad-{place}")
        for summary in page.query_selector_all("#sample summary"):
            summary.click()
        page.hover("#sample .box.long")
    visit.tab("Try it")
    page.wait_for_selector("#try-found .signals")
    for payload in hostile[:5]:
        before = page.inner_text("#try-found")
        for name in ("prompt", "first", "second", "reference"):
            page.fill(f"#try-{name} textarea, #try-{name} input", f"{payload} {name}")
        page.click("#try-go")
        page.wait_for_function("was => document.querySelector('#try-found').innerText !== was", arg=before)
    visit.tab("Model")
    page.click("#model-go")
    page.wait_for_selector("#model-found figure")
    visit.tab("Health")
    page.wait_for_selector("#health table")
    assert page.evaluate("window.pwned") is None
    assert page.query_selector("#sample h1") is None
    assert visit.outside(ui_url) == []


def test_markup_that_got_through_would_still_do_nothing(visit: Visit, ui_url: str, hostile: tuple[str, ...]) -> None:
    """The policy holds even if the escaping should ever fail: the payloads are put into the page as they are."""
    page = visit.page
    page.evaluate("all => { document.querySelector('#sample').innerHTML = all.join('') }", list(hostile))
    page.evaluate(
        "() => { const script = document.createElement('script'); script.textContent = 'window.pwned=1';"
        " document.body.append(script) }"
    )
    page.evaluate("() => document.querySelectorAll('#sample a').forEach((link) => link.click())")
    page.wait_for_timeout(300)
    assert page.evaluate("window.pwned") is None
    reached: list[str] = [url for url in visit.outside(ui_url) if not _was_blocked(page, url)]
    assert reached == []


def _was_blocked(page: Any, url: str) -> bool:
    """Chromium tells of a request that its policy stopped; none of these was sent, the name does not even resolve."""
    return "outside.invalid" in url and page.evaluate(
        "async (url) => { try { await fetch(url, {mode: 'no-cors'}); return false } catch { return true } }", url
    )
