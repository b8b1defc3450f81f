import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { curlCommand } from '#app/[mode]/webhooks/http-text.ts'

test('the generated curl command passes URL, headers and body through a shell unchanged', () => {
  const url = "https://shop.example/hook?a[]=1&b='2'"
  const body = `{"name":"D'Água $HOME \`id\` \\\\ \\n","x":"!","y":"@/etc/passwd"}\n'`
  const headers = { 'webhook-id': 'a', 'webhook-signature': "v1,a+b/c= v1,'" }
  const curl = curlCommand({ url, headers, body })
  const output = execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }; ${curl}`])
  expect(output.toString().split('\0').slice(0, -1)).toEqual([
    '--globoff',
    url,
    ...['-H', 'webhook-id: a', '-H', "webhook-signature: v1,a+b/c= v1,'"],
    ...['--data-raw', body],
  ])
})
