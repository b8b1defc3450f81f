import { serializePixNotice } from '#lib/api-pix/wire.ts'
import { DisputeDetail } from '#lib/charges/disputes/wire.ts'
import { RefundDetail } from '#lib/charges/refunds/wire.ts'
import { ChargeDetail, MismatchedPayment, ReturnDetail } from '#lib/charges/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { eventSamples } from '#lib/http/openapi-responses.ts'
import { eventPageSchema } from '#lib/webhooks/events.ts'
import { testRequest } from '#lib/webhooks/schema.ts'
import { sendTestEvent } from '#lib/webhooks/test-event.ts'
import { TestRead } from '#lib/webhooks/wire.ts'
import { WithdrawalDetail } from '#lib/withdrawals/wire.ts'

const sampleOf = eventSamples(
  eventPageSchema({
    transaction: ChargeDetail,
    refund: RefundDetail,
    dispute: DisputeDetail,
    return: ReturnDetail,
    payment: MismatchedPayment,
    withdrawal: WithdrawalDetail,
  }),
)

export const POST = endpoint({
  method: 'POST',
  operationId: 'testEndpoint',
  effect: 'none',
  summary: 'Send a test event',
  description:
    'Sends a sample event at once and once only, signed with the secret of the endpoint, and returns what the receiver responded. Its `sequence` is 0, and it is stored nowhere. A disabled endpoint receives it, too. It counts toward the 4 concurrent calls per URL and 16 per host: without a place within 2 s, the response is 429. With a test token, the type can be any, and the body says `mode: "test"`. With a live token, it is `troco.ping`, which contains no charge or withdrawal.',
  allow: 'webhooks:write',
  proof: { notRequired: 'It sends sample data only, to the stored URL.' },
  body: testRequest,
  response: TestRead,
  errorCodes: ['endpoint_not_found'],
  idempotency: { retentionS: 86_400 },
  async handle({ account, mode, body, params: { id = '' } }) {
    const samples = { sampleOf, apiPix: serializePixNotice }
    return { data: await sendTestEvent(account.id, mode, id, body.type, samples) }
  },
})
