import createClient from 'openapi-fetch'
import type { components, paths } from './api.d.ts'

type Event = components['schemas']['Event']

/** A merchant's program that uses only the types of the OpenAPI document. */
export async function runShop(baseUrl: string, token: string) {
  const api = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } })
  const header = () => ({ 'Idempotency-Key': crypto.randomUUID() })

  const before = unwrap(await api.GET('/account', {})).balance

  const charge = unwrap(
    await api.POST('/transactions', {
      params: { header: header() },
      body: {
        amount: 5_000,
        client_name: 'Ana Beatriz Rocha',
        client_email: 'ana@example.com',
        client_doc: '529.982.247-25',
        metadata: { order: 1048 },
        items: [{ name: 'Café especial 1 kg', price: 2_500, quantity: 2 }],
      },
    }),
  ).data
  const path = { id: charge.transaction_id }
  const paid = unwrap(
    await api.POST('/sandbox/transactions/{id}', { params: { path }, body: { outcome: 'paid' } }),
  ).data
  const read = unwrap(await api.GET('/transactions/{id}', { params: { path } })).data
  const page = unwrap(
    await api.GET('/transactions', { params: { query: { status: 'paid', limit: 1 } } }),
  )

  const refund = unwrap(
    await api.POST('/transactions/{id}/refunds', {
      params: { path, header: header() },
      body: { amount: 1_000, reason: 'One of two items was out of stock' },
    }),
  ).data
  const refunds = unwrap(await api.GET('/transactions/{id}/refunds', { params: { path } }))
  const refundPath = { ...path, refund_id: refund.id }
  const readRefund = unwrap(
    await api.GET('/transactions/{id}/refunds/{refund_id}', { params: { path: refundPath } }),
  ).data

  const withdrawal = unwrap(
    await api.POST('/withdrawals', {
      params: { header: header() },
      body: { amount: 1_500, pix_key: 'ana@example.com', pix_key_type: 'email' },
    }),
  ).data
  const approved = unwrap(
    await api.POST('/sandbox/withdrawals/{id}', {
      params: { path: { id: withdrawal.id } },
      body: { outcome: 'approved' },
    }),
  ).data
  const withdrawals = unwrap(await api.GET('/withdrawals', { params: { query: { limit: 1 } } }))
  const readWithdrawal = unwrap(
    await api.GET('/withdrawals/{id}', { params: { path: { id: withdrawal.id } } }),
  ).data

  const refused = await api.POST('/withdrawals', {
    body: { amount: 999_999_999_999, pix_key: 'ana@example.com' },
  })
  const problems: Record<string, string[]> =
    refused.error && 'errors' in refused.error ? refused.error.errors : {}

  const events = unwrap(await api.GET('/events', { params: { query: { after: 0 } } })).data
  const after = unwrap(await api.GET('/account', {})).balance
  return {
    charge,
    paid,
    read,
    page,
    refund,
    refunds,
    readRefund,
    withdrawal,
    approved,
    withdrawals,
    readWithdrawal,
    problems,
    eventSummaries: events.map(summarizeEvent),
    gained: after - before,
  }
}

/** The type of an event determines its payload; one of an unknown type has none that is described. */
function summarizeEvent(event: Event): string {
  if (event.type === 'transaction.paid' && 'transaction' in event)
    return `paid ${event.transaction.amount}`
  if (event.type === 'withdrawal.approved' && 'withdrawal' in event)
    return `approved ${event.withdrawal.pix_key}`
  return event.event
}

function unwrap<Data>({ data, error }: { data?: Data; error?: unknown }): Data {
  if (data === undefined) throw new Error(JSON.stringify(error))
  return data
}
