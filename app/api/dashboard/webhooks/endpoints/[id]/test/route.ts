import { ChargeDetail } from '#lib/charges/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { eventSamples } from '#lib/http/event-sample.ts'
import { RefundDetail } from '#lib/refunds/wire.ts'
import { eventPage } from '#lib/webhooks/event-page.ts'
import { testRequest } from '#lib/webhooks/schema.ts'
import { sendTestEvent } from '#lib/webhooks/test-event.ts'
import { TestRead } from '#lib/webhooks/wire.ts'
import { WithdrawalDetail } from '#lib/withdrawals/wire.ts'

const sampleOf = eventSamples(
  eventPage({ transaction: ChargeDetail, refund: RefundDetail, withdrawal: WithdrawalDetail }),
)

export const POST = endpoint({
  summary: 'Send an endpoint an event that never happened, and tell what it answers',
  allow: 'webhooks:write',
  body: testRequest,
  answer: TestRead,
  refuses: ['endpoint_not_found'],
  once: { keptS: 86_400 },
  async handle({ account, mode, body, params: { id = '' } }) {
    return { data: await sendTestEvent(account.id, mode, id, body.type, sampleOf) }
  },
})
