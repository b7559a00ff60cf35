"""The page that Streamlit's script runs in: told where its server is, and with long texts that a keyboard reaches."""

from __future__ import annotations

from tracebench_viewer.gatekeeper import Application, Message, Receive, Send

SCRIPT = b"""<script>window.__streamlit={BACKEND_BASE_URL:location.origin+"/"};
(()=>{let due=false;const reach=()=>{due=false;for(const pre of document.querySelectorAll("pre")){
if(pre.scrollHeight<=pre.clientHeight&&pre.scrollWidth<=pre.clientWidth){pre.removeAttribute("tabindex");continue;}
pre.tabIndex=0;pre.setAttribute("role","group");pre.setAttribute("aria-label","Text, longer than its place");}};
new MutationObserver(()=>{if(!due){due=true;requestAnimationFrame(reach);}}).observe(document,{childList:true,subtree:true});})();
</script>"""
"""From `/run` it would first ask for `/run/_stcore/health`, which is not there, and the console would tell of it on every page.
And text that is longer than its place is reached by the keyboard, so that it can be scrolled without a mouse."""
HEAD = b"<head>"


class Front:
    """ASGI middleware that puts our script into the page before any of its own."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Hand on; what is a page comes back with the script."""
        if scope["type"] != "http" or not _wants_page(scope):
            await self._app(scope, receive, send)
            return
        headers = [(name, value) for name, value in scope["headers"] if name.lower() != b"accept-encoding"]
        page = _Page(send)
        await self._app({**scope, "headers": headers}, receive, page.take)


class _Page:
    """An answer on its way: held until it is whole where it is HTML."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message = {}
        self._body = b""

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_html(message):
            self._start = message
        elif message["type"] == "http.response.body" and self._start:
            self._body += message.get("body", b"")
            if not message.get("more_body"):
                await self._end()
        else:
            await self._send(message)

    async def _end(self) -> None:
        body = self._body.replace(HEAD, HEAD + SCRIPT, 1)
        headers = [(name, value) for name, value in self._start["headers"] if name.lower() != b"content-length"]
        await self._send({**self._start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
        await self._send({"type": "http.response.body", "body": body})


def _wants_page(scope: Message) -> bool:
    return any(name.lower() == b"accept" and b"text/html" in value for name, value in scope["headers"])


def _is_html(message: Message) -> bool:
    return any(name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in message["headers"])
