import { timingSafeEqual } from 'node:crypto'
import { makeHexId } from './formats.ts'
import type { Settings } from './settings.ts'

interface Token {
  scopes: string[]
  expiresAt: number
}

type TokenCheck = 'ok' | 'invalid' | 'insufficient'

/** OAuth 2.0 with client credentials. Lifetimes follow the true time, not the bank's clock. */
export class Tokens {
  readonly #settings: Settings
  readonly #tokens = new Map<string, Token>()

  constructor(settings: Settings) {
    this.#settings = settings
  }

  /** Responds to a request for a token, whose body is JSON or a form. */
  issue(authorization: string | undefined, contentType: string | undefined, text: string) {
    const fields = readFields(contentType, text)
    if (!fields) return refuseToken(400, 'invalid_request', 'The body is not readable')
    if (fields.grant_type !== 'client_credentials')
      return refuseToken(400, 'unsupported_grant_type', 'Use client_credentials')
    if (!this.#hasCredentials(authorization, fields))
      return refuseToken(401, 'invalid_client', 'Invalid or inactive credentials')
    const wanted = fields.scope?.split(' ').filter(Boolean) ?? this.#settings.scopes
    if (wanted.some(scope => !this.#settings.scopes.includes(scope)))
      return refuseToken(400, 'invalid_scope', 'The application lacks a requested scope')
    const token = makeHexId(32)
    const expires_in = this.#settings.tokenSeconds
    this.#tokens.set(token, { scopes: wanted, expiresAt: Date.now() + expires_in * 1000 })
    const body = { access_token: token, token_type: 'Bearer', expires_in, scope: wanted.join(' ') }
    return { status: 200, body }
  }

  check(authorization: string | undefined, scope: string): TokenCheck {
    const [, text = ''] = /^Bearer (\S+)$/i.exec(authorization ?? '') ?? []
    const token = this.#tokens.get(text)
    if (!token || token.expiresAt <= Date.now()) return 'invalid'
    const isGranted = token.scopes.includes(scope) && this.#settings.scopes.includes(scope)
    return isGranted ? 'ok' : 'insufficient'
  }

  revokeAll(): void {
    this.#tokens.clear()
  }

  #hasCredentials(authorization: string | undefined, fields: Record<string, string>): boolean {
    const { clientId, clientSecret, tokenAuth } = this.#settings
    const [, basic = ''] = /^Basic (\S+)$/i.exec(authorization ?? '') ?? []
    const given =
      tokenAuth === 'basic'
        ? Buffer.from(basic, 'base64')
        : Buffer.from(`${fields.client_id}:${fields.client_secret}`)
    const expected = Buffer.from(`${clientId}:${clientSecret}`)
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
}

function readFields(contentType = '', text: string): Record<string, string> | null {
  if (contentType.startsWith('application/x-www-form-urlencoded'))
    return Object.fromEntries(new URLSearchParams(text))
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function refuseToken(status: number, error: string, error_description: string) {
  return { status, body: { error, error_description } }
}
