import { DisputeDetail } from '#lib/charges/disputes/wire.ts'
import { serializeChargeEvent } from '#lib/charges/list.ts'
import { RefundDetail } from '#lib/charges/refunds/wire.ts'
import { ChargeDetail, MismatchedPayment, ReturnDetail } from '#lib/charges/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { endpoints } from '#lib/http/routes.ts'
import { listEvents } from '#lib/webhooks/endpoints.ts'
import {
  type EventRow,
  eventPageSchema,
  eventsQuery,
  eventToIntegration,
  eventToWire,
  judgePosition,
  readEventRange,
} from '#lib/webhooks/events.ts'
import { serializeWithdrawalEvent } from '#lib/withdrawals/queries.ts'
import { WithdrawalDetail } from '#lib/withdrawals/wire.ts'

const schemas = {
  transaction: ChargeDetail,
  refund: RefundDetail,
  dispute: DisputeDetail,
  return: ReturnDetail,
  payment: MismatchedPayment,
  withdrawal: WithdrawalDetail,
}

const serializers = { transaction: serializeChargeEvent, withdrawal: serializeWithdrawalEvent }

export const { GET } = endpoints({
  'GET /events': endpoint({
    method: 'GET',
    operationId: 'listEvents',
    isCompressible: true,
    summary: 'List events',
    description: 'Returns the events after a sequence number, oldest first. `data` may be empty.',
    allow: 'events:read',
    query: eventsQuery,
    response: eventPageSchema(schemas),
    responseHeaders: ['Troco-Feed-Epoch'],
    errorCodes: ['events_gone', 'feed_epoch_changed', 'feed_restored', 'after_beyond_feed'],
    async handle({ account, mode, query: { after, limit, form, epoch: known }, showsDocuments }) {
      // In this order, events that are deleted between the two reads lead to a 410 and not to a gap.
      const page = await listEvents(account.id, mode, after, limit)
      const range = await readEventRange(account.id, mode, after, known)
      const refusal = judgePosition(range, after, known)
      if (refusal) throw refusal
      const { last, epoch, restore } = range
      // Nothing comes between the last number that a restore kept and the next epoch.
      if (page.rows.length === 0 && restore?.kept === after) page.nextCursor = restore.next
      const serialize = form === 'endpoint' ? eventToIntegration : eventToWire
      const toWire = (event: EventRow) => serialize(event, serializers, showsDocuments)
      const headers = { 'troco-feed-epoch': epoch }
      return { ...pageResult(page, toWire, 'next_after', { last_sequence: last }), headers }
    },
  }),
})
