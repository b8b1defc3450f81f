"""Client for Troco's API, in one file on Python's standard library (3.9 or newer).

    troco = Troco("https://pay.example", token=lambda: os.environ["TROCO_TOKEN"])
    charge = troco.charges.create({"amount": 4990, ...}, key="order-1048")
    paid = troco.charges.wait_until_paid(charge["transaction_id"], timeout=60)

Each operation that creates something takes an idempotency key from your own record, such as the order number: whatever
happens in between, the same key takes effect once. Amounts are integers in cents. Answers are the dictionaries of the
API's documentation.
"""

import base64
import hashlib
import hmac
import http.client
import json
import random
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union
from urllib.parse import quote, urlencode

Json = Dict[str, Any]
ATTEMPTS = 6
TIMEOUT_S = 30.0
# Without Retry-After, the pause doubles from 0.5 s to this.
PAUSE_MAX_S = 16.0
# After a longer Retry-After, the server is asked again sooner: it may be up again.
RETRY_AFTER_MAX_S = 60.0
PAID_POLL_S = 2.0
FEED_PAUSE_S = 5.0
FEED_LIMIT = 100
SIGNATURE_TOLERANCE_S = 300

KNOWN_TYPES = frozenset(
    [
        "transaction.paid",
        "transaction.expired",
        "transaction.failed",
        "transaction.refunded",
        "transaction.refund_failed",
        "transaction.dispute_opened",
        "transaction.dispute_closed",
        "transaction.returned",
        "transaction.amount_mismatch",
        "withdrawal.approved",
        "withdrawal.rejected",
        "withdrawal.returned",
        "troco.ping",
    ]
)


