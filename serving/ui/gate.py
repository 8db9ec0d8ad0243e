"""Who may see the UI, and what its page may load: a layer of ASGI around Gradio's app.

Gradio knows nothing of it. A program shows the API's bearer token; a browser cannot, so a person enters the token once
and gets a cookie that only this server knows. Then:

    a request of another page      is refused: its Origin or its Host is not ours
    routes that the UI has no use for (uploads, proxies, other people's files ...)   do not exist
    every answer                   forbids the page to load, send to or run anything but this server's own files

The last is what holds if some text should ever get through as markup: the policy names the page's own scripts by their
hashes, so neither a script nor an ``onerror`` that a response brings along is run.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlsplit

from guerdon.serving.config import is_loopback

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

COOKIE = "guerdon_ui"
LASTS = 12 * 3600.0
"""Seconds that a login is good for."""

_MOST_LOGINS = 1_000
_MOST_FORM = 4_096  # bytes of a login form
# What Gradio offers and the UI does not use.
_CLOSED = re.compile(
    r"/(gradio_api/)?(upload|upload_progress|proxy=|stream|component_server|process_recording|dev|vibe|undo-vibe|runs"
    r"|file/|run-history|monitoring|deep_link|custom_component|pwa_icon|login|logout|svelte)"
)
# Files that Gradio keeps for a page to fetch: of ours only the exported rates.
_FILE = re.compile(r"/gradio_api/file=(?!.*\.\.)[^?]*\.rates\.json")
_INLINE = re.compile(rb"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)
# Links of Gradio's page to places outside, for crawlers of social networks.
_OUTSIDE = re.compile(rb'<(?:meta|link)\b[^>]*"https?://[^>]*>')

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval' {scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; manifest-src 'self'; worker-src 'self' "
    "blob:; frame-src 'none'; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
"""Gradio's own code makes functions of strings (``unsafe-eval``), which needs a script that runs already."""

