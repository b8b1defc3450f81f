import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export const OPENID_CLIENT = { id: 'troco', secret: 'only-for-this-test' }

export interface ProviderClaims {
  sub: string
  email?: string
  email_verified?: unknown
  /** Overrides of the token's standard claims. */
  iss?: string
  aud?: string
  nonce?: string
  auth_time?: unknown
}

interface OpenidProvider {
  issuer: string
  /** Sets the user that the provider signs in from now on, asked for credentials at this time. */
  signIn: (claims: ProviderClaims, authenticatedAt?: Date) => void
  /** Sets claims that only the userinfo endpoint returns. */
  setUserinfo: (claims: object) => void
  close: () => Promise<void>
}

interface AuthorizationRequest {
  /** Present if the request has `max_age`, as the specification demands. */
  authTime: { auth_time?: number }
  nonce: string
  challenge: string
  redirect: string
}

/**
 * Opens a minimal OpenID provider that validates Troco's requests. It signs in without asking; if a
 * request demands credentials, it acts as if the user had entered them.
 */
export async function openOpenidProvider(port = 0): Promise<OpenidProvider> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = { ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }
  const codes = new Map<string, AuthorizationRequest>()
  let user: ProviderClaims = { sub: 'nobody' }
  let authenticatedAt = 0
  let userinfo: object = {}
  let issuer = ''

  const issueIdToken = (authorization: AuthorizationRequest) => {
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: issuer,
      aud: OPENID_CLIENT.id,
      iat: now,
      exp: now + 60,
      nonce: authorization.nonce,
    }
    const parts = [
      { alg: 'RS256', kid: 'one' },
      { ...claims, ...authorization.authTime, ...user },
    ]
    const text = parts
      .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`
  }
  const exchangeCode = async (request: IncomingMessage) => {
    const form = new URLSearchParams(await readBody(request))
    const authorization = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const login = Buffer.from(`${OPENID_CLIENT.id}:${OPENID_CLIENT.secret}`).toString('base64')
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isValid =
      authorization?.challenge === verifier &&
      authorization.redirect === form.get('redirect_uri') &&
      request.headers.authorization === `Basic ${login}`
    if (!authorization || !isValid) return null
    return {
      id_token: issueIdToken(authorization),
      access_token: user.sub,
      token_type: 'Bearer',
      expires_in: 60,
    }
  }

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', issuer)
    const respond = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (pathname === '/.well-known/openid-configuration')
      return respond(200, buildDiscoveryDocument(issuer))
    if (pathname === '/keys') return respond(200, { keys: [key] })
    if (pathname === '/userinfo') return respond(200, { ...user, ...userinfo })
    if (pathname === '/token') {
      const tokens = await exchangeCode(request)
      return tokens ? respond(200, tokens) : respond(400, { error: 'invalid_grant' })
    }
    const readParameter = (name: string) => searchParams.get(name) ?? ''
    const code = randomUUID()
    const redirect = readParameter('redirect_uri')
    const now = Math.floor(Date.now() / 1000)
    const maxAge = searchParams.get('max_age')
    const isTooOld = maxAge !== null && now - authenticatedAt > Number(maxAge)
    if (isTooOld || readParameter('prompt') === 'login') authenticatedAt = now
    codes.set(code, {
      authTime: maxAge === null ? {} : { auth_time: authenticatedAt },
      nonce: readParameter('nonce'),
      challenge: readParameter('code_challenge'),
      redirect,
    })
    const parameters = new URLSearchParams({ code, state: readParameter('state') })
    response.writeHead(302, { location: `${redirect}?${parameters}` }).end()
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    issuer,
    signIn: (claims, at = new Date()) => {
      user = claims
      authenticatedAt = Math.floor(at.getTime() / 1000)
    },
    setUserinfo: claims => {
      userinfo = claims
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function buildDiscoveryDocument(issuer: string) {
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

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
