import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { COLORS_CSS } from '#lib/core/colors.ts'
import { LOCALES, languageOf, preferredLocale } from '#lib/core/locale.ts'
import { TEXT_FACE, versionOf } from '#lib/core/text-face.ts'
import { COMMAND_LINE_VERSION, packCommandLine } from '#lib/docs/package.ts'
import { type Assets, renderPage } from '#lib/docs/render.ts'
import {
  type ApiDocument,
  addressOf,
  buildSearchIndex,
  buildSite,
  type DocsPage,
  type DocsSite,
  llmsText,
  markdownAddressOf,
  markdownOf,
} from '#lib/docs/site.ts'
import { chooseEncoding, isWorthCompressing } from '#lib/http/compression.ts'
import { buildDocument, type ServedRoute } from '#lib/http/openapi.ts'
import { isNamed } from '#lib/http/response.ts'
import { LOCALE_COOKIE } from '#lib/session/schema.ts'

interface StaticFile {
  body: Buffer
  headers: Record<string, string>
  /** The body, compressed at the first request that takes it. */
  compressed?: Promise<Buffer>
}

const compress = promisify(gzip)

export type FileHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Cache-Control of the files whose URL contains a hash of their content. */
const CACHE_YEAR = 'public, max-age=31536000, immutable'
const CACHE_MINUTE = 'public, max-age=60'
const JSON_TYPE = 'application/json; charset=utf-8'
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const ASSET_FOLDER = new URL('../docs/assets/', import.meta.url)
const ASSETS = {
  style: ['style.css', 'text/css; charset=utf-8', new URL('style.css', ASSET_FOLDER)],
  reader: ['reader.js', 'text/javascript; charset=utf-8', new URL('reader.js', ASSET_FOLDER)],
  trial: ['trial.js', 'text/javascript; charset=utf-8', new URL('trial.js', ASSET_FOLDER)],
} as const

type Files = Map<string, FileHandler>

/** Built references by public URL. A process serves the same routes in all its servers; tests open many. */
const references = new Map<string, Promise<Files>>()

/** Serves the documentation: pages for people, and the document for programs. */
export function serveReference(routes: ServedRoute[], publicUrl: string): Promise<Files> {
  const known = references.get(publicUrl)
  if (known) return known
  const built = buildReference(routes, publicUrl)
  references.set(publicUrl, built)
  built.catch(() => references.delete(publicUrl))
  return built
}

async function buildReference(routes: ServedRoute[], publicUrl: string): Promise<Files> {
  const document = buildDocument(routes, publicUrl)
  const sites = LOCALES.map(locale => buildSite(document as unknown as ApiDocument, locale))
  const assets = await loadAssets()
  return new Map([
    ['/api/openapi.json', lazily(() => jsonFile(document))],
    ['/docs/clients/troco.tgz', lazily(packageFile)],
    [`/docs/clients/troco-${COMMAND_LINE_VERSION}.tgz`, lazily(packageFile)],
    ['/docs/clients/troco.ts', lazily(() => textFile(typedClient()))],
    ['/docs/clients/troco.js', lazily(() => textFile(plainClient(), 'text/javascript'))],
    ['/docs/clients/troco.py', lazily(() => textFile(readPackage('client/troco.py')))],
    ['/docs/clients/vendure.mjs', lazily(() => textFile(readPackage('shops/vendure.mjs')))],
    ['/docs/clients/medusa.ts', lazily(() => textFile(readPackage('shops/medusa.ts')))],
    ['/docs/clients/Troco.php', lazily(() => textFile(readPackage('client/Troco.php')))],
    ['/llms.txt', lazily(() => textFile(llmsText(sites)))],
    ...assets.files,
    ...sites.flatMap(site => siteFiles(site, assets.urls)),
    ...redirects(sites),
  ])
}

function siteFiles(site: DocsSite, assets: Assets): [string, FileHandler][] {
  return [
    [`${site.base}/search.json`, lazily(() => jsonFile(buildSearchIndex(site)))],
    ...site.pages.flatMap((page): [string, FileHandler][] => [
      [addressOf(site, page), lazily(() => pageFile(renderPage(site, page, assets)))],
      [
        markdownAddressOf(site, page),
        lazily(() => textFile(markdownOf(site, page), 'text/markdown')),
      ],
    ]),
  ]
}

/** Redirects addresses without a language, such as those in the `Link` of errors, to the reader's language. */
function redirects(sites: DocsSite[]): [string, FileHandler][] {
  const slugs = sites[0]?.pages.map(({ slug }: DocsPage) => slug) ?? []
  return slugs.map(slug => [
    slug ? `/docs/${slug}` : '/docs',
    async ({ headers }, response) => {
      const choice = new RegExp(`(?:^|; *)${LOCALE_COOKIE}=(${LOCALES.join('|')})(?:;|$)`)
      const chosen = choice.exec(headers.cookie ?? '')?.[1]
      const language = languageOf(chosen ?? preferredLocale(headers['accept-language'] ?? ''))
      const location = `/docs/${language}${slug && `/${slug}`}`
      const vary = 'Accept-Language, Cookie'
      response.writeHead(302, { location, vary, 'cache-control': 'private, no-cache' }).end()
    },
  ])
}

