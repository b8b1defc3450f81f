import { tellChargeTo } from '#lib/charges/queries.ts'
import { ChargeDetail } from '#lib/charges/wire.ts'
import { TrocoError } from '#lib/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { RefundDetail } from '#lib/refunds/wire.ts'
import { eventPage } from '#lib/webhooks/event-page.ts'
import { listEvents, readEventRange } from '#lib/webhooks/queries.ts'
import { eventsQuery, eventToWire } from '#lib/webhooks/schema.ts'
import { tellWithdrawal } from '#lib/withdrawals/queries.ts'
import { WithdrawalDetail } from '#lib/withdrawals/wire.ts'

const shapes = { transaction: ChargeDetail, refund: RefundDetail, withdrawal: WithdrawalDetail }

export const GET = endpoint({
  summary: 'List events',
  description: 'What happened after a sequence number, oldest first. `data` may be empty.',
  allow: 'events:read',
  query: eventsQuery,
  answer: eventPage(shapes),
  refuses: ['events_gone'],
  async handle({ account, mode, query: { after, limit }, user }) {
    const { oldest, last } = await readEventRange(account.id, mode)
    if (after + 1 < oldest && after < last)
      throw new TrocoError('events_gone', `Events before sequence ${oldest} are no longer kept`)
    const events = await listEvents(account.id, mode, after, limit)
    const next = Number(events.at(-1)?.sequence ?? after)
    const tell = { transaction: tellChargeTo(user), withdrawal: tellWithdrawal }
    return { data: events.map(event => eventToWire(event, tell)), next_after: next }
  },
})
