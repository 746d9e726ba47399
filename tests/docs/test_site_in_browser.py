"""Every page of the site in Chromium: nothing asked of another host, no error, no page wider than a phone."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from chromium import look, opened, requested

pytestmark = pytest.mark.slow  # scripts/docs runs them


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="module")
def address(site):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("chromium")) as made:
        yield made


def test_the_site_in_a_browser(site, address, driver):
    pages = sorted(path.parent.relative_to(site).as_posix() for path in site.rglob("index.html"))
    assert len(pages) > 20
    look(driver, width=380)
    requested(driver)
    driver.get_log("browser")
    for page in pages:
        driver.get(f"{address}/{page}/")
        asked = requested(driver)
        assert asked, page
        assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == [], page
        assert [each["message"] for each in driver.get_log("browser") if each["level"] == "SEVERE"] == [], page
        wide = driver.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"{page} is {wide} pixels wider than a phone"


@pytest.mark.parametrize(("scheme", "hidden"), [("light", "dark"), ("dark", "light")])
def test_a_picture_is_shown_for_the_light_or_for_the_dark(address, driver, scheme, hidden):
    look(driver, scheme=scheme)
    driver.get(f"{address}/tutorial/")
    driver.execute_script("localStorage.clear()")  # what the visit before has chosen
    driver.refresh()
    shown = "return [...document.images].filter((each) => each.offsetWidth).map((each) => each.src)"
    pictures = driver.execute_script(shown)
    assert len(pictures) == 3
    assert not [each for each in pictures if f"only-{hidden}" in each]


def test_the_search_finds(address, driver):
    look(driver)
    driver.get(f"{address}/")
    driver.execute_script("document.querySelector('[data-md-toggle=search]').click()")
    driver.find_element("css selector", "input.md-search__input").send_keys("plausibility")
    driver.implicitly_wait(10)
    assert driver.find_element("css selector", ".md-search-result__item")
    assert [url for url in requested(driver) if not url.startswith((address, "data:", "blob:"))] == []
