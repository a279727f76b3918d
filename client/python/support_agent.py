"""A client of the Support Agent Service for Python 3.9 and later, in one file and without dependencies.

    client = SupportAgent("https://support.example.com", os.environ["SUPPORT_KEY"])
    answer = client.ask(os.environ["SUPPORT_AGENT"], "How long do refunds take?")
    print(answer["answer"])
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from email.message import Message
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, TypedDict, Union

__all__ = ["ApiError", "SupportAgent", "WebhookVerificationError", "verify_webhook"]

Json = Dict[str, Any]

# The wait before another attempt after one that got no response, in seconds.
UNANSWERED_WAIT = 2.0
# The largest difference between a webhook's timestamp and this machine's clock, as Standard Webhooks recommends it.
WEBHOOK_TOLERANCE = 300


class Citation(TypedDict):
    """A passage that an answer is based on."""

    title: str
    url: Optional[str]
    source_id: str
    type: str
    snippet: str
    score: float


class Answer(TypedDict):
    """The answer to a question."""

    answer: str
    citations: List[Citation]
    confidence: float
    needs_human: bool
    handoff_reason: Optional[str]
    conversation_id: str
    message_id: Optional[str]
    status: str


class ApiError(Exception):
    """An error that the service answered. The message says what to do; `code` is for programs.

    `status` is 200 if a stream failed after it began. `retry_after` is the number of seconds to wait, if the service
    names one. `detail` lists the failed checks of a `validation_error`. `kept` has the `conversation_id` and the
    `message_id` of a question that is stored and will still be answered: do not ask it again.
    """

    def __init__(self, status: int, headers: Message, body: bytes) -> None:
        try:
            read = json.loads(body)
            error = read["error"]
            message = str(error["message"])
        except (ValueError, KeyError, TypeError):
            read, error, message = {}, {}, f"The answer was {status}, and not the service's."
        super().__init__(message)
        self.status = status
        self.code: str = error.get("code", "unexpected")
        self.message = message
        self.request_id: Optional[str] = error.get("request_id") or headers.get("X-Request-Id")
        self.retry_after: Optional[int] = _seconds_of(headers)
        self.detail: List[Json] = read.get("detail", [])
        kept = {name: error[name] for name in ("conversation_id", "message_id") if name in error}
        self.kept: Optional[Dict[str, str]] = kept if len(kept) == 2 else None


class SupportAgent:
    """A client of one workspace. It may be used by several threads.

    :param base_url: the address of the service, without a path.
    :param retries: how often a request is repeated that failed or was asked to wait.
    :param max_wait: the longest `Retry-After` that is waited for, in seconds; a longer one raises the error.
    :param timeout: how long a connection may be silent, in seconds. A stream has a comment every 15 seconds.
    :param wait: waits for a number of seconds.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        retries: int = 2,
        max_wait: float = 60,
        timeout: float = 60,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._root = base_url.rstrip("/") + "/api/v1"
        self._api_key = api_key
        self._retries, self._max_wait, self._timeout, self._wait = retries, max_wait, timeout, wait
        # The API key must not follow a redirect to another host.
        self._opener = urllib.request.build_opener(_NoRedirects)

    def ask(self, agent_id: str, message: str, **fields: Any) -> Answer:
        """Asks an agent. `fields` are further fields of the body, such as `conversation_id` and `user`.

        :raises ApiError: if the service refuses the question.
        """
        answer: Answer = self.request("POST", f"/agents/{_quoted(agent_id)}/messages", {"message": message, **fields})
        return answer

    def stream(self, agent_id: str, message: str, **fields: Any) -> Iterator[Json]:
        """Asks an agent, and yields the events of the answer while it is written. The question is sent when the first
        event is read. A broken connection is resumed.

        The `type` of an event is `start` (with `conversation_id` and `message_id`), `delta` (with `text`) or `done`
        (with `answer`, an Answer). A second `start` means that the answer starts over.

        :raises ApiError: if the service refuses the question, or reports that the answer failed.
        """
        body = {**fields, "message": message, "stream": True}
        response = self._send("POST", f"/agents/{_quoted(agent_id)}/messages", body)
        resume_path, last_event_id, left = "", "", self._retries
        while True:
            try:
                with response:
                    for event in _events_of(response):
                        yield event
                        if event["type"] == "done":
                            return
                        if event["type"] == "start" and event["message_id"] is not None:
                            conversation, message_id = event["conversation_id"], event["message_id"]
                            resume_path = f"/conversations/{conversation}/messages/{message_id}/stream"
                        last_event_id, left = event["id"], self._retries
                    # There are no more events: the last one was read before the connection broke.
                    if response.status == 204:
                        return
                    problem: Exception = ConnectionError("The stream ended before the answer did.")
            except _BROKEN as error:
                problem = error
            if left == 0 or not resume_path:
                raise problem
            left -= 1
            self._wait(UNANSWERED_WAIT)
            response = self._send("GET", resume_path, headers={"Last-Event-ID": last_event_id})

    def pages(self, path: str, **query: Any) -> Iterator[Json]:
        """Yields every record of a list, page by page: `client.pages("/leads", q="ann")`."""
        place: Json = {}
        while True:
            page = self.request("GET", path, query={"limit": 100, **query, **place})
            yield from page["data"]
            if not page["has_more"] or not page["data"]:
                return
            cursor = page.get("next_cursor")
            place = {"cursor": cursor} if cursor else {"offset": page["offset"] + len(page["data"])}

    def request(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        *,
        query: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Any:
        """Calls any operation, and returns the record of its response, or None.

        A POST has an `Idempotency-Key`, the same in all its attempts, so that it takes effect once.

        :raises ApiError: if the service answers with an error.
        :raises OSError: if the service cannot be reached.
        """
        given = {name: value for name, value in (query or {}).items() if value is not None}
        given = {name: json.dumps(value) if isinstance(value, bool) else value for name, value in given.items()}
        location = f"{path}?{urllib.parse.urlencode(given)}" if given else path
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return self._send(method, location, body, headers, _read_record)

    def _send(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
        read: Callable[[Any], Any] = lambda response: response,
    ) -> Any:
        """Sends a request until it succeeds, and reads its response."""
        sent = {"Authorization": f"Bearer {self._api_key}", "User-Agent": "support-agent-python/1.0.0"}
        if method == "POST":
            sent["Idempotency-Key"] = str(uuid.uuid4())
        data = None
        if body is not None:
            sent["Content-Type"], data = "application/json", json.dumps(body).encode()
        sent.update(headers or {})
        repeated = False
        for left in range(self._retries, -1, -1):
            request = urllib.request.Request(self._root + path, data, sent, method=method)
            try:
                return read(self._opener.open(request, timeout=self._timeout))
            except urllib.error.HTTPError as response:
                with response:
                    error = ApiError(response.code, response.headers, response.read())
                if error.status == 404 and method == "DELETE" and repeated:
                    return None  # An earlier attempt has deleted the record, but its response was lost.
                if left == 0 or error.retry_after is None or error.retry_after > self._max_wait:
                    raise error from None
                seconds = float(error.retry_after)
            except _BROKEN:
                if left == 0:
                    raise
                seconds, repeated = UNANSWERED_WAIT, True
            self._wait(seconds)
        raise ValueError("retries is at least 0")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


# What is raised if a connection fails or breaks. HTTPError, a response, is handled before them.
_BROKEN = (OSError, http.client.HTTPException)


def _events_of(response: Any) -> Iterator[Json]:
    """Yields the events of a stream. The service writes the data of an event on one line."""
    fields: Dict[str, str] = {}
    for line in response:
        name, separator, value = line.decode(errors="replace").rstrip("\r\n").partition(": ")
        if separator:
            fields[name] = value
        elif not name and "data" in fields:
            data = json.loads(fields["data"])
            kind = fields["event"]
            if kind == "error":
                raise ApiError(response.status, response.headers, fields["data"].encode())
            named = {"done": "answer", "tool_call": "call"}.get(kind)
            yield {"id": fields.get("id", ""), "type": kind, **({named: data} if named else data)}
            fields = {}


def _read_record(response: Any) -> Any:
    with response:
        body = response.read()
    try:
        return json.loads(body) if body else None
    except ValueError:
        raise ApiError(response.status, response.headers, body) from None


def _quoted(part: str) -> str:
    return urllib.parse.quote(part, safe="")


def _seconds_of(headers: Message) -> Optional[int]:
    value = headers.get("Retry-After") or ""
    return int(value) if value.isdecimal() and int(value) > 0 else None


class WebhookVerificationError(Exception):
    """A request that is not a webhook of the service, or one that is too old. Answer it with a 4xx status."""


def verify_webhook(body: Union[bytes, str], headers: Mapping[str, str], secret: str) -> Json:
    """Verifies the signature of a webhook (https://www.standardwebhooks.com), and returns its event.

    The same event, with the same `id`, may be delivered more than once.

    :param body: the raw body of the request, before any JSON parsing.
    :param secret: the signing secret of the endpoint, which begins with `whsec_`.
    :raises WebhookVerificationError: if a header is missing, the signature does not match, or the timestamp is more
        than five minutes off.
    :raises ValueError: if the secret is not one of the service.
    """
    given = {name.lower(): value for name, value in headers.items()}
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        if not given.get(name):
            raise WebhookVerificationError(f"The header {name} is missing.")
    timestamp = given["webhook-timestamp"]
    if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > WEBHOOK_TOLERANCE:
        raise WebhookVerificationError("The webhook's timestamp is more than five minutes from this machine's clock.")
    prefix, _, encoded = secret.partition("_")
    try:
        key = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        key = b""
    if prefix != "whsec" or not key:
        raise ValueError("The signing secret of a webhook is whsec_ and base64.")
    raw = body.encode() if isinstance(body, str) else body
    signed = b".".join((given["webhook-id"].encode(), timestamp.encode(), raw))
    expected = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    signatures = given["webhook-signature"].encode().split(b" ")
    if not any([hmac.compare_digest(signature, expected) for signature in signatures]):
        raise WebhookVerificationError("The signature does not match. Pass the raw body, and this endpoint's secret.")
    event: Json = json.loads(raw)
    return event
