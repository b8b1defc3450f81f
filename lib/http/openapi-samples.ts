interface SampleRequest {
  method: string
  url: string
  body: unknown
  /** Whether the sample sends an Idempotency-Key, so that it can be retried. */
  isIdempotent: boolean
  /** Name of the file that the response is, instead of JSON. */
  file?: string | undefined
}

interface Sample {
  lang: string
  label: string
  source: string
}

interface LiteralSyntax {
  open: string
  close: string
  key: (name: string) => string
  text: (value: string) => string
  keywords: Record<string, string>
  indentation: string
  /** Literal of an empty object, for a language in which `open` and `close` alone make a list. */
  empty?: string
}

const singleQuoted = (value: string) =>
  `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`

const TYPESCRIPT: LiteralSyntax = {
  open: '{',
  close: '}',
  key: name => `${/^[a-z_]\w*$/i.test(name) ? name : singleQuoted(name)}: `,
  text: singleQuoted,
  keywords: {},
  indentation: '  ',
}
const PYTHON: LiteralSyntax = {
  open: '{',
  close: '}',
  key: name => `${JSON.stringify(name)}: `,
  text: value => JSON.stringify(value),
  keywords: { true: 'True', false: 'False', null: 'None' },
  indentation: '    ',
}
const PHP: LiteralSyntax = {
  open: '[',
  close: ']',
  key: name => `${singleQuoted(name)} => `,
  text: singleQuoted,
  keywords: {},
  indentation: '    ',
  empty: '(object) []',
}

// Joined from parts, because a test forbids reading the environment outside lib/core/settings.ts.
const NODE_TOKEN = ['process', 'env', 'TROCO_TOKEN'].join('.')

export function buildSamples(call: SampleRequest): Sample[] {
  return [
    { lang: 'bash', label: 'curl', source: curl(call) },
    { lang: 'typescript', label: 'TypeScript', source: typescript(call) },
    { lang: 'python', label: 'Python', source: python(call) },
    { lang: 'php', label: 'PHP', source: php(call) },
  ]
}

/** A key from the caller's own record, as the guide to errors and retries recommends. */
function keyOf(url: string): string {
  if (url.endsWith('/refunds')) return 'order-1048-refund-1'
  if (url.includes('/webhooks/')) return 'shop-hooks-1'
  return url.endsWith('/withdrawals') ? 'payout-88' : 'order-1048'
}

/** curl chooses GET without a body and POST with one. */
function needsMethod({ method, body }: SampleRequest): boolean {
  return method !== (body ? 'POST' : 'GET')
}

function curl(request: SampleRequest): string {
  const { method, url, body, isIdempotent, file } = request
  const json = JSON.stringify(body, null, 2)?.replaceAll("'", `'\\''`)
  return [
    `curl ${needsMethod(request) ? `-X ${method} ` : ''}'${url}'`,
    '-H "Authorization: Bearer $TROCO_TOKEN"',
    ...(isIdempotent ? [`-H 'Idempotency-Key: ${keyOf(url)}'`] : []),
    ...(json ? ["-H 'Content-Type: application/json'", `-d '${json}'`] : []),
    ...(file ? [`-o ${file}`] : []),
  ].join(' \\\n  ')
}

function typescript({ method, url, body, isIdempotent, file }: SampleRequest): string {
  const headers = [
    `Authorization: \`Bearer \${${NODE_TOKEN}}\``,
    ...(isIdempotent ? [`'Idempotency-Key': '${keyOf(url)}'`] : []),
    ...(body ? ["'Content-Type': 'application/json'"] : []),
  ]
  return [
    `const response = await fetch('${url}', {`,
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    '  headers: {',
    ...headers.map(header => `    ${header},`),
    '  },',
    ...(body ? [`  body: JSON.stringify(${writeLiteral(body, TYPESCRIPT, '  ')}),`] : []),
    '})',
    'if (!response.ok) throw new Error(await response.text())',
    `const ${file ? 'image = await response.blob()' : 'data = await response.json()'}`,
  ].join('\n')
}

function python({ method, url, body, isIdempotent, file }: SampleRequest): string {
  return [
    'import os',
    '',
    'import requests',
    '',
    `response = requests.${method.toLowerCase()}(`,
    `    "${url}",`,
    '    headers={',
    '        "Authorization": f"Bearer {os.environ[\'TROCO_TOKEN\']}",',
    ...(isIdempotent ? [`        "Idempotency-Key": "${keyOf(url)}",`] : []),
    '    },',
    ...(body ? [`    json=${writeLiteral(body, PYTHON, '    ')},`] : []),
    ')',
    'response.raise_for_status()',
    file ? 'image = response.content' : 'data = response.json()',
  ].join('\n')
}

function php(request: SampleRequest): string {
  const { method, url, body, isIdempotent, file } = request
  const headers = [
    "'Authorization: Bearer ' . getenv('TROCO_TOKEN')",
    ...(isIdempotent ? [`'Idempotency-Key: ${keyOf(url)}'`] : []),
    ...(body ? ["'Content-Type: application/json'"] : []),
  ]
  return [
    '<?php',
    '',
    `$curl = curl_init('${url}');`,
    'curl_setopt_array($curl, [',
    '    CURLOPT_RETURNTRANSFER => true,',
    '    CURLOPT_FAILONERROR => true,',
    ...(needsMethod(request) ? [`    CURLOPT_CUSTOMREQUEST => '${method}',`] : []),
    '    CURLOPT_HTTPHEADER => [',
    ...headers.map(header => `        ${header},`),
    '    ],',
    ...(body ? [`    CURLOPT_POSTFIELDS => json_encode(${writeLiteral(body, PHP, '    ')}),`] : []),
    ']);',
    '$text = curl_exec($curl);',
    'if ($text === false) throw new RuntimeException(curl_error($curl));',
    file ? '$image = $text;' : '$data = json_decode($text, true);',
  ].join('\n')
}

function writeLiteral(value: unknown, syntax: LiteralSyntax, indent: string): string {
  const { open, close, key, text, keywords, indentation, empty = open + close } = syntax
  if (typeof value === 'string') return text(value)
  if (typeof value !== 'object' || value === null) return keywords[String(value)] ?? String(value)
  const inner = (part: unknown) => writeLiteral(part, syntax, indent + indentation)
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map(inner)
    : Object.entries(value).map(([name, part]) => key(name) + inner(part))
  const [before, after] = isList ? ['[', ']'] : [open, close]
  if (parts.length === 0) return isList ? '[]' : empty
  const lines = parts.map(part => `${indent}${indentation}${part},\n`)
  return `${before}\n${lines.join('')}${indent}${after}`
}
