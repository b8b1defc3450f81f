/** A merchant's program on the client: prints what it saw as JSON, which the test compares between the languages. */
const { client, url, token, webhook } = JSON.parse(process.argv[2])
const { Troco, TrocoError } = await import(client)
const troco = new Troco({ url, token: async () => token })
const seen = {}

function codeOf(promise) {
  return promise.then(
    () => ({ code: 'accepted' }),
    error => {
      if (!(error instanceof TrocoError)) throw error
      return { code: error.code, status: error.status, fields: error.fields }
    },
  )
}

const order = {
  amount: 5000,
  client_name: 'Ana Beatriz Rocha',
  client_email: 'ana@example.com',
  client_doc: '529.982.247-25',
  external_id: 'order-1',
}
const before = (await troco.account()).balance
const charge = await troco.charges.create(order, { key: 'order-1' })
const again = await troco.charges.create(order, { key: 'order-1' })
seen.is_same = charge.transaction_id === again.transaction_id
const create = async (changes, key) =>
  (await codeOf(troco.charges.create({ ...order, ...changes }, { key }))).code
seen.float = await create({ amount: 50.5 }, 'order-2')
seen.no_key = await create({}, '')
seen.other_body = await create({ amount: 6000 }, 'order-1')
seen.unpaid = (await codeOf(troco.refunds.createFull('order-1', {}, { key: 'refund-0' }))).code
await troco.sandbox.charge('order-1', 'paid')
const waiting = { signal: AbortSignal.timeout(60_000) }
seen.paid = (await troco.charges.waitUntilPaid('order-1', waiting)).status
const part = { amount: 1000, reason: 'out of stock' }
await troco.refunds.create('order-1', part, { key: 'refund-1' })
seen.full = (await troco.refunds.createFull('order-1', {}, { key: 'refund-2' })).amount
seen.refunds = []
for await (const { amount } of troco.refunds.ofCharge('order-1', { limit: 1 }))
  seen.refunds.push(amount)
const withdraw = (amount, key) =>
  troco.withdrawals.create({ amount, pix_key: 'ana@example.com' }, { key })
seen.too_much = await codeOf(withdraw(10 ** 11, 'out-0'))
for (const number of [2, 3]) {
  const key = `order-${number}`
  await troco.charges.create({ ...order, external_id: key }, { key })
}
const listed = []
for await (const one of troco.charges.list({ limit: 1, status: ['pending', 'paid'] }))
  listed.push(one.external_id)
seen.listed = listed.filter(reference => reference.startsWith('order-'))
await troco.sandbox.charge('order-2', 'paid')
const { id } = await withdraw(1500, 'out-1')
seen.approved = (await troco.sandbox.withdrawal(id, 'approved')).status
const expired = await troco.sandbox.charge('order-3', 'expired')
seen.expired = (await codeOf(troco.charges.waitUntilPaid(expired.id))).code
seen.missing = (await codeOf(troco.charges.get('a/b'))).code
seen.dots = []
const cancel = async id => troco.charges.cancel(id)
for (const id of ['.', '..']) seen.dots.push((await codeOf(cancel(id))).code)

const types = []
const end = new AbortController()
seen.gaps = []
await troco.events.follow({
  load: () => ({ after: 0, epoch: '0123456789abcdef' }),
  save: (events, _position, gap) => {
    types.push(...events.map(({ type }) => type))
    if (gap) seen.gaps.push(gap.reason)
    if (types.includes('transaction.expired')) end.abort()
  },
  pauseMs: 50,
  signal: end.signal,
})
seen.types = [...new Set(types)].sort()
const verify = body =>
  troco.webhooks.verify(new Request(url, { method: 'POST', body, headers: webhook.headers }), [
    webhook.old,
    webhook.secret,
  ])
seen.verified = (await verify(webhook.body)).type
seen.tampered = (await codeOf(verify(webhook.body.replaceAll('paid', 'lost')))).code
const verifyWith = (headers, secret) =>
  codeOf(
    troco.webhooks.verify(
      new Request(url, { method: 'POST', body: webhook.body, headers }),
      secret,
    ),
  )
seen.no_secret = (await verifyWith(webhook.forged, 'whsec_')).code
const late = { ...webhook.headers, 'webhook-timestamp': '9'.repeat(5000) }
seen.long_time = (await verifyWith(late, webhook.secret)).code
seen.gained = (await troco.account()).balance - before
process.stdout.write(JSON.stringify(seen))
