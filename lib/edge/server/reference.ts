import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buildDocument, type ServedRoute } from '#lib/edge/http/openapi.ts'

interface StaticFile {
  body: Buffer
  headers: Record<string, string>
}

type FileHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Cache-Control of the script, whose URL contains the version of Scalar. */
const CACHE_YEAR = 'public, max-age=31536000, immutable'
const CACHE_MINUTE = 'public, max-age=60'

export function serveReference(routes: ServedRoute[], publicUrl: string): Map<string, FileHandler> {
  const document = JSON.stringify(buildDocument(routes, publicUrl))
  const documentFile = buildFile(
    Buffer.from(document),
    'application/json; charset=utf-8',
    CACHE_MINUTE,
  )
  let script: Promise<StaticFile> | undefined
  return new Map([
    ['/api/openapi.json', (request, response) => sendFile(request, response, documentFile)],
    [
      '/docs/scalar.js',
      async (request, response) => {
        script ??= readScript()
        return sendFile(request, response, await script)
      },
    ],
  ])
}

async function readScript(): Promise<StaticFile> {
  const scriptUrl = new URL('browser/standalone.js', import.meta.resolve('@scalar/api-reference'))
  return buildFile(await readFile(scriptUrl), 'text/javascript; charset=utf-8', CACHE_YEAR)
}

function buildFile(body: Buffer, type: string, cacheControl: string): StaticFile {
  const digest = createHash('sha256').update(body).digest('base64url')
  const headers = { 'content-type': type, 'cache-control': cacheControl, etag: `"${digest}"` }
  return { body, headers }
}

async function sendFile(
  { headers: requestHeaders }: IncomingMessage,
  response: ServerResponse,
  { body, headers }: StaticFile,
): Promise<void> {
  const cachedTags = requestHeaders['if-none-match']
    ?.split(',')
    .map(tag => tag.trim().replace(/^W\//, ''))
  if (cachedTags?.includes(headers.etag ?? '') || cachedTags?.includes('*')) {
    response.writeHead(304, headers).end()
    return
  }
  response.writeHead(200, { ...headers, 'content-length': body.byteLength }).end(body)
}
