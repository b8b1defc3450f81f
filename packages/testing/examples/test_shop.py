"""A small shop's own tests, on pytest: Troco runs beside them as a program, and ends with them."""

import json
import os
import subprocess
import urllib.request

import pytest

PROGRAM = os.path.join(os.path.dirname(__file__), "..", "index.cjs")


@pytest.fixture(scope="session")
def troco():
    node = os.environ.get("NODE", "node")
    process = subprocess.Popen([node, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    yield json.loads(process.stdout.readline())
    process.stdin.close()


def call(method, url, body=None, token=None):
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


@pytest.fixture
def account(troco):
    return call("POST", f"{troco['url']}/testing/accounts", {"balance": 10_000})


def checkout(account, order):
    body = {
        "amount": 4990,
        "client_name": "Ana Beatriz Rocha",
        "client_email": "ana@example.com",
        "client_doc": "529.982.247-25",
        "external_id": order,
    }
    return call("POST", f"{account['api']}/transactions", body, account["token"])["data"]


def test_a_paid_order_brings_a_webhook(account):
    checkout(account, "order-1")
    paid = {"outcome": "paid"}
    call("POST", f"{account['api']}/sandbox/transactions/order-1", paid, account["token"])
    control = f"{account['url']}/testing/accounts/{account['id']}"
    received = call("GET", f"{control}/webhooks/next?type=transaction.paid&timeout_ms=60000")
    assert received["event"]["transaction"]["external_id"] == "order-1"
    assert call("GET", f"{account['api']}/account", token=account["token"])["balance"] == 14_990
    assert call("GET", f"{control}/ledger")["violations"] == []


def test_an_order_that_nobody_pays_expires(account):
    checkout(account, "order-1")
    control = f"{account['url']}/testing/accounts/{account['id']}"
    call("POST", f"{account['api']}/sandbox/clock", {"advance": "25h"}, account["token"])
    received = call("GET", f"{control}/webhooks/next?type=transaction.expired&timeout_ms=60000")
    assert received["event"]["transaction"]["status"] == "expired"