class TrocoError(Exception):
    """What a server refused, or why it was not reached. The message is for people, `code` for programs.

    `no_response`, `invalid_response`, `invalid_argument` and `invalid_signature` come from this client.
    """

    def __init__(
        self,
        message: str,
        code: str,
        status: int = 0,
        fields: Optional[Dict[str, List[str]]] = None,
        headers: Optional[Mapping[str, str]] = None,
        is_retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.fields = fields or {}
        self.headers = {name.lower(): value for name, value in (headers or {}).items()}
        self.is_retryable = is_retryable

    @property
    def request_id(self) -> Optional[str]:
        """Names the request in the server's log."""
        return self.headers.get("x-request-id")

    @property
    def docs(self) -> Optional[str]:
        """Address of the code's entry in the documentation."""
        link = self.headers.get("link", "")
        return link[1 : link.index(">")] if link.startswith("<") and ">" in link else None


@dataclass(frozen=True)
class FeedPosition:
    """Where a reader of the event feed stands: store both, and give them back as they are."""

    after: int = 0
    epoch: Optional[str] = None


@dataclass(frozen=True)
class FeedGap:
    """Why the feed goes on elsewhere: compare your records with the charges, because events may be missing.

    `reason` is events_deleted, backup_restored or other_feed. `last_kept`: after a restore, the last event that is left.
    """

    reason: str
    last_kept: Optional[int] = None


class Pages:
    """All entries of a list, page by page: `for charge in troco.charges.list():`."""

    def __init__(self, read: Callable[[Optional[str]], Json]) -> None:
        self._read = read

    def page(self, cursor: Optional[str] = None) -> Json:
        """Reads one page, `data` and `next_cursor`: the first, or the one after a `next_cursor`."""
        return self._read(cursor)

    def __iter__(self) -> Iterator[Json]:
        cursor = None
        while True:
            page = self._read(cursor)
            yield from page["data"]
            cursor = page["next_cursor"]
            if cursor is None:
                return


class Troco:
    def __init__(
        self,
        url: str,
        token: Union[str, Callable[[], str]],
        timeout: float = TIMEOUT_S,
        attempts: int = ATTEMPTS,
    ) -> None:
        """`token`: a function is called for each request, so that a rotated token takes effect at once."""
        if not url.startswith(("https://", "http://")):
            raise refusal("url", "must begin with https:// or http://")
        base = url.rstrip("/")
        self._base = (base[:-4] if base.endswith("/api") else base) + "/api"
        self._token = token
        self._timeout = timeout
        self._attempts = attempts
        self.charges = Charges(self, "/transactions")
        self.refunds = Refunds(self)
        self.withdrawals = Payments(self, "/withdrawals")
        self.disputes = Disputes(self, "/disputes")
        self.statement = Statement(self)
        self.events = Events(self)
        self.webhooks = Webhooks(self)
        self.tokens = Tokens(self)
        self.requests = Records(self, "/requests")
        self.sandbox = Sandbox(self)

    def account(self) -> Json:
        return self.request("GET", "/account")

    def request(
        self, method: str, path: str, body: Optional[Json] = None, key: Optional[str] = None
    ) -> Any:
        """Calls an operation that this client has no method for."""
        return read_json(self.send(method, path, body, key)[0])

    def create(self, path: str, body: Json, key: str) -> Any:
        if not isinstance(key, str) or not 0 < len(key) <= 255:
            raise refusal("key", "must be an idempotency key of 1 to 255 characters")
        return self.request("POST", path, body, key)

    def act(self, path: str, body: Json, key: Optional[str] = None) -> Any:
        return self.request("POST", path, body, key or str(uuid.uuid4()))

    def list(self, path: str, filters: Json) -> Pages:
        def read(cursor: Optional[str]) -> Json:
            given = filters if cursor is None else {**filters, "cursor": cursor}
            return self.request("GET", path + search(given))

        return Pages(read)

    def send(
        self, method: str, path: str, body: Optional[Json] = None, key: Optional[str] = None
    ) -> Tuple[bytes, Mapping[str, str]]:
        """Repeats what may be repeated: nothing was changed, or the key makes it safe."""
        is_safe = method != "POST" or key is not None
        attempt = 1
        while True:
            try:
                return self._attempt(method, path, body, key)
            except TrocoError as error:
                if not error.is_retryable or not is_safe or attempt >= self._attempts:
                    raise
                time.sleep(pause_after(error, attempt))
            attempt += 1

    def _attempt(
        self, method: str, path: str, body: Optional[Json], key: Optional[str]
    ) -> Tuple[bytes, Mapping[str, str]]:
        token = self._token() if callable(self._token) else self._token
        headers = {"Authorization": f"Bearer {token}"}
        payload = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            payload = json.dumps(body).encode()
        if key is not None:
            headers["Idempotency-Key"] = key
        request = urllib.request.Request(
            self._base + path, data=payload, headers=headers, method=method
        )
        try:
            with OPENER.open(request, timeout=self._timeout) as response:
                return response.read(), dict(response.headers)
        except urllib.error.HTTPError as error:
            with error:
                raise read_error(error.code, error.read(), dict(error.headers)) from None
        except (OSError, http.client.HTTPException) as error:
            raise TrocoError(
                "The server did not respond", "no_response", is_retryable=True
            ) from error


class Resource:
    def __init__(self, troco: Troco, path: str = "") -> None:
        self._troco = troco
        self._path = path


class Records(Resource):
    """What can be read one by one, and listed page by page."""

    def get(self, id: str) -> Json:
        """By its id; charges and withdrawals also by your reference."""
        return self._troco.request("GET", f"{self._path}/{segment(id)}")["data"]

    def list(self, **filters: Any) -> Pages:
        return self._troco.list(self._path, filters)


class Payments(Records):
    def create(self, body: Json, *, key: str) -> Json:
        require_cents("amount", body.get("amount"))
        return self._troco.create(self._path, body, key)["data"]

    def receipt(self, id: str) -> bytes:
        return self._troco.send("GET", f"{self._path}/{segment(id)}/receipt.pdf")[0]


class Charges(Payments):
    def cancel(self, id: str, *, key: Optional[str] = None) -> Json:
        return self._troco.act(f"/transactions/{segment(id)}/cancel", {}, key)["data"]

    def describe(self, id: str, description: Optional[str]) -> Json:
        path = f"/transactions/{segment(id)}/description"
        return self._troco.request("PUT", path, {"description": description})["data"]

    def wait_until_paid(self, id: str, *, timeout: float) -> Json:
        """Returns the charge once it is paid. Raises charge_expired, charge_failed, or charge_pending after `timeout` seconds."""
        end = time.monotonic() + timeout
        while True:
            charge = self.get(id)
            if charge["status"] == "paid":
                return charge
            if charge["status"] != "pending" or time.monotonic() >= end:
                raise TrocoError(
                    f"The charge {id} is {charge['status']}", f"charge_{charge['status']}"
                )
            time.sleep(min(PAID_POLL_S, max(0.0, end - time.monotonic())))


class Refunds(Resource):
    def create(
        self, charge_id: str, amount: int, reason: Optional[str] = None, *, key: str
    ) -> Json:
        """Refunds a part. For all that is left there is `create_full`."""
        require_cents("amount", amount)
        return self._create(charge_id, amount, reason, key)

    def create_full(self, charge_id: str, reason: Optional[str] = None, *, key: str) -> Json:
        """Refunds all that can still be refunded."""
        return self._create(charge_id, "all", reason, key)

    def _create(
        self, charge_id: str, amount: Union[int, str], reason: Optional[str], key: str
    ) -> Json:
        body = {"amount": amount, **({} if reason is None else {"reason": reason})}
        return self._troco.create(f"/transactions/{segment(charge_id)}/refunds", body, key)["data"]

    def get(self, charge_id: str, id: str) -> Json:
        path = f"/transactions/{segment(charge_id)}/refunds/{segment(id)}"
        return self._troco.request("GET", path)["data"]

    def list(self, **filters: Any) -> Pages:
        return self._troco.list("/refunds", filters)

    def of_charge(self, charge_id: str, **filters: Any) -> Pages:
        return self._troco.list(f"/transactions/{segment(charge_id)}/refunds", filters)


class Disputes(Records):
    def add_evidence(
        self,
        id: str,
        text: Optional[str] = None,
        file: Optional[bytes] = None,
        file_name: Optional[str] = None,
        *,
        key: Optional[str] = None,
    ) -> Json:
        """Sends a text, a PDF, PNG or JPEG of at most 5 MB, or both, for the defense."""
        encoded = None if file is None else base64.b64encode(file).decode()
        body = {"text": text, "file": encoded, "file_name": file_name}
        given = {name: value for name, value in body.items() if value is not None}
        return self._troco.act(f"/disputes/{segment(id)}/evidence", given, key)["data"]

    def evidence(self, id: str) -> List[Json]:
        return self._troco.request("GET", f"/disputes/{segment(id)}/evidence")["data"]

    def evidence_file(self, id: str, evidence_id: str) -> bytes:
        path = f"/disputes/{segment(id)}/evidence/{segment(evidence_id)}"
        return self._troco.send("GET", path)[0]


class Statement(Resource):
    def list(self, **filters: Any) -> Pages:
        """`from` is a word of Python: `list(**{"from": "2026-11-01"})`."""
        return self._troco.list("/statement", filters)

    def balances(self, **filters: Any) -> Json:
        return self._troco.request("GET", "/balance/history" + search(filters))

    def csv(self, **filters: Any) -> bytes:
        return self._troco.send("GET", "/statement.csv" + search(filters))[0]


class Events(Resource):
    def page(self, position: FeedPosition) -> Tuple[List[Json], FeedPosition]:
        """Reads one page of the feed, oldest first."""
        query = search({"after": position.after, "epoch": position.epoch, "limit": FEED_LIMIT})
        text, headers = self._troco.send("GET", "/events" + query)
        body = read_json(text)
        epoch = lowercase(headers).get("troco-feed-epoch")
        return body["data"], FeedPosition(body["next_after"], epoch)

    def follow(
        self,
        load: Callable[[], Optional[FeedPosition]],
        save: Callable[[List[Json], FeedPosition, Optional[FeedGap]], Any],
        pause: float = FEED_PAUSE_S,
        is_ended: Callable[[], bool] = lambda: False,
    ) -> None:
        """Hands over every event once and in order, until `is_ended`.

        `save` stores what the events change and the position in one transaction of yours: then each event takes effect
        once, even if the process dies. After deleted events, a restored backup or a token of the other mode it gets no
        events but a gap. If it raises, `follow` ends with that error.
        """
        position = load() or FeedPosition()
        while not is_ended():
            try:
                events, following = self.page(position)
            except TrocoError as error:
                moved = find_continuation(error, position)
                if moved:
                    position, gap = moved
                    save([], position, gap)
                elif error.is_retryable:
                    time.sleep(pause)
                else:
                    raise
                continue
            if events or following.epoch != position.epoch:
                save(events, following, None)
            position = following
            if not events and not is_ended():
                time.sleep(pause)


class Endpoints(Resource):
    def create(self, body: Json, *, key: str) -> Json:
        return self._troco.create("/webhooks/endpoints", body, key)["data"]

    def get(self, id: str) -> Json:
        return self._troco.request("GET", f"/webhooks/endpoints/{segment(id)}")["data"]

    def list(self) -> List[Json]:
        return self._troco.request("GET", "/webhooks/endpoints")["data"]

    def update(self, id: str, body: Json) -> Json:
        return self._troco.request("PATCH", f"/webhooks/endpoints/{segment(id)}", body)["data"]

    def delete(self, id: str) -> Json:
        return self._troco.request("DELETE", f"/webhooks/endpoints/{segment(id)}")

    def disable(self, id: str, *, key: Optional[str] = None) -> Json:
        return self._troco.act(f"/webhooks/endpoints/{segment(id)}/disable", {}, key)["data"]

    def enable(self, id: str, *, send_missed: bool = True, key: Optional[str] = None) -> Json:
        body = {"send_missed": send_missed}
        return self._troco.act(f"/webhooks/endpoints/{segment(id)}/enable", body, key)

    def rotate(self, id: str, *, key: str) -> Json:
        """Shows a new secret. The previous one signs for 24 more hours."""
        return self._troco.create(f"/webhooks/endpoints/{segment(id)}/rotate", {}, key)["data"]

    def test(self, id: str, type: Optional[str] = None, *, key: Optional[str] = None) -> Json:
        body = {} if type is None else {"type": type}
        return self._troco.act(f"/webhooks/endpoints/{segment(id)}/test", body, key)


class Deliveries(Records):
    def resend(self, id: str, *, key: Optional[str] = None) -> Json:
        return self._troco.act(f"{self._path}/{segment(id)}/resend", {}, key)

    def resend_failed(self, body: Json, *, key: Optional[str] = None) -> Json:
        return self._troco.act("/webhooks/deliveries/resend", body, key)


class Webhooks(Resource):
    def __init__(self, troco: Troco) -> None:
        super().__init__(troco)
        self.endpoints = Endpoints(troco)
        self.deliveries = Deliveries(troco, "/webhooks/deliveries")

    @staticmethod
    def verify(
        headers: Mapping[str, str], body: bytes, secrets: Union[str, List[str]]
    ) -> Json:
        """Verifies the signature of a webhook and returns its event. Raises invalid_signature otherwise: respond with 400.

        `body`: the bytes as they arrived. `secrets`: the endpoint's `whsec_…`, several during a rotation. Each event can
        arrive more than once: store the ids of those that you processed. A later server may send an event whose type is
        not in KNOWN_TYPES: accept and ignore it.
        """
        if not isinstance(body, bytes):
            raise refusal("body", "must be the bytes of the request as they arrived")
        given = lowercase(headers)
        sent_at = given.get("webhook-timestamp", "")
        is_number = sent_at.isascii() and sent_at.isdecimal() and len(sent_at) < 20
        if not is_number or abs(time.time() - int(sent_at)) > SIGNATURE_TOLERANCE_S:
            raise TrocoError(
                "The time stamp is missing or differs from this clock by over 5 minutes",
                "invalid_signature",
            )
        message = f"{given.get('webhook-id', '')}.{sent_at}.".encode() + body
        signatures = given.get("webhook-signature", "").encode().split(b" ")
        for secret in [secrets] if isinstance(secrets, str) else secrets:
            expected = b"v1," + base64.b64encode(hmac.digest(read_secret(secret), message, hashlib.sha256))
            if any(hmac.compare_digest(expected, signature) for signature in signatures):
                return json.loads(body)
        raise TrocoError("The signature does not match", "invalid_signature")


class Tokens(Resource):
    def create(self, body: Json, *, key: str) -> Json:
        return self._troco.create("/tokens", body, key)["data"]

    def list(self) -> List[Json]:
        return self._troco.request("GET", "/tokens")["data"]

    def update(self, id: str, body: Json) -> Json:
        return self._troco.request("PATCH", f"/tokens/{segment(id)}", body)["data"]

    def revoke(self, id: str, reason: Optional[str] = None, *, key: Optional[str] = None) -> Json:
        body = {} if reason is None else {"reason": reason}
        return self._troco.act(f"/tokens/{segment(id)}/revoke", body, key)["data"]

    def rotate(self, id: str, overlap_hours: int, *, key: str) -> Json:
        body = {"overlap_hours": overlap_hours}
        return self._troco.create(f"/tokens/{segment(id)}/rotate", body, key)["data"]


class Sandbox(Resource):
    """The simulated bank, for tokens of the test mode."""

    def charge(self, id: str, outcome: str) -> Json:
        """Outcomes: paid, failed, expired."""
        return self._act(f"/sandbox/transactions/{segment(id)}", outcome=outcome)

    def refund(self, id: str, outcome: str, reason: Optional[str] = None) -> Json:
        """Outcomes: completed, rejected."""
        return self._act(f"/sandbox/refunds/{segment(id)}", outcome=outcome, reason=reason)

    def withdrawal(
        self, id: str, outcome: str, reason: Optional[str] = None, amount: Optional[int] = None
    ) -> Json:
        """Outcomes: approved, rejected, returned."""
        path = f"/sandbox/withdrawals/{segment(id)}"
        return self._act(path, outcome=outcome, reason=reason, amount=amount)

    def dispute(self, charge_id: str, amount: Optional[int] = None) -> Json:
        return self._act(f"/sandbox/transactions/{segment(charge_id)}/disputes", amount=amount)

    def close_dispute(self, id: str, outcome: str, amount: Optional[int] = None) -> Json:
        """Outcomes: won, lost."""
        return self._act(f"/sandbox/disputes/{segment(id)}", outcome=outcome, amount=amount)

    def advance(self, duration: str) -> Json:
        """Lets time pass, such as 90s, 25h or 91d: what is due happens."""
        return self._act("/sandbox/clock", advance=duration)

    def fail_webhooks(self, fault: str, count: int = 1) -> Json:
        """Faults: unavailable, timeout, duplicate."""
        return self._act("/sandbox/webhooks", fault=fault, count=count)

    def end(self) -> Json:
        """Ends what the two above do."""
        return self._troco.request("DELETE", "/sandbox/controls")["data"]

    def _act(self, path: str, **fields: Any) -> Json:
        body = {name: value for name, value in fields.items() if value is not None}
        return self._troco.act(path, body)["data"]


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would send the token elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


OPENER = urllib.request.build_opener(NoRedirects)


def find_continuation(
    error: TrocoError, before: FeedPosition
) -> Optional[Tuple[FeedPosition, FeedGap]]:
    """Returns where the feed goes on, if it lost events or is another one."""
    following = error.headers.get("troco-continue-after")
    if following is None:
        return None
    epoch = error.headers.get("troco-feed-epoch")
    kept = error.headers.get("troco-last-kept")
    if kept is not None:
        gap = FeedGap("backup_restored", int(kept))
    else:
        gap = FeedGap("events_deleted" if epoch == before.epoch else "other_feed")
    return FeedPosition(int(following), epoch), gap


def read_error(status: int, text: bytes, headers: Mapping[str, str]) -> TrocoError:
    """Reads the three shapes of errors: one message, the first problem, and the problems of each field."""
    given = lowercase(headers)
    code = given.get("x-error-code", f"http_{status}")
    is_retryable = status >= 500 or status in (408, 429) or code == "in_progress"
    try:
        body = json.loads(text)
    except ValueError:
        body = {"error": text.decode(errors="replace")[:200]}
    problems = body.get("errors", {})
    if isinstance(problems, str):
        names = given.get("x-error-fields", "").split()
        fields = {name: [problems] if name == names[0] else [] for name in names}
        message = problems
    else:
        fields = problems
        listed = (f"{name}: {', '.join(messages)}" for name, messages in fields.items())
        message = body.get("error") or "; ".join(listed)
    return TrocoError(message or f"HTTP {status}", code, status, fields, headers, is_retryable)


def read_json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise TrocoError("The response is not JSON", "invalid_response") from error


def read_secret(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret[6:], validate=True) if secret.startswith("whsec_") else b""
        # Anybody can sign with an empty key.
        if key:
            return key
    except ValueError:
        pass
    raise refusal("secret", "must begin with whsec_ and be complete")


def lowercase(headers: Mapping[str, str]) -> Dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def segment(id: str) -> str:
    # In an address, dots lead to another operation.
    if not isinstance(id, str) or id in ("", ".", ".."):
        raise refusal("id", "must not be empty or dots")
    return quote(id, safe="")


def search(query: Mapping[str, Any]) -> str:
    pairs = {name: value for name, value in query.items() if value is not None}
    return "?" + urlencode(pairs, doseq=True) if pairs else ""


def require_cents(field: str, value: Any) -> None:
    if type(value) is int and 0 < value <= 2**53 - 1:
        return
    raise refusal(field, f"must be a positive integer in cents, not {value!r}")


def refusal(field: str, problem: str) -> TrocoError:
    return TrocoError(f"{field} {problem}", "invalid_argument", fields={field: [problem]})


def pause_after(error: TrocoError, attempt: int) -> float:
    seconds = error.headers.get("retry-after", "")
    if seconds.isdecimal():
        return min(float(seconds), RETRY_AFTER_MAX_S)
    return min(2**attempt * 0.25, PAUSE_MAX_S) * random.uniform(0.75, 1.25)
