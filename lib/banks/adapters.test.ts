import { connect, type LookupFunction } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { addConnection } from '#lib/banks/connections.ts'
import { gatewayOfConnection, registerAdapter } from '#lib/banks/served.ts'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection as insertConnection } from '#lib/testing/connection.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'
import { type Listener, openListener } from '#lib/testing/listeners.ts'
import { followLog } from '#lib/testing/log-tail.ts'

inOwnDatabase()

const ACTOR = { type: 'command_line' } as const
const { TROCO_ENV: originalEnvironment } = env()
/** `allowed`: BANK_ALLOW_CIDRS. */
const run = (environment: 'local' | 'production', allowed = '') =>
  supplyEnv({ TROCO_ENV: environment, BANK_ALLOW_CIDRS: allowed })

beforeEach(() => run('production'))
afterAll(() => run(originalEnvironment))

describe('the settings of a connection', () => {
  // These connections have no credentials.
  beforeAll(() => registerAdapter('efi', () => null))

  const add = (host: unknown) =>
    addConnection(
      {
        name: newId(),
        kind: 'efi',
        environment: 'homologation',
        ...{ receiving_keys: [newId()], settings: { hosts: [{ api: host as string }] } },
      },
      ACTOR,
    )

  test.each([
    ['https://10.0.0.5/v2', '10.0.0.5'],
    ['https://127.1:8443', '127.0.0.1'],
    ['http://169.254.169.254/latest', '169.254.169.254'],
    ['https://[fd00::1]/', 'fd00::1'],
    ['https://[::ffff:192.168.0.1]', '::ffff:c0a8:1'],
    ['192.168.0.1', '192.168.0.1'],
  ])('may not lead to %s', async (host, address) => {
    await expect(add(host)).rejects.toMatchObject({
      code: 'invalid_input',
      message: `settings must not lead to ${address}, unless BANK_ALLOW_CIDRS contains it`,
    })
    run('production', '10.0.0.0/8,127.0.0.0/8,169.254.0.0/16,192.168.0.0/16,fd00::/8')
    await expect(add(host)).resolves.toEqual(expect.any(String))
    run('local')
    await expect(add(host)).resolves.toEqual(expect.any(String))
  })

  test.each(['https://pix.example.com', 'https://8.8.8.8', '0001', 1, null])(
    'may contain %s',
    async value => {
      await expect(add(value)).resolves.toEqual(expect.any(String))
    },
  )

  test('with a private address keep a connection from being served', async () => {
    const bank = new StubBank()
    const settings = { api: 'https://10.0.0.5' }
    const id = await insertConnection(bank, { settings })
    const readLog = followLog()
    await expect(gatewayOfConnection(id)).rejects.toMatchObject({ code: 'service_unavailable' })
    await expect.poll(readLog).toContain('Its settings lead to 10.0.0.5: BANK_ALLOW_CIDRS')
    run('production', '10.0.0.5/32')
    const again = await insertConnection(bank, { settings })
    expect(await gatewayOfConnection(again)).toBe(bank)
  })
})

describe('a name that an adapter resolves', () => {
  let bank: Listener
  let lookup: LookupFunction
  beforeAll(async () => {
    bank = await openListener()
    const id = await insertConnection(new StubBank())
    registerAdapter('efi', (_, given) => {
      lookup = given
      return new StubBank()
    })
    await gatewayOfConnection(id)
  })
  afterAll(() => bank.close())

  /** Resolves with the code of the error, or null once connected. */
  const reach = (host: string, autoSelectFamily: boolean) =>
    new Promise<string | null>(resolve => {
      const socket = connect({ host, port: bank.port, lookup, autoSelectFamily })
      socket.once('connect', () => resolve(null))
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
      socket.once('close', () => socket.destroy())
    })

  test.each([true, false])(
    'leads to no private address in production (several addresses: %s)',
    async isAll => {
      expect(await reach('localhost', isAll)).toBe('PRIVATE_ADDRESS')
      expect(bank.hits()).toBe(0)
    },
  )

  test('leads to those in BANK_ALLOW_CIDRS, and anywhere in local use', async () => {
    const hits = bank.hits()
    run('production', '127.0.0.0/8,::1/128')
    expect(await reach('localhost', true)).toBeNull()
    run('local')
    expect(await reach('localhost', true)).toBeNull()
    expect(bank.hits()).toBe(hits + 2)
  })

  test('that is unknown has the error of the resolver', async () => {
    expect(await reach('bank.invalid', true)).toMatch(/^(ENOTFOUND|EAI_AGAIN)$/)
  })
})