async function loadAssets(): Promise<{ urls: Assets; files: [string, FileHandler][] }> {
  const load = async ([name, type, source]: readonly [string, string, URL]) => {
    return asset(name, type, await readFile(source))
  }
  const [css, reader, trial] = await Promise.all([
    readFile(ASSETS.style[2], 'utf8'),
    load(ASSETS.reader),
    load(ASSETS.trial),
  ])
  const font = asset(TEXT_FACE.name, 'font/woff2', TEXT_FACE.file)
  // The same URL as in the page's preload, or browsers would load the font twice.
  const [name, type] = ASSETS.style
  const style = asset(name, type, Buffer.from(COLORS_CSS + css.replace(TEXT_FACE.name, font.url)))
  return {
    urls: { style: style.url, reader: reader.url, trial: trial.url, font: font.url },
    files: [style, reader, trial, font].map(({ path, handler }) => [path, handler]),
  }
}

/** The file is immutable under the URL with its hash; under any other URL it is cached for a minute. */
function asset(name: string, type: string, body: Buffer) {
  const path = `/docs/assets/${name}`
  const file = buildFile(body, type, CACHE_MINUTE)
  const version = versionOf(body)
  const lasting = { body, headers: { ...file.headers, 'cache-control': CACHE_YEAR } }
  const handler: FileHandler = async (request, response) => {
    const isCurrent = request.url?.endsWith(`?v=${version}`)
    return sendFile(request, response, isCurrent ? lasting : file)
  }
  return { path, handler, url: `${path}?v=${version}` }
}

function jsonFile(content: unknown): StaticFile {
  return buildFile(Buffer.from(JSON.stringify(content)), JSON_TYPE, CACHE_MINUTE)
}

function packageFile(): StaticFile {
  return buildFile(packCommandLine(), 'application/gzip', CACHE_MINUTE)
}

function readPackage(file: string): string {
  return readFileSync(new URL(`../../packages/${file}`, import.meta.url), 'utf8')
}

/** The client and the types of the API in one file. */
function typedClient(): string {
  const client = readPackage('client/troco.ts').replace(
    /^(import type \{[^}]*\}|export type \*) from '.*'\n/gm,
    '',
  )
  return `${client.trimEnd()}\n\n${readPackage('client/api.ts')}`
}

/** The client without types, for projects that do not compile. */
function plainClient(): string {
  return stripTypeScriptTypes(typedClient())
    .replace(/^ +$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
}

function textFile(text: string, type = 'text/plain'): StaticFile {
  return buildFile(Buffer.from(text), `${type}; charset=utf-8`, CACHE_MINUTE)
}

function pageFile(text: string): StaticFile {
  const file = buildFile(Buffer.from(text), 'text/html; charset=utf-8', CACHE_MINUTE)
  return { ...file, headers: { ...file.headers, 'content-security-policy': PAGE_POLICY } }
}

function buildFile(body: Buffer, type: string, cacheControl: string): StaticFile {
  const digest = createHash('sha256').update(body).digest('base64url')
  const headers = { 'content-type': type, 'cache-control': cacheControl, etag: `"${digest}"` }
  return { body, headers }
}

/** Builds the file at its first request. */
function lazily(build: () => StaticFile): FileHandler {
  let file: StaticFile | undefined
  return async (request, response) => {
    file ??= build()
    return sendFile(request, response, file)
  }
}

async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  file: StaticFile,
): Promise<void> {
  const { body } = file
  const headers = { ...file.headers }
  const { 'content-type': type = '', etag = '' } = headers
  const isCompressible = isWorthCompressing(type, body.byteLength)
  const accepted = [request.headers['accept-encoding'] ?? ''].flat().join(',')
  const encoding = isCompressible ? chooseEncoding(accepted, ['gzip']) : null
  if (isCompressible) headers.vary = 'Accept-Encoding'
  if (encoding) headers.etag = `W/${etag}`
  if (isNamed(etag, request.headers['if-none-match'])) {
    response.writeHead(304, headers).end()
    return
  }
  if (encoding) {
    headers['content-encoding'] = encoding
    file.compressed ??= compress(body, { level: constants.Z_BEST_COMPRESSION })
  }
  const sent = encoding ? await file.compressed : body
  response.writeHead(200, { ...headers, 'content-length': sent?.byteLength ?? 0 }).end(sent)
}