_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with no-referrer a browser's form would say that it comes from nowhere
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Gate:
    """ASGI around the UI's app. tokens: any of them lets in; none lets everybody on this machine in."""

    def __init__(self, app: Any, tokens: Sequence[str], *, path: str, host: str) -> None:
        self._app, self._path, self._host = app, path, host
        self._tokens = [token.encode() for token in tokens]
        self._logins: dict[str, float] = {}  # of cookies, when they end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        path = scope["path"].removeprefix(scope.get("root_path", "")) or "/"
        method = scope["method"]
        if why := self._foreign(headers, method):
            await _say(send, 403, why)
        elif path == "/guerdon-login":
            await self._login(headers, method, scope, receive, send)
        elif not self._known(headers):
            if method == "GET" and "text/html" in headers.get(b"accept", ""):
                await _page(send, 401, self._form(""))
            else:
                await _say(send, 401, "the UI wants the API's token: as a bearer token, or log in with a browser")
        elif _CLOSED.match(path) or ("/file=" in path and not _FILE.fullmatch(path)):
            await _say(send, 404, "this part of Gradio is closed here")
        else:
            await self._app(scope, receive, self._guarded(send, page=path == "/" and method == "GET"))

    def _foreign(self, headers: dict[bytes, str], method: str) -> str:
        """Why a request cannot come from our own page, or "".

        Without a token only this machine may come in. A name that resolves to loopback is how a page on the internet
        would pretend to be here, so the Host must be an address, or the one we were told to listen on.
        """
        host = headers.get(b"host", "")
        name = urlsplit(f"//{host}").hostname or ""
        if not self._tokens and not (is_loopback(name) or name == self._host):
            return f"this server answers to loopback addresses, not to {name[:80]!r}"
        origin = headers.get(b"origin")
        if method not in ("GET", "HEAD") and origin is not None and urlsplit(origin).netloc != host:
            return "a page of another origin may not use the UI"
        if headers.get(b"sec-fetch-site") == "cross-site" and headers.get(b"sec-fetch-mode") != "navigate":
            return "a page of another site may not use the UI"
        return ""

    def _known(self, headers: dict[bytes, str]) -> bool:
        if not self._tokens:
            return True
        scheme, _, given = headers.get(b"authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(given.strip()):
            return True
        cookies = dict(part.strip().partition("=")[::2] for part in headers.get(b"cookie", "").split(";"))
        return self._logins.get(cookies.get(COOKIE, ""), 0.0) > time.monotonic()

    def _is_token(self, given: str) -> bool:
        right = False
        for token in self._tokens:  # all of them, so that time tells nothing
            right |= hmac.compare_digest(given.encode("utf-8", "replace"), token)
        return right

    async def _login(self, headers: dict[bytes, str], method: str, scope: Scope, receive: Receive, send: Send) -> None:
        if method != "POST":
            await _page(send, 200, self._form(""))
            return
        body = b""
        while len(body) <= _MOST_FORM:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        given = parse_qs(body[:_MOST_FORM].decode("utf-8", "replace")).get("token", [""])[0].strip()
        if not self._is_token(given):
            await _page(send, 401, self._form("That is not the token."))
            return
        now = time.monotonic()
        self._logins = {key: end for key, end in self._logins.items() if end > now}
        while len(self._logins) >= _MOST_LOGINS:
            self._logins.pop(next(iter(self._logins)))
        cookie = secrets.token_urlsafe(32)
        self._logins[cookie] = now + LASTS
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        attributes = f"Path={self._path}; HttpOnly; SameSite=Strict; Max-Age={LASTS:.0f}{secure}"
        await _answer(
            send,
            303,
            b"",
            [(b"location", f"{self._path}/".encode()), (b"set-cookie", f"{COOKIE}={cookie}; {attributes}".encode())],
        )

    def _form(self, problem: str) -> str:
        page = files("guerdon.serving.ui").joinpath("login.html").read_text(encoding="utf-8")
        said = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""
        return page.replace("@action", escape(f"{self._path}/guerdon-login", quote=True)).replace("@problem", said)

    def _guarded(self, send: Send, *, page: bool) -> Send:
        """Adds our headers to an answer; the page itself is held back until its scripts are known."""
        start: MutableMapping[str, Any] = {}
        held = bytearray()

        async def guarded(message: MutableMapping[str, Any]) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                kept = [(k, v) for k, v in message["headers"] if not k.lower().startswith(b"access-control-")]
                message["headers"] = [*kept, *_ALWAYS]
                if page:
                    start = message
                    return
                message["headers"].append((b"content-security-policy", POLICY.format(scripts="").encode()))
                await send(message)
            elif not page or message["type"] != "http.response.body":
                await send(message)
            else:
                held.extend(message.get("body", b""))
                if not message.get("more_body"):
                    body = _OUTSIDE.sub(b"", bytes(held))
                    hashes = {base64.b64encode(hashlib.sha256(s).digest()).decode() for s in _INLINE.findall(body)}
                    policy = POLICY.format(scripts=" ".join(f"'sha256-{each}'" for each in sorted(hashes)))
                    start["headers"] = [(k, v) for k, v in start["headers"] if k.lower() != b"content-length"]
                    start["headers"] += [
                        (b"content-length", str(len(body)).encode()),
                        (b"content-security-policy", policy.encode()),
                    ]
                    await send(start)
                    await send({"type": "http.response.body", "body": body})

        return guarded


async def _answer(send: Send, status: int, body: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
    policy = b"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"
    length = (b"content-length", str(len(body)).encode())
    fields = [*headers, *_ALWAYS, length, (b"content-security-policy", policy), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


async def _page(send: Send, status: int, html: str) -> None:
    await _answer(send, status, html.encode(), [(b"content-type", b"text/html; charset=utf-8")])


async def _say(send: Send, status: int, message: str) -> None:
    from guerdon.serving.schemas import to_json

    body = to_json({"error": {"type": "ui", "message": message}})
    await _answer(send, status, body, [(b"content-type", b"application/json")])
