"""A merchant's program on the client: prints what it saw as JSON, which the test compares between the languages."""

import json
import sys

sys.dont_write_bytecode = True
from troco import FeedPosition, Troco, TrocoError, Webhooks  # noqa: E402

given = json.loads(sys.argv[1])
troco = Troco(given["url"], token=lambda: given["token"])
seen = {}


def code_of(act):
    try:
        act()
        return {"code": "accepted"}
    except TrocoError as error:
        return {"code": error.code, "status": error.status, "fields": error.fields}


order = {
    "amount": 5000,
    "client_name": "Ana Beatriz Rocha",
    "client_email": "ana@example.com",
    "client_doc": "529.982.247-25",
    "external_id": "order-1",
}
before = troco.account()["balance"]
charge = troco.charges.create(order, key="order-1")
again = troco.charges.create(order, key="order-1")
seen["is_same"] = charge["transaction_id"] == again["transaction_id"]
seen["float"] = code_of(lambda: troco.charges.create({**order, "amount": 50.5}, key="order-2"))["code"]
seen["no_key"] = code_of(lambda: troco.charges.create(order, key=""))["code"]
seen["other_body"] = code_of(lambda: troco.charges.create({**order, "amount": 6000}, key="order-1"))["code"]
seen["unpaid"] = code_of(lambda: troco.refunds.create_full("order-1", key="refund-0"))["code"]
troco.sandbox.charge("order-1", "paid")
seen["paid"] = troco.charges.wait_until_paid("order-1", timeout=10)["status"]
troco.refunds.create("order-1", 1000, "out of stock", key="refund-1")
seen["full"] = troco.refunds.create_full("order-1", key="refund-2")["amount"]
seen["refunds"] = [refund["amount"] for refund in troco.refunds.of_charge("order-1", limit=1)]
seen["too_much"] = code_of(
    lambda: troco.withdrawals.create({"amount": 10**11, "pix_key": "ana@example.com"}, key="out-0")
)
for number in (2, 3):
    troco.charges.create({**order, "external_id": f"order-{number}"}, key=f"order-{number}")
listed = [one["external_id"] for one in troco.charges.list(limit=1, status=["pending", "paid"])]
seen["listed"] = [reference for reference in listed if reference.startswith("order-")]
troco.sandbox.charge("order-2", "paid")
withdrawal = troco.withdrawals.create({"amount": 1500, "pix_key": "ana@example.com"}, key="out-1")
seen["approved"] = troco.sandbox.withdrawal(withdrawal["id"], "approved")["status"]
seen["expired"] = code_of(
    lambda: troco.charges.wait_until_paid(troco.sandbox.charge("order-3", "expired")["id"], timeout=5)
)["code"]
seen["missing"] = code_of(lambda: troco.charges.get("a/b"))["code"]
seen["dots"] = [code_of(lambda id=id: troco.charges.cancel(id))["code"] for id in (".", "..")]

positions = [FeedPosition(0, "0123456789abcdef")]
types, gaps = [], []


def save(events, position, gap):
    types.extend(event["type"] for event in events)
    gaps.extend([gap.reason] if gap else [])
    positions.append(position)


troco.events.follow(
    lambda: positions[-1], save, pause=0.05, is_ended=lambda: "transaction.expired" in types
)
seen["gaps"] = gaps
seen["types"] = sorted(set(types))
webhook = given["webhook"]
verify = lambda body: Webhooks.verify(webhook["headers"], body.encode(), [webhook["old"], webhook["secret"]])  # noqa: E731
seen["verified"] = verify(webhook["body"])["type"]
seen["tampered"] = code_of(lambda: verify(webhook["body"].replace("paid", "lost")))["code"]
verify_with = lambda headers, secret: code_of(lambda: Webhooks.verify(headers, webhook["body"].encode(), secret))  # noqa: E731
seen["no_secret"] = verify_with(webhook["forged"], "whsec_")["code"]
late = {**webhook["headers"], "webhook-timestamp": "9" * 5000}
seen["long_time"] = verify_with(late, webhook["secret"])["code"]
seen["gained"] = troco.account()["balance"] - before
print(json.dumps(seen))
