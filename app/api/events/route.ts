import { tellCharge } from '#lib/charges/queries.ts'
import { TrocoError } from '#lib/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { listEvents, readEventRange } from '#lib/webhooks/queries.ts'
import { EventPage, eventsQuery, eventToWire } from '#lib/webhooks/schema.ts'
import { tellWithdrawal } from '#lib/withdrawals/queries.ts'

const tell = { transaction: tellCharge, withdrawal: tellWithdrawal }

export const GET = endpoint({
  summary: 'List events',
  allow: 'events:read',
  query: eventsQuery,
  answer: EventPage,
  refuses: ['events_gone'],
  async handle({ account, mode, query: { after, limit } }) {
    const { oldest, last } = await readEventRange(account.id, mode)
    if (after + 1 < oldest && after < last) {
      throw new TrocoError('events_gone', `Events before sequence ${oldest} are no longer kept`)
    }
    const events = await listEvents(account.id, mode, after, limit)
    const next = Number(events.at(-1)?.sequence ?? after)
    return { data: events.map(event => eventToWire(event, tell)), next_after: next }
  },
})
