import { createReadStream, existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { chooseEncoding, type Encoding } from '#lib/http/compression.ts'
import type { FileHandler } from '#lib/http/reference.ts'

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
}
/** Extension of a file that bin/prepare.mjs wrote beside the original. */
const EXTENSIONS = { br: '.br', gzip: '.gz' } satisfies Record<Encoding, string>
const ENCODINGS = Object.keys(EXTENSIONS) as Encoding[]

/**
 * A page loads twenty files: without these headers, 6 KB less. They mean nothing on a file, and HTTP/1.1 keeps a
 * connection without saying so.
 */
const NEEDLESS_HEADERS = ['permissions-policy', 'referrer-policy', 'x-request-id', 'connection']

interface BuiltFile {
  path: string
  type: string
  sizes: Map<Encoding | null, number>
}

/**
 * Returns what serves the files of a build, by the path of their URL; without a folder, none. Files are
 * sent compressed as the client prefers. Their names change with their content, hence no ETag.
 */
export async function loadBuiltFiles(
  folder: string | undefined,
): Promise<Map<string, FileHandler>> {
  const files = new Map<string, FileHandler>()
  const root = join(folder ?? '', 'static')
  const names = folder && existsSync(root) ? await readdir(root, { recursive: true }) : []
  for (const name of names) {
    const type = TYPES[extname(name)]
    if (!type) continue
    const path = join(root, name)
    const sizes = new Map<Encoding | null, number>([[null, (await stat(path)).size]])
    for (const encoding of ENCODINGS) {
      const compressed = await stat(path + EXTENSIONS[encoding]).catch(() => null)
      if (compressed) sizes.set(encoding, compressed.size)
    }
    files.set(`/_next/static/${name.split(sep).join('/')}`, (request, response) =>
      sendFile(request, response, { path, type, sizes }),
    )
  }
  return files
}

async function sendFile(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  { path, type, sizes }: BuiltFile,
): Promise<void> {
  const offered = ENCODINGS.filter(encoding => sizes.has(encoding))
  const accepted = [headers['accept-encoding'] ?? ''].flat().join(',')
  const encoding = chooseEncoding(accepted, offered)
  for (const name of NEEDLESS_HEADERS) response.removeHeader(name)
  response.writeHead(200, {
    'content-type': type,
    'cache-control': 'public, max-age=31536000, immutable',
    'content-length': sizes.get(encoding) ?? 0,
    ...(offered.length > 0 ? { vary: 'Accept-Encoding' } : {}),
    ...(encoding ? { 'content-encoding': encoding } : {}),
  })
  if (method === 'HEAD') return void response.end()
  // Destroys the response if the file cannot be read, and closes the file if the client disconnects.
  await pipeline(createReadStream(path + (encoding ? EXTENSIONS[encoding] : '')), response).catch(
    () => response.destroy(),
  )
}
