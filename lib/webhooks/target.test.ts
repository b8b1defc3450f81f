import { syncBuiltinESMExports } from 'node:module'
import os, { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { findDeniedClass } from '#lib/core/addresses.ts'
import { supplyEnv } from '#lib/core/settings.ts'
import { type Canaries, openCanaries } from '#lib/testing/listeners.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { closeConnections, postWebhook } from '#lib/webhooks/post.ts'
import { problemText } from '#lib/webhooks/problem.ts'
import type { ResolveName } from '#lib/webhooks/target.ts'
import { allowedRanges, findTarget } from '#lib/webhooks/target.ts'

const PUBLIC_ADDRESS = '8.8.8.8'
const PRODUCTION = {
  TROCO_ENV: 'production',
  PUBLIC_URL: 'https://pay.example.com',
  WEBHOOK_ALLOW_CIDRS: '',
}
const LOCAL = { TROCO_ENV: 'local', PUBLIC_URL: 'http://localhost:3000', WEBHOOK_ALLOW_CIDRS: '' }

const NAMES: Record<string, string[]> = {
  localhost: ['127.0.0.1', '::1'],
  'shop.localhost': ['127.0.0.1'],
  'localhost.localdomain': ['127.0.0.1'],
  'ip6-localhost': ['::1'],
  '127.0.0.1.nip.io': ['127.0.0.1'],
  'a9fea9fe.nip.io': ['169.254.169.254'],
  'metadata.google.internal': ['169.254.169.254'],
  'loopback.example': ['127.0.0.1'],
  'second.example': ['127.0.0.2'],
  'ten.example': ['10.0.0.5'],
  'home.example': ['192.168.1.1'],
  'carrier.example': ['100.64.0.1'],
  'nowhere.example': ['0.0.0.0'],
  'six.example': ['::1'],
  'ula.example': ['fd00::1'],
  'zone.example': ['fe80::1%lo'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'mapped-public.example': ['::ffff:8.8.8.8'],
  'compatible.example': ['::127.0.0.1'],
  'nat64.example': ['64:ff9b::127.0.0.1'],
  'mixed.example': [PUBLIC_ADDRESS, '127.0.0.1'],
  'mixed-six.example': [PUBLIC_ADDRESS, '::1'],
  'mixed-first.example': ['10.0.0.1', PUBLIC_ADDRESS],
  'mixed-last.example': [PUBLIC_ADDRESS, '10.0.0.1'],
  'last-of-many.example': [...Array(40).fill(PUBLIC_ADDRESS), '127.0.0.1'],
  // A CNAME to an internal name resolves to the address of that name.
  'alias.example': ['172.16.9.9'],
  'empty.example': [],
  'nonsense.example': ['not an address'],
  'good.example': [PUBLIC_ADDRESS],
  'pay.example.com': ['8.8.4.4', '2001:4860:4860::8844'],
  'shared.example': ['8.8.4.4'],
  'xn--pple-43d.com': ['127.0.0.1'],
}

const resolve: ResolveName = async name => {
  const addresses = NAMES[name]
  if (!addresses) throw new Error('ENOTFOUND')
  return addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
}

/** URLs that must be refused. `PORT` is replaced by the port of the canaries. */
const PROBES = [
  'http://127.0.0.1:PORT/',
  'http://127.0.0.2:PORT/',
  'http://[::1]:PORT/',
  ...[
    'http://0.0.0.0:PORT/',
    'http://0:PORT/',
    'http://[::]:PORT/',
    'http://127.255.255.254:PORT/',
  ],
  // Other notations of 127.0.0.1.
  'http://2130706433:PORT/',
  'http://0x7f000001:PORT/',
  'http://0x7f.1:PORT/',
  'http://0177.0.0.1:PORT/',
  'http://017700000001:PORT/',
  'http://127.1:PORT/',
  'http://127.0.1:PORT/',
  'http://127.0.0.1.:PORT/',
  'http://0X7F.0x0.0X0.0x1:PORT/',
  // Circled and full-width digits, ideographic and full-width full stops.
  'http://①②⑦.⓪.⓪.①:PORT/',
  'http://127\u30020\u30020\u30021:PORT/',
  'http://\uff11\uff12\uff17.\uff10.\uff10.\uff11:PORT/',
  'http://127\uff0e0\uff0e0\uff61\uff11:PORT/',
  'http://127.0.\t0.1:PORT/',
  'http:127.0.0.1:PORT/',
  'http:///127.0.0.1:PORT/',
  'http:\\\\127.0.0.1:PORT\\',
  ' http://127.0.0.1:PORT/',
  'HTTP://127.0.0.1:PORT/',
  ...[
    'http://%31%32%37.0.0.1:PORT/',
    'http://127%2e0%2e0%2e1:PORT/',
    'http://[0:0:0:0:0:0:0:1]:PORT/',
  ],
  // IPv4 inside IPv6.
  ...[
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://[::ffff:7f00:1]:PORT/',
    'http://[::127.0.0.1]:PORT/',
  ],
  ...[
    'http://[::ffff:0:127.0.0.1]:PORT/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://[::ffff:8.8.8.8]/',
  ],
  'http://[64:ff9b::127.0.0.1]:PORT/',
  'http://[64:ff9b:1::7f00:1]:PORT/',
  ...[
    'http://[2002:7f00:1::]:PORT/',
    'http://[2001:0:7f00:1::]:PORT/',
    'http://[2002:a9fe:a9fe::1]/',
  ],
  // Reserved and private ranges.
  'http://10.0.0.1/',
  'http://012.0.0.1/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.0.1/',
  'http://100.64.0.1/',
  'http://169.254.1.1/',
  'http://198.18.0.1/',
  'http://192.0.2.1/',
  'http://198.51.100.1/',
  'http://203.0.113.1/',
  'http://224.0.0.1/',
  'http://240.0.0.1/',
  'http://255.255.255.255/',
  'http://192.88.99.1/',
  'http://[fc00::1]/',
  'http://[fe80::1]/',
  'http://[fec0::1]/',
  'http://[ff02::1]/',
  'http://[100::1]/',
  'http://[2001:db8::1]/',
  'http://[3fff::1]/',
  'http://[5f00::1]/',
  'http://[4000::1]/',
  'http://[e000::1]/',
  // Metadata services of clouds.
  ...[
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/',
    'http://169.254.170.2/',
  ],
  'http://100.100.100.200/',
  'http://192.0.0.192/',
  'http://168.63.129.16/',
  'http://metadata.google.internal/',
  'http://2852039166/',
  'http://0xa9fea9fe/',
  // User information that hides the host.
  'http://good.example@127.0.0.1:PORT/',
  'http://good.example:x@127.0.0.1:PORT/',
  ...[
    'https://user@good.example/',
    'https://:secret@good.example/',
    'https://good@169.254.169.254/',
  ],
  'http://127.0.0.1:PORT#@good.example/',
  'http://127.0.0.1:PORT\\@good.example/',
  'http://127.0.0.1:PORT?@good.example/',
  'http://good.example:80@127.0.0.1:PORT/',
  // Names.
  'http://localhost.:PORT/',
  'http://LOCALHOST:PORT/',
  ...[
    'http://loc%61lhost:PORT/',
    'http://\uff2c\uff2f\uff23\uff21\uff2c\uff28\uff2f\uff33\uff34:PORT/',
    'http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:PORT/',
  ],
  ...Object.keys(NAMES)
    .filter(name => name !== 'good.example')
    .map(name => `http://${name}:PORT/`)
    .filter(url => !url.includes('pay.example')),
  'http://\u0430pple.com:PORT/',
  'http://no-such-name.example/',
  // Schemes.
  'gopher://127.0.0.1:PORT/_x',
  'file:///etc/passwd',
  'file:///proc/self/environ',
  'ftp://127.0.0.1:PORT/',
  'data:text/plain,x',
  'ws://127.0.0.1:PORT/',
  'wss://good.example/',
  ...[
    'javascript:alert(1)',
    'dict://127.0.0.1:PORT/',
    'unix:/var/run/docker.sock',
    'ldap://127.0.0.1/',
  ],
  // Ports, even on a public address.
  ...[22, 25, 0, 1, 110, 143, 445, 587, 1023].map(port => `http://good.example:${port}/`),
  ...[5432, 6379, 3306, 27_017, 11_211, 9200, 2375, 2379, 6443, 8500, 10_250].map(
    port => `http://good.example:${port}/`,
  ),
  'http://127.0.0.1:22/',
  'http://127.0.0.1:5432/',
  'http://127.0.0.1/',
  'https://127.0.0.1/',
  // Troco's own address.
  ...[
    'https://pay.example.com/api/withdrawals',
    'https://pay.example.com./',
    'https://PAY.example.com:443/',
  ],
  'http://pay.example.com/',
  'https://pay%2Eexample.com/',
  // Not a URL.
  ...['', 'shop', '//127.0.0.1:PORT/', 'http://', 'http://[fe80::1%25lo]:PORT/', 'http://[::1'],
  'http://256.256.256.256/',
  'http://127.0.0.1%00.good.example/',
  'http://a b.example/',
  'http://good.example:65536/',
  'http://good%40127.0.0.1:PORT/',
]

let canaries: Canaries
beforeAll(async () => {
  canaries = await openCanaries([22, 25, 80, 443, 5432, 6379])
})
afterAll(() => canaries.close())
afterEach(() => {
  closeConnections()
  supplyEnv(LOCAL)
})

async function post(url: string, names: ResolveName | undefined = resolve) {
  const filled = url.replaceAll('PORT', String(canaries.port))
  const sent = { url: filled, mode: 'test', headers: {}, body: '{}' } as const
  const outcome = await postWebhook(sent, { resolve: names })
  return { ...outcome, problem: problemText(outcome.problem) }
}

/** Returns the target, or the message of the refusal. */
async function findTargetOrProblem(...args: Parameters<typeof findTarget>) {
  const target = await findTarget(...args)
  return 'problem' in target ? { problem: problemText(target.problem) } : target
}

describe('in production no webhook is sent', () => {
  test(`to any of ${PROBES.length} internal addresses; each is refused with a reason`, async () => {
    supplyEnv(PRODUCTION)
    expect(new Set(PROBES).size).toBe(PROBES.length)
    expect(PROBES.length).toBeGreaterThanOrEqual(75)
    const before = canaries.hits()
    const answers = await Promise.all(PROBES.map(async url => ({ url, ...(await post(url)) })))
    const reachable = answers.filter(
      ({ problem, status, address }) =>
        !/^The (webhook|address|name) .{8,}/.test(problem ?? '') ||
        status !== null ||
        address !== null,
    )
    expect(reachable).toEqual([])
    expect(canaries.hits() - before).toBe(0)
  })

  test('to the addresses that the machine resolves localhost to', async () => {
    supplyEnv(PRODUCTION)
    const before = canaries.hits()
    const { problem } = await post('http://localhost:PORT/', undefined)
    expect(problem).toBe('The address localhost is loopback: webhooks go to public addresses only')
    expect(canaries.hits() - before).toBe(0)
  })

  test('over http in live mode', async () => {
    supplyEnv(PRODUCTION)
    expect(await findTargetOrProblem('http://good.example/', 'live', resolve)).toEqual({
      problem: 'The webhook must be an https address in live mode',
    })
    expect(await findTargetOrProblem('https://good.example/', 'live', resolve)).toMatchObject({
      addresses: [{ address: PUBLIC_ADDRESS, family: 4 }],
    })
  })
})

describe('an address is denied', () => {
  test.each([
    ['0.0.0.0', '0.255.255.255', 'reserved'],
    ['10.0.0.0', '10.255.255.255', 'private'],
    ['100.64.0.0', '100.127.255.255', 'private'],
    ['127.0.0.0', '127.255.255.255', 'loopback'],
    ['169.254.0.0', '169.254.255.255', 'link-local'],
    ['172.16.0.0', '172.31.255.255', 'private'],
    ['192.0.0.0', '192.0.0.255', 'reserved'],
    ['192.0.2.0', '192.0.2.255', 'reserved'],
    ['192.88.99.0', '192.88.99.255', 'reserved'],
    ['192.168.0.0', '192.168.255.255', 'private'],
    ['198.18.0.0', '198.19.255.255', 'reserved'],
    ['198.51.100.0', '198.51.100.255', 'reserved'],
    ['203.0.113.0', '203.0.113.255', 'reserved'],
    ['224.0.0.0', '239.255.255.255', 'multicast'],
    ['240.0.0.0', '255.255.255.255', 'reserved'],
    ['::', '::', 'reserved'],
    ['::1', '::1', 'loopback'],
    ['::2', '::ffff:ffff', 'reserved'],
    ['::ffff:8.8.8.8', '::ffff:808:808', 'reserved'],
    ['::ffff:10.0.0.1', '::ffff:a00:1', 'private'],
    ['::ffff:0:0:0', '::ffff:0:ffff:ffff', 'reserved'],
    ['64:ff9b::', '64:ff9b::ffff:ffff', 'reserved'],
    ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff', 'reserved'],
    ['100::', '100::ffff:ffff:ffff:ffff', 'reserved'],
    ['2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff', 'reserved'],
    ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', 'reserved'],
    ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'reserved'],
    ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', 'reserved'],
    ['4000::', '5f00:ffff::1', 'reserved'],
    ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'private'],
    ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'link-local'],
    ['fe80::1%eth0', 'fe80::1%1', 'link-local'],
    ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'private'],
    ['ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'multicast'],
  ])('from %s to %s, as %s', (first, last, name) => {
    supplyEnv(PRODUCTION)
    const classes = [first, last].map(address => findDeniedClass(address, allowedRanges()))
    expect(classes).toEqual([name, name])
  })

  test('but not in public ranges, not even next to a denied range', () => {
    supplyEnv(PRODUCTION)
    const publicAddresses = [
      '1.0.0.0',
      '9.255.255.255',
      '11.0.0.0',
      '100.63.255.255',
      '100.128.0.0',
      '126.255.255.255',
      '128.0.0.0',
      '169.253.255.255',
      '169.255.0.0',
      '172.15.255.255',
      '172.32.0.0',
      '192.0.1.0',
      '192.0.3.0',
      '192.167.255.255',
      '192.169.0.0',
      '198.17.255.255',
      '198.20.0.0',
      '203.0.112.255',
      '203.0.114.0',
      '223.255.255.255',
      '2000::1',
      '2001:200::1',
      '2001:4860:4860::8888',
      '2606:4700::1111',
      '2a00:1450::1',
    ]
    const allowed = allowedRanges()
    const denied = publicAddresses.filter(address => findDeniedClass(address, allowed) !== null)
    expect(denied).toEqual([])
  })
})

