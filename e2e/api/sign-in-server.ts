import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { AppRouteRouteModule } from 'next/dist/server/route-modules/app-route/module.js'
import { NextRequest } from 'next/server.js'
import * as authRoute from '#app/api/auth/[...nextauth]/route.next.ts'
import { env } from '#lib/core/settings.ts'
import { createFront } from '#lib/http/front.ts'

const PREFIX = '/api/auth/'

/** Runs the sign-in route as Next does, with Next's own `headers()` and `cookies()`. */
function makeAuthRoute() {
  const page = '/api/auth/[...nextauth]/route'
  const route = new AppRouteRouteModule({
    definition: {
      kind: 'APP_ROUTE',
      page,
      pathname: '/api/auth/[...nextauth]',
      filename: 'route',
      bundlePath: `app${page}`,
    },
    userland: () => authRoute as never,
    resolvedPagePath: 'app/api/auth/[...nextauth]/route.next.ts',
    nextConfigOutput: undefined,
    distDir: '',
    relativeProjectDir: '',
  } as never)
  return async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/' } = incoming
    if (!url.startsWith(PREFIX)) return void response.writeHead(404).end()
    const entries = Object.entries(incoming.headers)
    const headers = new Headers(entries.map(([name, value]) => [name, String(value)]))
    const body = method === 'POST' ? Readable.toWeb(incoming) : null
    const init = { method, headers, body: body as never, duplex: 'half' } as const
    const nextRequest = new NextRequest(new URL(url, env().PUBLIC_URL), init)
    const nextauth = nextRequest.nextUrl.pathname.slice(PREFIX.length).split('/')
    const result = await route.handle(nextRequest, {
      params: { nextauth },
      previewProps: { previewModeId: '', previewModeEncryptionKey: '', previewModeSigningKey: '' },
      renderOpts: { experimental: {}, onClose: () => {}, waitUntil: () => {} },
      sharedContext: { buildId: '', deploymentId: '' },
    } as never)
    response.statusCode = result.status
    for (const [name, value] of result.headers) {
      if (name !== 'set-cookie') response.setHeader(name, value)
    }
    const cookies = result.headers.getSetCookie()
    if (cookies.length > 0) response.setHeader('set-cookie', cookies)
    response.end(Buffer.from(await result.arrayBuffer()))
  }
}

export interface SignInServer {
  port: number
  url: string
  close: () => void
}

/** Starts the front with the sign-in route, without pages. Requires TRUST_PROXY=1. */
export async function startSignInServer(): Promise<SignInServer> {
  const front = await createFront(makeAuthRoute())
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  const { port } = front.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    close: () => {
      front.closeAllConnections()
      front.close()
    },
  }
}

/** Browser with its own cookies, at an address that the server trusts as that of its proxy. */
export class SignInBrowser {
  readonly cookies = new Map<string, string>()
  readonly #url: string
  address: string
  #csrfToken = ''

  constructor({ url }: { url: string }, address: string) {
    this.#url = url
    this.address = address
  }

  /** Returns a browser at another address with the same cookies. */
  copyTo(address: string): SignInBrowser {
    const copy = new SignInBrowser({ url: this.#url }, address)
    copy.#csrfToken = this.#csrfToken
    for (const [name, value] of this.cookies) copy.cookies.set(name, value)
    return copy
  }

  async signIn(fields: Record<string, string>) {
    if (!this.#csrfToken) {
      const { body } = await this.fetch('GET', '/api/auth/csrf')
      this.#csrfToken = body.csrfToken
    }
    const form = new URLSearchParams({ ...fields, csrfToken: this.#csrfToken, json: 'true' })
    const query = 'challenge' in fields ? '?step' : ''
    return this.fetch('POST', `/api/auth/callback/credentials${query}`, form)
  }

  async fetch(method: string, path: string, content?: URLSearchParams | object) {
    const isForm = content instanceof URLSearchParams
    const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json'
    const response = await fetch(this.#url + path, {
      method,
      redirect: 'manual',
      headers: {
        cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        origin: env().PUBLIC_URL,
        'x-forwarded-for': this.address,
        ...(content ? { 'content-type': type } : {}),
      },
      ...(content ? { body: isForm ? content.toString() : JSON.stringify(content) } : {}),
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const end = pair.indexOf('=')
      this.cookies.set(pair.slice(0, end), pair.slice(end + 1))
    }
    const text = await response.text()
    const { status, headers } = response
    return { status, headers, text, body: text.startsWith('{') ? JSON.parse(text) : null }
  }
}
