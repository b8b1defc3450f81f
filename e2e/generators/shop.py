"""A merchant's program with the generated client: prints what the API returned, as JSON."""

import json
import sys

from troco_client import ApiClient, ApiException, Configuration
from troco_client.apis import AccountApi, ChargesApi, SandboxApi
from troco_client.models import ChargeOutcome, ChargeRequest

base_url, token = sys.argv[1:]
configuration = Configuration(host=base_url)
configuration.access_token = token
client = ApiClient(configuration)
charges = ChargesApi(client)


def request(document):
    return ChargeRequest(
        amount=5000,
        client_name="Ana Beatriz Rocha",
        client_email="ana@example.com",
        client_doc=document,
        metadata={"order": 1048},
    )


created = charges.create_charge(request("529.982.247-25"), idempotency_key="order-1048").data
replayed = charges.create_charge(request("529.982.247-25"), idempotency_key="order-1048").data
SandboxApi(client).simulate_charge(created.transaction_id, ChargeOutcome(outcome="paid"))
read = charges.get_charge(created.transaction_id).data
page = charges.list_charges(limit=1)
try:
    charges.create_charge(request("123"))
    refusal = None
except ApiException as error:
    refusal = [error.status, error.headers["X-Error-Code"], json.loads(error.body)]

print(
    json.dumps(
        {
            "created": [created.transaction_id, created.amount, created.status],
            "replayed": replayed.transaction_id,
            "read": [read.transaction_id, read.status, read.metadata],
            "paid_at": read.paid_at.isoformat(),
            "listed": [charge.transaction_id for charge in page.data],
            "refusal": refusal,
            "balance": AccountApi(client).get_account().balance,
        }
    )
)
