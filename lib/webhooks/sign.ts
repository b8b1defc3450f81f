import { createHmac } from 'node:crypto'

const SECRET_PREFIX = 'whsec_'

/**
 * Headers of Standard Webhooks 1.0: the id is the same for every attempt, the timestamp is that of
 * this attempt, by the database's clock. All active secrets sign, so that receivers can switch gradually.
 */
export function signatureHeaders(
  eventId: string,
  body: string,
  secrets: string[],
  at: Date,
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const signed = `${eventId}.${timestamp}.${body}`
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  })
  return {
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  }
}
