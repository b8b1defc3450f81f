"""A shop in Python: an order, its Pix, and the webhook that says it was paid.

Beside this file lies the client of your server, /docs/clients/troco.py. Run: python shop.py
"""

import json
import os
import sqlite3
import uuid
from urllib.parse import parse_qs
from wsgiref.simple_server import make_server

from troco import Troco, TrocoError, Webhooks

troco = Troco(
    os.environ.get("TROCO_URL", "http://localhost:3000"), token=lambda: os.environ["TROCO_TOKEN"]
)
database = sqlite3.connect("orders.sqlite", isolation_level=None)
database.execute(
    "CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, amount INTEGER NOT NULL, paid_at TEXT)"
)
routes = {}


def route(name):
    def register(function):
        routes[name] = function
        return function

    return register


@route("POST /orders")
def create_order(body, headers, query):
    given = json.loads(body)
    # In cents, from your prices: a browser would send any amount.
    id, amount = f"order-{uuid.uuid4()}", 4990
    database.execute("INSERT INTO orders (id, amount) VALUES (?, ?)", (id, amount))
    charge = {
        "amount": amount,
        "client_name": given["name"],
        "client_email": given["email"],
        "client_doc": given["document"],
        "external_id": id,
    }
    try:
        # With the order as key, it has one charge, however often the request is repeated.
        troco.charges.create(charge, key=id)
        created = troco.charges.get(id)
    except TrocoError as error:
        if error.status != 422:
            raise
        # What the buyer can correct, such as a digit of the CPF.
        return 422, {"errors": error.fields}
    # The text of the QR code, and the address of a page that shows it.
    return 201, {"id": id, "br_code": created["br_code"], "payment_url": created["payment_url"]}


@route("GET /orders")
def show_order(body, headers, query):
    find = "SELECT id, amount, paid_at FROM orders WHERE id = ?"
    row = database.execute(find, query.get("id", [""])).fetchone()
    return (200, dict(zip(("id", "amount", "paid_at"), row))) if row else (404, None)


@route("POST /hooks/troco")
def receive_webhook(body, headers, query):
    try:
        event = Webhooks.verify(headers, body, os.environ["TROCO_WEBHOOK_SECRET"])
    except TrocoError:
        return 400, None
    if event["type"] == "transaction.paid":
        mark_paid(event["transaction"]["external_id"])
    return 204, None


def mark_paid(id):
    """A webhook can arrive twice: only the first changes the row."""
    pay = "UPDATE orders SET paid_at = datetime() WHERE id = ? AND paid_at IS NULL"
    if database.execute(pay, (id,)).rowcount == 1:
        print("pack order", id, flush=True)


def application(environ, start_response):
    function = routes.get(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    headers = {
        name[5:].replace("_", "-"): value
        for name, value in environ.items()
        if name.startswith("HTTP_")
    }
    query = parse_qs(environ.get("QUERY_STRING", ""))
    status, answer = function(body, headers, query) if function else (404, None)
    start_response(f"{status} ", [("Content-Type", "application/json")])
    return [] if answer is None else [json.dumps(answer).encode()]


if __name__ == "__main__":
    port = int(os.environ.get("PORT", "4000"))
    make_server("127.0.0.1", port, application).serve_forever()
