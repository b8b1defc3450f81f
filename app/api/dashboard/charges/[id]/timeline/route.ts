import { maskCharge } from '#lib/charges/list.ts'
import { ChargeTimelineRead, readChargeTimeline } from '#lib/dashboard/timeline.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  method: 'GET',
  isCompressible: true,
  summary: 'Read the timeline of a charge',
  allow: 'dashboard:read',
  response: ChargeTimelineRead,
  mask: ({ data }) => ({ data: { ...data, charge: maskCharge(data.charge) } }),
  errorCodes: ['transaction_not_found'],
  async handle({ account, mode, params }) {
    return { data: await readChargeTimeline(account.id, mode, params.id ?? '') }
  },
})
