import { readFileSync, statSync } from 'node:fs'
import { expect, readSetting, test } from '#e2e/browser/app.ts'
import { sendRaw } from '#lib/testing/call.ts'
import { Random } from '#lib/testing/random.ts'
import { chooseSeed } from '#lib/testing/seed.ts'

interface Attack {
  target: string
  method?: string
  headers?: Record<string, string>
  body?: string
}

const PAGES = [
  '/',
  '/login',
  '/reset/abc',
  '/join/abc',
  '/test/charges/x',
  '/nothing',
  '/docs/en',
  '/_global-error',
  '/_next/image',
]
const FOLDERS = [
  '/',
  '/reset/',
  '/join/',
  '/login/',
  '/test/',
  '/test/charges/',
  '/admin/accounts/',
  '/live/webhooks/endpoints/',
  '/pay/',
  '/_next/',
  '/_next/static/',
  '/_next/data/x/',
  '/api/',
  '/api/auth/',
  '/api/auth/callback/',
  '/api/auth/signin/',
  '/icon.svg/',
  '/%72eset/',
]
/** Malformed encodings, control characters, dots, names with a meaning in JavaScript or Next. */
const PARTS = [
  '%',
  '%f',
  '%ff',
  '%zz',
  '%00',
  'a%00b',
  '%c0%af',
  '%ed%a0%80',
  '%e2%82',
  '%u0041',
  '%25ff',
  '%2e%2e',
  '%2f',
  '%5c',
  '%0d%0aa:b',
  '\xff',
  '\xc3\xa9',
  '%F0%9F%92%A9',
  '__proto__',
  '*',
  '[id]',
  '%5Bid%5D',
  '[...x]',
  '(.)a',
  '@a',
  '{}',
  '<a>',
  '"',
  '^',
  '\\',
  'a.rsc',
  '%7B',
  'a.segments/_tree.segment.rsc',
  'a'.repeat(16_000),
  '%61'.repeat(5_000),
  'a/'.repeat(3_000),
]
const QUERIES = [
  '',
  'a=',
  '_rsc=',
  '__nextDataReq=',
  'callbackUrl=',
  'next=',
  'error=',
  'url=',
  'url=/icon.svg&w=64&q=',
  'nxtPsecret=',
]
const STATES = [
  '',
  '%',
  '%ff',
  'x',
  '[]',
  '{}',
  'null',
  '[""]',
  '["",{"children":"x"}]',
  '["",{}],["",{}]',
  ...['["",{"children":[["a","b","zz",null],{}]}]', '["",{},"/"]', '["",{},null,"all"]'],
  ...['['.repeat(9_000), 'a'.repeat(20_000), nestState(3), nestState(1_500)],
]
/** Headers that Next and its libraries read, with values that they do not expect. */
const HEADERS: Record<string, string[]> = {
  'next-router-state-tree': STATES,
  rsc: ['', '0', '%ff'],
  'next-router-prefetch': ['', '0', '1', '2', '3', '1, 1', '%ff'],
  'next-router-segment-prefetch': ['/_tree', 'x', '%ff', '..', '/'.repeat(500)],
  'next-url': ['x', '%ff', '//', '/(.)x', 'http://['],
  'next-action': ['x', 'a'.repeat(42), '%ff'],
  'next-hmr-refresh': ['1'],
  'next-resume': ['1'],
  'x-next-resume-state-length': ['x', '-1'],
  'x-nextjs-data': ['1'],
  'x-matched-path': ['%ff'],
  'x-now-route-matches': ['nxtPsecret=%ff'],
  'x-invoke-path': ['%ff'],
  'x-invoke-query': ['%ff'],
  'x-invoke-status': ['500'],
  'x-prerender-revalidate': ['x'],
  'x-middleware-rewrite': ['/%ff'],
  'accept-language': ['%ff', ';;;q=', 'en;q=NaN'],
  accept: ['\xff', 'text/x-component'],
  range: ['bytes=x', 'bytes=9-1', 'bytes=99999999-', 'bytes=0-1,5-6'],
  'if-none-match': ['*', 'W/'],
  'if-modified-since': ['x'],
  origin: ['null', 'http://[', '\xff'],
  authorization: ['Bearer \xff', 'Basic %ff'],
  traceparent: [`00-${'0'.repeat(32)}-0000000000000000-01`],
  'x-forwarded-host': ['['],
  'user-agent': ['\xff', 'x'.repeat(30_000)],
  upgrade: ['websocket'],
  cookie: [
    '%ff',
    ';;;;',
    '__proto__=x',
    'a'.repeat(20_000),
    '__prerender_bypass=x',
    'troco-session=%ff',
    'troco-session=%00',
    'troco-session=\xff',
    'troco-session.0=a',
    ...[
      'troco-locale=%ff',
      'troco-theme=%ff',
      'troco-account=%ff',
      'troco-step=%7B',
      'troco-csrf=|',
    ],
    ...['troco-callback=http://[', 'troco-openid-state=a.b.c.d.e'],
  ],
}
const ACTIONS = [
  'signin',
  'signin/openid',
  'signout',
  'session',
  'csrf',
  'callback/credentials',
].concat(...['callback/openid', 'callback/x', 'error', 'verify-request', '_log', 'x'])
const BODIES: Record<string, string[]> = {
  'application/json': ['', '{', 'null', '[]', '{"callbackUrl":{}}', '{"email":{}}', '\xff'],
  'application/x-www-form-urlencoded': [
    ...['', '%ff', 'callbackUrl=http://[', 'callbackUrl=%00', 'csrfToken=%ff', 'email=%00'],
  ],
  'multipart/form-data; boundary=x': ['', '--x\r\n', '--x--'],
  'text/plain; application/json': ['{'],
}

