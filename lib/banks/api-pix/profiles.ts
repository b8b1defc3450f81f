import type { Environment } from '#lib/banks/schema.ts'

/** What fills an extra header or query parameter. */
export type Filling = 'client_id' | 'app_key' | 'random_uuid'

/** How a bank deviates from the rest. Each was tried against a test bank only, never against the bank. */
export interface BankProfile {
  /** Addresses; absent where the operator must enter them. */
  apiUrl: Partial<Record<Environment, string>>
  tokenUrl: Partial<Record<Environment, string>>
  /** Where the token request has the client's id and secret. */
  tokenAuth: 'basic' | 'form'
  tokenBody: 'form' | 'json'
  /** Scopes that the token request names; empty where the bank grants those of the contract. */
  scopes: readonly string[]
  /** In every call of the API, the token request excepted. */
  headers: Readonly<Record<string, Filling>>
  query: Readonly<Record<string, Filling>>
  /** Whether times in queries may have milliseconds. */
  hasMilliseconds: boolean
  /** Payments on a page of a list. */
  pageSize: number
  /** Limit of each process. */
  requestsPerSecond: number
  payoutsInFlight: number
}

const SCOPES = ['cob.read', 'cob.write', 'pix.read', 'pix.write', 'webhook.read', 'webhook.write']

/** Banco Central's document where it decides, else the most cautious choice. */
const STANDARD: BankProfile = {
  apiUrl: {},
  tokenUrl: {},
  tokenAuth: 'basic',
  tokenBody: 'form',
  scopes: SCOPES,
  headers: {},
  query: {},
  hasMilliseconds: false,
  pageSize: 100,
  requestsPerSecond: 10,
  payoutsInFlight: 1,
}

/** Profiles by the name that `bank add --profile` takes. */
export const PROFILES: Readonly<Record<string, BankProfile>> = {
  standard: STANDARD,
  efi: {
    ...STANDARD,
    apiUrl: both('https://pix.api.efipay.com.br/v2', 'https://pix-h.api.efipay.com.br/v2'),
    tokenUrl: both(
      'https://pix.api.efipay.com.br/oauth/token',
      'https://pix-h.api.efipay.com.br/oauth/token',
    ),
    tokenBody: 'json',
    scopes: [],
    hasMilliseconds: true,
    pageSize: 1_000,
    requestsPerSecond: 100,
  },
  'banco-do-brasil': {
    ...STANDARD,
    apiUrl: both('https://api-pix.bb.com.br/pix/v2', 'https://api-pix.hm.bb.com.br/pix/v2'),
    tokenUrl: both('https://oauth.bb.com.br/oauth/token', 'https://oauth.hm.bb.com.br/oauth/token'),
    query: { 'gw-dev-app-key': 'app_key' },
  },
  itau: {
    ...STANDARD,
    apiUrl: { production: 'https://secure.api.itau/pix_recebimentos/v2' },
    tokenUrl: { production: 'https://sts.itau.com.br/as/token.oauth2' },
    tokenAuth: 'form',
    scopes: [],
    headers: { 'x-correlationID': 'random_uuid' },
  },
  inter: {
    ...STANDARD,
    apiUrl: both(
      'https://cdpj.partners.bancointer.com.br/pix/v2',
      'https://cdpj-sandbox.partners.uatinter.co/pix/v2',
    ),
    tokenUrl: both(
      'https://cdpj.partners.bancointer.com.br/oauth/v2/token',
      'https://cdpj-sandbox.partners.uatinter.co/oauth/v2/token',
    ),
    tokenAuth: 'form',
  },
  sicoob: {
    ...STANDARD,
    apiUrl: { production: 'https://api.sicoob.com.br/pix/api/v2' },
    tokenUrl: {
      production: 'https://auth.sicoob.com.br/auth/realms/cooperado/protocol/openid-connect/token',
    },
    tokenAuth: 'form',
    headers: { client_id: 'client_id' },
  },
  santander: {
    ...STANDARD,
    apiUrl: both(
      'https://trust-pix.santander.com.br/api/v1',
      'https://trust-pix-h.santander.com.br/api/v1',
    ),
    tokenUrl: both(
      'https://trust-pix.santander.com.br/oauth/token?grant_type=client_credentials',
      'https://trust-pix-h.santander.com.br/oauth/token?grant_type=client_credentials',
    ),
    tokenAuth: 'form',
    scopes: [],
  },
  sicredi: {
    ...STANDARD,
    apiUrl: both(
      'https://api-pix.sicredi.com.br/api/v2',
      'https://api-pix-h.sicredi.com.br/api/v2',
    ),
    tokenUrl: both(
      'https://api-pix.sicredi.com.br/oauth/token',
      'https://api-pix-h.sicredi.com.br/oauth/token',
    ),
  },
  bradesco: {
    ...STANDARD,
    apiUrl: both('https://qrpix.bradesco.com.br/v2', 'https://qrpix-h.bradesco.com.br/v2'),
    tokenUrl: both(
      'https://qrpix.bradesco.com.br/auth/server/oauth/token',
      'https://qrpix-h.bradesco.com.br/auth/server/oauth/token',
    ),
    scopes: [],
  },
}

function both(production: string, homologation: string): Record<Environment, string> {
  return { production, homologation }
}
