"""Who comes in, and what the page may load: the gate, around an app that stands for Gradio's."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from typing import Any

import httpx
import pytest

from guerdon.serving.ui.gate import Gate

INLINE = b"window.gradio_config = {};"
PAGE = (
    b'<html><head><meta property="og:image" content="https://outside.invalid/x.jpg"><script>' + INLINE + b"</script>"
    b'<script type="module" src="./assets/index.js"></script></head><body></body></html>'
)
BROWSER = {"accept": "text/html,*/*"}


async def behind(scope: Any, receive: Any, send: Any) -> None:
    """Answers everything with a page, and lets any page of the world read it."""
    headers = [(b"content-type", b"text/html"), (b"access-control-allow-origin", b"*")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": PAGE[:40], "more_body": True})
    await send({"type": "http.response.body", "body": PAGE[40:]})


def ask(*calls: tuple[str, str, dict[str, Any]], tokens: tuple[str, ...] = ("secret",)) -> list[httpx.Response]:
    """Calls (method, path, options) of one client, which keeps its cookies."""
    gate = Gate(behind, tokens, path="/ui", host="127.0.0.1")

    async def mounted(scope: Any, receive: Any, send: Any) -> None:
        await gate({**scope, "root_path": "/ui"}, receive, send)

    async def main() -> list[httpx.Response]:
        transport = httpx.ASGITransport(mounted)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8008") as http:
            return [await http.request(method, path, **options) for method, path, options in calls]

    return asyncio.run(main())


def test_nobody_comes_in_without_the_token() -> None:
    for path in (
        "/ui/",
        "/ui/config",
        "/ui/gradio_api/queue/join",
        "/ui/nothing",
        "/ui/assets/index.js",
        "/ui/theme.css",
    ):
        (answer,) = ask(("GET", path, {}))
        assert answer.status_code == 401
        assert b"gradio_config" not in answer.content


def test_the_apis_bearer_token_comes_in() -> None:
    for token, status in (("secret", 200), ("secre", 401), ("", 401), ("geheim ü", 401)):
        (answer,) = ask(("GET", "/ui/", {"headers": {"authorization": f"Bearer {token}".encode()}}))
        assert answer.status_code == status


def test_a_person_logs_in_once() -> None:
    form = {"headers": {**BROWSER, "origin": "http://127.0.0.1:8008"}}
    first, wrong, right, after = ask(
        ("GET", "/ui/", {"headers": BROWSER}),
        ("POST", "/ui/guerdon-login", {"data": {"token": "guess"}, **form}),
        ("POST", "/ui/guerdon-login", {"data": {"token": "secret"}, **form}),
        ("GET", "/ui/", {"headers": BROWSER}),
    )
    assert (first.status_code, wrong.status_code, right.status_code, after.status_code) == (401, 401, 303, 200)
    assert "/ui/guerdon-login" in first.text
    assert "not the token" in wrong.text
    cookie = right.headers["set-cookie"]
    assert "secret" not in cookie
    for attribute in ("HttpOnly", "SameSite=Strict", "Path=/ui"):
        assert attribute in cookie


def test_a_cookie_that_was_made_up_is_none() -> None:
    (answer,) = ask(("GET", "/ui/", {"headers": {"cookie": "guerdon_ui=abc"}}))
    assert answer.status_code == 401


def test_a_page_of_another_origin_may_do_nothing() -> None:
    """A page that a browser has open can send requests to loopback; the browser says whose they are."""
    ours = {"origin": "http://127.0.0.1:8008"}
    for headers, status in (
        ({"origin": "http://outside.invalid"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}, 403),
        (ours, 200),
        ({}, 200),  # a program
    ):
        (answer,) = ask(("POST", "/ui/gradio_api/queue/join", {"headers": headers}), tokens=())
        assert answer.status_code == status, headers


def test_a_name_that_was_pointed_at_loopback_is_not_ours() -> None:
    for host, status in (("evil.invalid", 403), ("localhost:8008", 200), ("127.0.0.1", 200), ("[::1]:8008", 200)):
        (answer,) = ask(("GET", "/ui/", {"headers": {"host": host}}), tokens=())
        assert answer.status_code == status, host


@pytest.mark.parametrize(
    "path",
    [
        "gradio_api/upload",
        "gradio_api/upload_progress",
        "gradio_api/proxy=http://outside.invalid",
        "gradio_api/file=/etc/passwd",
        "gradio_api/file=/tmp/x/../../etc/passwd",
        "gradio_api/file=/tmp/%2e%2e/etc/my.rates.json",
        "gradio_api/file/etc/passwd",
        "gradio_api/stream/1",
        "gradio_api/component_server",
        "gradio_api/vibe-edit/",
        "gradio_api/runs",
        "monitoring",
        "login",
    ],
)
def test_what_the_ui_does_not_use_is_closed(path: str) -> None:
    (answer,) = ask(("GET", f"/ui/{path}", {}), tokens=())
    assert answer.status_code == 404, path


def test_the_exported_rates_may_be_fetched() -> None:
    (answer,) = ask(("GET", "/ui/gradio_api/file=/tmp/gradio/ab/scores.db.labels.rates.json", {}), tokens=())
    assert answer.status_code == 200


def test_the_page_may_run_its_own_scripts_and_load_from_here_only() -> None:
    page, other = ask(("GET", "/ui/", {}), ("GET", "/ui/theme.css", {}), tokens=())
    policy = page.headers["content-security-policy"]
    assert f"'sha256-{base64.b64encode(hashlib.sha256(INLINE).digest()).decode()}'" in policy
    scripts = next(part for part in policy.split(";") if part.strip().startswith("script-src"))
    assert "'unsafe-inline'" not in scripts
    for rule in ("default-src 'none'", "connect-src 'self'", "img-src 'self' data: blob:", "frame-ancestors 'none'"):
        assert rule in policy
    assert "script-src 'self'" in other.headers["content-security-policy"]
    assert b"outside.invalid" not in page.content
    assert int(page.headers["content-length"]) == len(page.content)
    assert "access-control-allow-origin" not in page.headers