function nestState(depth: number): string {
  return `${'["",{"children":'.repeat(depth)}["",{}]${'}]'.repeat(depth)}`
}

/** Headers of the router, combined: values that are valid alone can disagree with each other. */
function listRouterAttacks(): Attack[] {
  const states = ['["",{}]', '["",{"children":["__PAGE__?{",{},["//",""],"metadata-only"]}]']
  const values = [
    ['next-router-state-tree', ['', ...states.map(encodeURIComponent)]],
    ['next-router-prefetch', ['', '1', '2', '3']],
    ['next-router-segment-prefetch', ['', '/_tree', '/_index', '/login/__PAGE__', '/$d$id$x']],
    ['next-url', ['', '/(.)login', '//']],
  ] as const
  let combinations: Record<string, string>[] = [{ rsc: '1' }]
  for (const [name, list] of values) {
    combinations = combinations.flatMap(headers =>
      list.map(value => (value === '' ? headers : { ...headers, [name]: value })),
    )
  }
  return ['/login', '/test/charges', '/nothing'].flatMap(target =>
    combinations.map(headers => ({ target, headers })),
  )
}

function listAttacks(file: string): Attack[] {
  const short = PARTS.filter(part => part.length < 200)
  return [
    ...FOLDERS.flatMap(folder => PARTS.map(part => ({ target: folder + part }))),
    ...PAGES.flatMap(page =>
      QUERIES.flatMap(query => short.map(part => ({ target: `${page}?${query}${part}` }))),
    ),
    ...[
      ...PAGES,
      file,
      '/icon.svg',
      '/docs/assets/reader.js',
      '/pay/x',
      '/api/auth/session',
    ].flatMap(target =>
      Object.entries(HEADERS).flatMap(([name, values]) =>
        values.flatMap(value => [
          { target, headers: { [name]: value } },
          { target, headers: { rsc: '1', [name]: value } },
        ]),
      ),
    ),
    ...listRouterAttacks(),
    ...['POST', 'PUT', 'OPTIONS', 'TRACE', 'HEAD'].flatMap(method =>
      [...PAGES, file, '/icon.svg'].map(target => ({ method, target })),
    ),
    ...ACTIONS.flatMap(action => [
      ...[
        '',
        '?callbackUrl=http://[',
        '?callbackUrl=a&callbackUrl=b',
        '?error=%00',
        '?code=%ff',
      ].map(query => ({ target: `/api/auth/${action}${query}` })),
      ...Object.entries(BODIES).flatMap(([type, bodies]) =>
        bodies.map(body => ({
          method: 'POST',
          target: `/api/auth/${action}`,
          headers: { 'content-type': type, origin: readSetting('BASE_URL') },
          body,
        })),
      ),
    ]),
  ]
}

/** Chooses one of 32 at random; `npm run torture` sends all. */
function chooseAttacks(attacks: Attack[]): Attack[] {
  if (process.env.ALL_STORIES) return attacks
  const random = new Random(chooseSeed(), 0)
  return attacks.filter(() => random.chance(1 / 32))
}

/** Sends an attack again if Next asks for a hash of its headers: only then it renders the page. */
async function attack(sent: Attack) {
  const response = await send(sent)
  const target = /^location: (\S+[?&]_rsc=\S+)$/im.exec(response.head)?.[1]
  return response.status === 307 && target ? send({ ...sent, target }) : response
}

async function send({ target, method = 'GET', headers = {}, body = '' }: Attack) {
  const url = readSetting('BASE_URL')
  const length = method === 'POST' ? { 'content-length': String(body.length) } : {}
  const lines = Object.entries({
    host: new URL(url).host,
    connection: 'close',
    ...length,
    ...headers,
  })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return sendRaw(url, Buffer.from(`${method} ${target} HTTP/1.1\r\n${head}\r\n${body}`, 'latin1'))
}

test('no request without a session makes the server fail', { tag: '@torture' }, async () => {
  test.setTimeout(600_000)
  const logSize = statSync(readSetting('LOG')).size
  const login = await send({ target: '/login' })
  const attacks = listAttacks(/\/_next\/static\/[^"]+\.js/.exec(login.text)?.[0] ?? '')
  const failures: string[] = []
  const waiting = chooseAttacks(attacks).values()
  const attackInTurn = async () => {
    for (const sent of waiting) {
      const { status } = await attack(sent)
      // Status 0: the connection ended, or 30 seconds passed, without a response.
      if (status === 0 || status >= 500)
        failures.push(`${status}: ${JSON.stringify(sent).slice(0, 200)}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, attackInTurn))
  expect(attacks.length).toBeGreaterThan(4_000)
  expect(failures).toEqual([])
  const logged = readFileSync(readSetting('LOG')).subarray(logSize).toString().split('\n')
  expect(logged.filter(line => line.includes('"msg":"library '))).toEqual([])
})

const MALFORMED: Attack[] = [
  ...['/reset/%ff', '/join/%00', '/%', '/test/charges/%ed%a0%80', '/api/auth/%zz', '/_next/%'].map(
    target => ({ target }),
  ),
  ...['/_global-error', '/_global-error?_rsc=x'].map(target => ({ target })),
  ...['2', '3', '', '1, 1'].map(value => ({
    target: '/login',
    headers: { rsc: '1', 'next-router-prefetch': value },
  })),
  ...STATES.slice(0, -2).map(state => ({
    target: '/login',
    headers: { 'next-router-state-tree': state },
  })),
]

test('what Next would fail on gets 400, for browsers as a page', async () => {
  for (const malformed of MALFORMED) {
    const headers = { ...malformed.headers, accept: 'text/html' }
    const { status, text } = await send({ ...malformed, headers })
    expect([status, text.includes('</h1>')], JSON.stringify(malformed)).toEqual([400, true])
  }
})
