import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export const OPENID_CLIENT = { id: 'troco', secret: 'only-for-this-test' }

export interface Said {
  sub: string
  email?: string
  email_verified?: unknown
  /** Overrides of the token's standard claims. */
  iss?: string
  aud?: string
  nonce?: string
}

interface OpenidProvider {
  issuer: string
  /** Sets the user who is signed in at the provider from now on. */
  signIn: (who: Said) => void
  /** Sets claims that only the userinfo endpoint returns. */
  tellApart: (said: object) => void
  close: () => Promise<void>
}

interface Asked {
  nonce: string
  challenge: string
  redirect: string
}

/** A minimal provider that signs everyone in at once and validates its client's requests. */
export async function openOpenidProvider(port = 0): Promise<OpenidProvider> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = { ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }
  const codes = new Map<string, Asked>()
  let who: Said = { sub: 'nobody' }
  let apart: object = {}
  let issuer = ''

  const token = (asked: Asked) => {
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: issuer,
      aud: OPENID_CLIENT.id,
      iat: now,
      exp: now + 60,
      nonce: asked.nonce,
    }
    const parts = [
      { alg: 'RS256', kid: 'one' },
      { ...claims, ...who },
    ]
    const text = parts
      .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`
  }
  const trade = async (request: IncomingMessage) => {
    const form = new URLSearchParams(await bodyOf(request))
    const asked = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const login = Buffer.from(`${OPENID_CLIENT.id}:${OPENID_CLIENT.secret}`).toString('base64')
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isRight =
      asked?.challenge === verifier &&
      asked.redirect === form.get('redirect_uri') &&
      request.headers.authorization === `Basic ${login}`
    if (!asked || !isRight) return null
    return { id_token: token(asked), access_token: who.sub, token_type: 'Bearer', expires_in: 60 }
  }

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', issuer)
    const said = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (pathname === '/.well-known/openid-configuration') return said(200, describe(issuer))
    if (pathname === '/keys') return said(200, { keys: [key] })
    if (pathname === '/userinfo') return said(200, { ...who, ...apart })
    if (pathname === '/token') {
      const traded = await trade(request)
      return traded ? said(200, traded) : said(400, { error: 'invalid_grant' })
    }
    const asked = (name: string) => searchParams.get(name) ?? ''
    const code = randomUUID()
    const redirect = asked('redirect_uri')
    codes.set(code, { nonce: asked('nonce'), challenge: asked('code_challenge'), redirect })
    const back = new URLSearchParams({ code, state: asked('state') })
    response.writeHead(302, { location: `${redirect}?${back}` }).end()
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    issuer,
    signIn: someone => {
      who = someone
    },
    tellApart: said => {
      apart = said
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function describe(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
