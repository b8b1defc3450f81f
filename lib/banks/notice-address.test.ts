import { afterEach, describe, expect, test } from 'vitest'
import type { NoticeRules } from '#lib/banks/gateway.ts'
import {
  isNoticeSecret,
  noticeAddressPrefix,
  readNoticeAddress,
  restrictNotices,
  rotateNoticeSecret,
} from '#lib/banks/notice-address.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection } from '#lib/testing/connection.ts'

const ACTOR = { type: 'system' } as const
const HOUR_MS = 3_600_000
const SECRET = env().TROCO_SECRET ?? ''
const UNSET = { TRUST_PROXY: '', CLIENT_CERTIFICATE_HEADER: '', TROCO_SECRET_BEFORE: '' }
afterEach(() => supplyEnv({ TROCO_SECRET: SECRET, ...UNSET }))

const rulesOf = (secretNumber: number, rotatedHoursAgo: number | null = null): NoticeRules => ({
  secretNumber,
  cidrs: [],
  isCertificateRequired: false,
  rotatedAt: rotatedHoursAgo === null ? null : new Date(Date.now() - rotatedHoursAgo * HOUR_MS),
})
const secretOf = (address: string) => address.split('/').at(-1) ?? ''

describe('the secret of a connection', () => {
  test('is another after each rotation, and each rotation is audited', async () => {
    const id = await addConnection(new StubBank())
    const first = await readNoticeAddress(id)
    expect(first.startsWith(`${env().PUBLIC_URL}/api/banks/${id}/notices/`)).toBe(true)
    expect(secretOf(first)).toMatch(/^[\w-]{43}$/)
    const second = await rotateNoticeSecret(id, ACTOR)
    expect(await readNoticeAddress(id)).toBe(second)
    const third = await rotateNoticeSecret(id, ACTOR)
    expect(new Set([first, second, third]).size).toBe(3)
    const where = { action: 'connection.notices_rotated', target: id }
    const records = await db().auditRecord.findMany({ where })
    expect(records).toHaveLength(2)
    expect(JSON.stringify(records)).not.toContain(secretOf(third))
  })

  test('opens its own address only, the previous one for 24 hours, the next one at once', async () => {
    const id = await addConnection(new StubBank())
    const addresses = [await readNoticeAddress(id)]
    while (addresses.length < 4) addresses.push(await rotateNoticeSecret(id, ACTOR))
    const opened = (rules: NoticeRules | null, of = id) =>
      addresses.map(address => isNoticeSecret(of, secretOf(address), rules))
    expect(opened(rulesOf(2))).toEqual([false, true, true, false])
    expect(opened(rulesOf(2, 23))).toEqual([true, true, true, false])
    expect(opened(rulesOf(2, 25))).toEqual([false, true, true, false])
    expect(opened(rulesOf(3, 0))).toEqual([false, true, true, true])
    expect(opened(rulesOf(2), newId())).toEqual([false, false, false, false])
    expect(opened(null)).toEqual([false, false, false, false])
  })

  test('survives a change of TROCO_SECRET while the one before is set', async () => {
    const id = await addConnection(new StubBank())
    const secret = secretOf(await readNoticeAddress(id))
    supplyEnv({ TROCO_SECRET: 'another-server-key-0123456789-0123456789' })
    expect(isNoticeSecret(id, secret, rulesOf(1))).toBe(false)
    supplyEnv({ TROCO_SECRET_BEFORE: SECRET })
    expect(isNoticeSecret(id, secret, rulesOf(1))).toBe(true)
    expect(secretOf(await readNoticeAddress(id))).not.toBe(secret)
  })

  test('does not exist without a connection to a bank', async () => {
    for (const id of [newId(), SIMULATOR_CONNECTION_ID]) {
      await expect(readNoticeAddress(id)).rejects.toMatchObject({ code: 'not_found' })
      await expect(rotateNoticeSecret(id, ACTOR)).rejects.toMatchObject({ code: 'not_found' })
      const restricted = restrictNotices(id, { cidrs: [] }, ACTOR)
      await expect(restricted).rejects.toMatchObject({ code: 'not_found' })
    }
    expect(noticeAddressPrefix('x')).toMatch(/\/api\/banks\/x\/notices\/$/)
  })
})

describe('restrictions', () => {
  test.each(['203.0.113.7', '203.0.113.0/33', '10.0.0.0/8,10.1.0.0/16', 'example.com', ''])(
    'the range %j is refused',
    async range => {
      const id = await addConnection(new StubBank())
      const restricted = restrictNotices(id, { cidrs: [range] }, ACTOR)
      await expect(restricted).rejects.toMatchObject({ fields: { cidrs: expect.anything() } })
    },
  )

  test('a certificate can be required only where the verdict of the proxy is known', async () => {
    const id = await addConnection(new StubBank())
    const restrict = () => restrictNotices(id, { isCertificateRequired: true }, ACTOR)
    const refused = { fields: { certificate: expect.anything() } }
    await expect(restrict()).rejects.toMatchObject(refused)
    supplyEnv({ CLIENT_CERTIFICATE_HEADER: 'X-Client-Verify' })
    await expect(restrict()).rejects.toMatchObject(refused)
    supplyEnv({ TRUST_PROXY: '1' })
    await restrict()
    await restrictNotices(id, { cidrs: ['203.0.113.0/24'] }, ACTOR)
    expect(await db().connection.findUniqueOrThrow({ where: { id } })).toMatchObject({
      noticeCertificate: true,
      noticeCidrs: ['203.0.113.0/24'],
      checkCode: 'ok',
    })
  })
})