describe('an address in WEBHOOK_ALLOW_CIDRS', () => {
  test('is allowed, but no neighbouring address', async () => {
    supplyEnv({ ...PRODUCTION, WEBHOOK_ALLOW_CIDRS: '127.0.0.1/32' })
    const before = ['127.0.0.1', '127.0.0.2', '::1'].map(canaries.hitsAt)
    expect((await post('http://127.0.0.1:PORT/')).address).toBe('127.0.0.1')
    expect((await post('http://loopback.example:PORT/')).address).toBe('127.0.0.1')
    for (const url of ['127.0.0.2', '[::1]', '0.0.0.0'])
      expect((await post(`http://${url}:PORT/`)).problem).toContain('public addresses only')
    for (const url of ['second.example', 'six.example'])
      expect((await post(`http://${url}:PORT/`)).problem).toContain(
        'not resolve to a public address',
      )
    // One of the two addresses of localhost is still denied.
    expect((await post('http://localhost:PORT/')).problem).toContain('public addresses only')
    const after = ['127.0.0.1', '127.0.0.2', '::1'].map(canaries.hitsAt)
    expect(after.map((hits, index) => hits - (before[index] ?? 0))).toEqual([2, 0, 0])
  })

  test('is still subject to the rules for scheme, port and user name', async () => {
    supplyEnv({ ...PRODUCTION, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' })
    expect((await post('http://127.0.0.1:5432/')).problem).toContain('port 5432')
    expect((await post('http://127.0.0.1:22/')).problem).toContain('port 22')
    expect((await post('http://me@127.0.0.1:PORT/')).problem).toContain('user name')
    expect((await post('ftp://127.0.0.1:PORT/')).problem).toContain('http or https')
    expect(await findTargetOrProblem('http://127.0.0.1/', 'live')).toHaveProperty('problem')
  })

  test('may be a metadata address', async () => {
    supplyEnv({ ...PRODUCTION, WEBHOOK_ALLOW_CIDRS: '169.254.169.254/32, fd00::/8' })
    expect(await findTargetOrProblem('http://169.254.169.254/', 'test')).toHaveProperty('addresses')
    expect(await findTargetOrProblem('http://[fd00::7]/', 'test')).toHaveProperty('addresses')
    expect(await findTargetOrProblem('http://169.254.169.253/', 'test')).toHaveProperty('problem')
  })

  test('in IPv6 notation allows no IPv4 address', async () => {
    supplyEnv({ ...PRODUCTION, WEBHOOK_ALLOW_CIDRS: '::/0' })
    expect(await findTargetOrProblem('http://10.0.0.1/', 'test')).toHaveProperty('problem')
    expect(await findTargetOrProblem('http://[::ffff:10.0.0.1]/', 'test')).toHaveProperty('problem')
    expect(await findTargetOrProblem('http://[fd00::1]/', 'test')).toHaveProperty('addresses')
  })
})

describe("in production, this installation's own addresses", () => {
  const problem = 'The webhook leads back to this gateway: give the address of your own server'
  const OWN = { ...PRODUCTION, OWN_ADDRESSES: '1.2.3.4, 2600:1f00::/24,9.9.9.0/24' }
  afterEach(() => supplyEnv({ OWN_ADDRESSES: '' }))

  test.each([
    ['an address of PUBLIC_URL', 'http://8.8.4.4'],
    ['an IPv6 address of PUBLIC_URL', 'http://[2001:4860:4860::8844]'],
    ['an address in OWN_ADDRESSES', 'http://1.2.3.4'],
    ['a range in OWN_ADDRESSES', 'http://9.9.9.9'],
    ['an IPv6 range in OWN_ADDRESSES', 'http://[2600:1f33:4::1]'],
  ])('%s is refused on every port', async (_what, origin) => {
    supplyEnv(OWN)
    for (const port of ['', ':443', ':3000', ':8080', ':65535'])
      expect(await findTargetOrProblem(`${origin}${port}/`, 'test', resolve)).toEqual({ problem })
    for (const address of ['http://1.2.3.5/', 'http://9.9.8.9/', 'http://good.example/'])
      expect(await findTargetOrProblem(address, 'test', resolve)).toHaveProperty('addresses')
  })

  test('an address of a network interface is refused on every port', async () => {
    const spied = vi.spyOn(os, 'networkInterfaces').mockReturnValue({
      eth0: [{ address: '51.15.0.9', family: 'IPv4' } as os.NetworkInterfaceInfo],
    })
    syncBuiltinESMExports()
    try {
      const fresh: ResolveName = name => resolve(name)
      supplyEnv(PRODUCTION)
      for (const url of ['http://51.15.0.9/', 'http://51.15.0.9:8080/'])
        expect(await findTargetOrProblem(url, 'test', fresh)).toEqual({ problem })
      expect(await findTargetOrProblem('http://51.15.0.8/', 'test', fresh)).toHaveProperty(
        'addresses',
      )
    } finally {
      spied.mockRestore()
      syncBuiltinESMExports()
    }
  })

  test('WEBHOOK_ALLOW_CIDRS opens them', async () => {
    supplyEnv({ ...OWN, WEBHOOK_ALLOW_CIDRS: '8.8.4.4/32,9.9.9.9/32' })
    for (const url of ['http://8.8.4.4/', 'http://9.9.9.9/'])
      expect(await findTargetOrProblem(url, 'test', resolve)).toHaveProperty('addresses')
    expect(await findTargetOrProblem('http://9.9.9.8/', 'test', resolve)).toEqual({ problem })
  })

  test('are the last known ones while the name of PUBLIC_URL cannot be resolved', async () => {
    supplyEnv(PRODUCTION)
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      let isUp = true
      const flaky: ResolveName = name =>
        isUp || name !== 'pay.example.com' ? resolve(name) : Promise.reject(new Error('ETIMEOUT'))
      const findOwn = () => findTargetOrProblem('http://8.8.4.4/', 'test', flaky)
      expect(await findOwn()).toEqual({ problem })
      isUp = false
      for (let minute = 0; minute < 2; minute++) {
        vi.advanceTimersByTime(61_000)
        expect(await findOwn()).toEqual({ problem })
      }
    } finally {
      vi.useRealTimers()
    }
  })

  test('are not refused locally', async () => {
    supplyEnv({ ...LOCAL, OWN_ADDRESSES: '1.2.3.4' })
    expect(await findTargetOrProblem('http://1.2.3.4/', 'test', resolve)).toHaveProperty(
      'addresses',
    )
  })
})

describe('in a local installation', () => {
  test('webhooks reach this machine at each of its addresses', async () => {
    for (const host of ['127.0.0.1', '127.0.0.2', '[::1]', 'localhost']) {
      expect((await post(`http://${host}:PORT/`)).address).toMatch(/^127\.0\.0\.[12]$|^::1$/)
    }
    const own = Object.values(networkInterfaces()).flatMap(entries => entries ?? [])
    for (const { address, family } of own) {
      const host = family === 'IPv6' ? `[${address}]` : address
      expect(await findTargetOrProblem(`http://${host}:4000/`, 'test')).toHaveProperty('addresses')
    }
  })

  test('they reach no other machine of the network', async () => {
    const own = Object.values(networkInterfaces()).flatMap(entries => entries ?? [])
    const foreign = ['10.0.0.1', '10.0.0.2'].find(address =>
      own.every(local => local.address !== address),
    )
    expect(await findTargetOrProblem(`http://${foreign}/`, 'test')).toEqual({
      problem: `The address ${foreign} is private: webhooks go to public addresses only`,
    })
    expect(await findTargetOrProblem('http://169.254.169.254/', 'test')).toHaveProperty('problem')
    expect(await findTargetOrProblem('http://0.0.0.0:4000/', 'test')).toHaveProperty('problem')
  })

  test.each(['localhost', '127.0.0.1', '[::1]', '127.9.9.9'])(
    'the gateway does not call itself as %s',
    async host => {
      const target = await findTargetOrProblem(`http://${host}:3000/api/x`, 'test', resolve)
      expect(target).toEqual({
        problem: 'The webhook leads back to this gateway: give the address of your own server',
      })
      expect(await findTargetOrProblem(`http://${host}:3001/`, 'test', resolve)).toHaveProperty(
        'addresses',
      )
    },
  )
})

describe('a name', () => {
  test('is resolved once per call, so that a changed response has no effect', async () => {
    supplyEnv({ ...PRODUCTION, WEBHOOK_ALLOW_CIDRS: '127.0.0.1/32' })
    const before = canaries.hitsAt('127.0.0.2')
    let lookups = 0
    const turning: ResolveName = async () => {
      lookups += 1
      return [{ address: lookups === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }]
    }
    expect((await post('http://turning.example:PORT/', turning)).address).toBe('127.0.0.1')
    expect(lookups).toBe(1)
    expect((await post('http://turning.example:PORT/', turning)).problem).toContain(
      'not resolve to a public address',
    )
    expect(canaries.hitsAt('127.0.0.2') - before).toBe(0)
  })

  test('that is unknown and one with a private address are the same problem after the same time', async () => {
    supplyEnv(PRODUCTION)
    const slowUnknown: ResolveName = async name => {
      if (NAMES[name]) return resolve(name)
      await sleep(300)
      throw new Error('ENOTFOUND')
    }
    const names = [
      'no-such-name.example',
      'empty.example',
      'ten.example',
      'metadata.google.internal',
    ]
    for (const name of [...names, 'mixed.example', 'shared.example']) {
      const startedAt = performance.now()
      const target = await findTargetOrProblem(`https://${name}/`, 'test', slowUnknown)
      const tookMs = performance.now() - startedAt
      const problem = `The name ${name} does not resolve to a public address: check its spelling and its DNS`
      expect(target).toEqual({ problem })
      // A busy machine may take a further step, never less than one.
      expect(tookMs).toBeGreaterThanOrEqual(990)
    }
  })

  testInTorture('that is not resolved within 5 s is given up', async () => {
    const silent: ResolveName = () => new Promise(() => {})
    expect(await findTargetOrProblem('https://slow.example/', 'test', silent)).toEqual({
      problem:
        'The name slow.example does not resolve to a public address: check its spelling and its DNS',
    })
  })

  test('with many addresses uses the first 16', async () => {
    const resolveMany: ResolveName = async () =>
      Array.from({ length: 40 }, (_, index) => ({ address: `8.8.4.${index}`, family: 4 }))
    const target = await findTargetOrProblem('https://many.example/', 'test', resolveMany)
    expect('addresses' in target && target.addresses.map(({ address }) => address)).toEqual(
      Array.from({ length: 16 }, (_, index) => `8.8.4.${index}`),
    )
  })
})
