"""Tests of the client against a stand-in of the service: python3 -m unittest discover client/python"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Tuple, Union

from support_agent import ApiError, SupportAgent, WebhookVerificationError, verify_webhook

Reply = Union[Dict[str, Any], Callable[[BaseHTTPRequestHandler], None]]
ANSWER = {"answer": "On Mondays.", "citations": [], "conversation_id": "c-1", "message_id": "m-1", "needs_human": False}


def respond(status: int, body: Any = None, headers: Dict[str, str] = {}) -> Callable[[BaseHTTPRequestHandler], None]:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    return reply


def refuse(status: int, code: str, headers: Dict[str, str] = {}, **fields: str) -> Callable[[BaseHTTPRequestHandler], None]:
    return respond(status, {"error": {"code": code, "message": "Do this.", "request_id": "r-1", **fields}}, headers)


def stream(*events: Tuple[int, str, Any], breaks: bool = False) -> Callable[[BaseHTTPRequestHandler], None]:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for number, kind, data in events:
            text = f": comment\n\nid: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n".encode()
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        handler.wfile.write(b"5\r\nbro" if breaks else b"0\r\n\r\n")

    return reply


class ClientTest(unittest.TestCase):
    def serve(self, *replies: Reply) -> Tuple[SupportAgent, List[Any], List[float]]:
        """Starts a server that gives these replies in order. Returns a client, the requests, and the waits of the client."""
        left = list(replies)
        requests: List[Any] = []
        waits: List[float] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                requests.append((f"{self.command} {self.path}", json.loads(body) if body else None, self.headers))
                reply = left.pop(0)
                (respond(200, reply) if isinstance(reply, dict) else reply)(self)
                self.close_connection = True

            do_GET = do_POST = do_PATCH = do_DELETE = handle_any

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        client = SupportAgent(f"http://127.0.0.1:{server.server_address[1]}/", "sk_live_1", wait=waits.append)
        return client, requests, waits

    def test_ask_sends_the_question_with_the_key_and_returns_the_answer(self) -> None:
        client, requests, _ = self.serve(ANSWER)
        self.assertEqual(client.ask("a/1", "When?", user={"id": "u-1"}), ANSWER)
        [(route, body, headers)] = requests
        self.assertEqual(route, "POST /api/v1/agents/a%2F1/messages")
        self.assertEqual(body, {"message": "When?", "user": {"id": "u-1"}})
        self.assertEqual(headers["Authorization"], "Bearer sk_live_1")

    def test_a_request_waits_as_long_as_the_service_asks_and_keeps_its_idempotency_key(self) -> None:
        client, requests, waits = self.serve(refuse(429, "rate_limited", {"Retry-After": "7"}), lambda _: None, ANSWER)
        client.ask("a-1", "When?")
        self.assertEqual(waits, [7, 2])
        self.assertEqual(len({headers["Idempotency-Key"] for _, _, headers in requests}), 1)

    def test_a_wait_that_is_too_long_and_the_last_attempt_raise_the_error(self) -> None:
        client, _, waits = self.serve(refuse(429, "rate_limited", {"Retry-After": "61"}))
        with self.assertRaises(ApiError) as caught:
            client.request("GET", "/me")
        self.assertEqual((caught.exception.retry_after, waits), (61, []))
        busy = refuse(503, "unavailable", {"Retry-After": "1"}, conversation_id="c-1", message_id="m-1")
        client, _, waits = self.serve(busy, busy, busy)
        with self.assertRaises(ApiError) as caught:
            client.ask("a-1", "When?")
        self.assertEqual((caught.exception.kept, waits), ({"conversation_id": "c-1", "message_id": "m-1"}, [1, 1]))

    def test_an_error_has_its_code_and_other_answers_are_unexpected(self) -> None:
        client, _, _ = self.serve(refuse(404, "not_found"), respond(502, "A proxy."), respond(302, None, {"Location": "/elsewhere"}))
        for expected in ((404, "not_found", "r-1"), (502, "unexpected", None), (302, "unexpected", None)):
            with self.assertRaises(ApiError) as caught:
                client.request("GET", "/me")
            error = caught.exception
            self.assertEqual((error.status, error.code, error.request_id), expected)

    def test_a_service_that_cannot_be_reached_raises_an_os_error(self) -> None:
        waits: List[float] = []
        with self.assertRaises(OSError):
            SupportAgent("http://127.0.0.1:9", "sk_live_1", wait=waits.append).request("GET", "/me")
        self.assertEqual(waits, [2, 2])

    def test_a_stream_that_breaks_is_resumed_after_its_last_event(self) -> None:
        start = {"conversation_id": "c-1", "message_id": "m-1"}
        client, requests, _ = self.serve(
            stream((0, "start", start), (1, "delta", {"text": "On "}), breaks=True),
            stream((2, "delta", {"text": "Mondays."})),
            stream((3, "done", ANSWER)),
        )
        events = list(client.stream("a-1", "When?"))
        self.assertEqual([event["type"] for event in events], ["start", "delta", "delta", "done"])
        self.assertEqual("".join(event.get("text", "") for event in events), "On Mondays.")
        self.assertEqual(events[-1]["answer"], ANSWER)
        self.assertEqual(requests[0][1], {"message": "When?", "stream": True})
        resumed = [(route, headers["Last-Event-ID"]) for route, _, headers in requests[1:]]
        path = "GET /api/v1/conversations/c-1/messages/m-1/stream"
        self.assertEqual(resumed, [(path, "1"), (path, "2")])

    def test_an_answer_that_fails_raises_the_error_of_the_stream(self) -> None:
        client, _, _ = self.serve(stream((0, "error", {"error": {"code": "internal_error", "message": "Failed."}})))
        with self.assertRaises(ApiError) as caught:
            list(client.stream("a-1", "When?"))
        self.assertEqual((caught.exception.status, caught.exception.code), (200, "internal_error"))

    def test_pages_follow_the_cursor_or_the_offset(self) -> None:
        client, requests, _ = self.serve(
            {"data": [1, 2], "offset": 0, "has_more": True, "next_cursor": "n"},
            {"data": [3], "offset": 0, "has_more": False, "next_cursor": None},
            {"data": [4], "offset": 0, "has_more": True},
            {"data": [], "offset": 1, "has_more": False},
        )
        self.assertEqual(list(client.pages("/leads", q="a b")), [1, 2, 3])
        self.assertEqual(list(client.pages("/agents", unread=True)), [4])
        self.assertEqual(
            [route for route, _, _ in requests],
            [
                "GET /api/v1/leads?limit=100&q=a+b",
                "GET /api/v1/leads?limit=100&q=a+b&cursor=n",
                "GET /api/v1/agents?limit=100&unread=true",
                "GET /api/v1/agents?limit=100&unread=true&offset=1",
            ],
        )

    def test_a_response_without_a_body_is_none(self) -> None:
        client, requests, _ = self.serve(respond(204))
        self.assertIsNone(client.request("DELETE", "/webhooks/w-1"))
        self.assertNotIn("Idempotency-Key", requests[0][2])


class WebhookTest(unittest.TestCase):
    key = b"k" * 32
    secret = "whsec_" + base64.b64encode(key).decode()
    body = b'{"id": "e-1", "type": "lead.created"}'

    def headers(self, body: bytes = body, at: float = 0) -> Dict[str, str]:
        timestamp = str(int(time.time() + at))
        mac = hmac.new(self.key, b".".join((b"e-1", timestamp.encode(), body)), hashlib.sha256)
        signature = "v1,other v1," + base64.b64encode(mac.digest()).decode()
        return {"Webhook-Id": "e-1", "webhook-timestamp": timestamp, "WEBHOOK-SIGNATURE": signature}

    def test_a_signed_event_is_returned(self) -> None:
        self.assertEqual(verify_webhook(self.body, self.headers(), self.secret)["type"], "lead.created")
        self.assertEqual(verify_webhook(self.body.decode(), self.headers(), self.secret)["id"], "e-1")

    def test_everything_else_is_refused(self) -> None:
        for headers in (self.headers(b"{}"), self.headers(at=-301), self.headers(at=301), {}, {**self.headers(), "Webhook-Id": "e-2"}):
            with self.assertRaises(WebhookVerificationError):
                verify_webhook(self.body, headers, self.secret)
        for secret in ("", "whsec_", "whsec_!", "secret"):
            with self.assertRaises(ValueError):
                verify_webhook(self.body, self.headers(), secret)


if __name__ == "__main__":
    unittest.main()
