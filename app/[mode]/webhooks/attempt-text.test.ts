import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { curlCommand, diffResponses, prettyPrintJson } from '#app/[mode]/webhooks/attempt-text.ts'

test('the generated curl command passes URL, headers and body through a shell unchanged', () => {
  const url = "https://shop.example/hook?a[]=1&b='2'"
  const body = `{"name":"D'Água $HOME \`id\` \\\\ \\n","x":"!","y":"@/etc/passwd"}\n'`
  const headers = { 'webhook-id': 'a', 'webhook-signature': "v1,a+b/c= v1,'" }
  const curl = curlCommand({ url, headers, body })
  const output = execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }; ${curl}`])
  expect(output.toString().split('\0').slice(0, -1)).toEqual([
    '--globoff',
    url,
    '-H',
    'webhook-id: a',
    '-H',
    "webhook-signature: v1,a+b/c= v1,'",
    '--data-raw',
    body,
  ])
})

const diff = (before: string, after: string) =>
  diffResponses(before, after).map(({ sign, text }) => sign + text)

test('added and removed lines of a response are listed among the unchanged lines', () => {
  expect(diff('HTTP 500\na: 1\n\nx', 'HTTP 503\na: 1\n\nx\ny')).toEqual([
    '-HTTP 500',
    '+HTTP 503',
    ' a: 1',
    ' ',
    ' x',
    '+y',
  ])
})

test('two responses that differ only in their Date header are equal', () => {
  expect(diff('HTTP 500\ndate: Mon\n\nx', 'HTTP 500\ndate: Tue\n\nx')).toEqual([])
})

test('JSON is indented unless that would change a value', () => {
  expect(prettyPrintJson('{"a": 1, "b":"c d"}')).toBe('{\n  "a": 1,\n  "b": "c d"\n}')
  for (const same of ['{"a":12345678901234567890}', '{"a":1.0}', '<p>no</p>', '']) {
    expect(prettyPrintJson(same)).toBe(same)
  }
})
