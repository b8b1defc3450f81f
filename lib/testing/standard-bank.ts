import type { IncomingMessage } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { BankProfile } from '#lib/banks/api-pix/profiles.ts'
import { PROFILES } from '#lib/banks/api-pix/profiles.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { Authority } from '#lib/testing/authority.ts'

type Json = Record<string, unknown>

export interface BankRequest {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  text: string
  body: Json
}

/** A response of the bank. `text` instead of `body`: not JSON. Null: none, the connection stays open. */
export type BankResponse = { status: number; body?: unknown; text?: string; headers?: Json } | null

interface Payment extends Json {
  endToEndId: string
  horario: string
  txid?: string
  devolucoes: Json[]
}

export const RECEIVING_KEY = 'pix@example.com'
export const CLIENT = {
  client_id: 'client-of-the-shop',
  client_secret: 'canary-secret-of-the-shop',
}

/** Shared by all banks of this process: openssl takes longer than most tests. */
let issued: ReturnType<typeof issueCertificates> | undefined
const certificates = () => (issued ??= issueCertificates())

/** A small bank that speaks API Pix over mTLS, in this process. Its behavior is that of the standard. */
export class StandardBank {
  readonly requests: BankRequest[] = []
  readonly charges = new Map<string, Json>()
  readonly payments: Payment[] = []
  readonly tokens: string[] = []
  /** Responses of the next calls that are not about a token, in turn; undefined: as the standard has it. */
  readonly script: (BankResponse | undefined)[] = []
  tokenScript: (BankResponse | undefined)[] = []
  /** Changes each response of the standard. */
  deform: (body: Json) => unknown = body => body
  expiresIn: unknown = 3_600
  pageMax = 3
  /** How far the clock of its responses is ahead of this machine's. */
  clockMs = 0
  isHanging = false
  private readonly server: Server
  private readonly revoked = new Set<string>()

  constructor() {
    const { bank, authority } = certificates()
    const options = { ...bank, ca: authority, requestCert: true }
    this.server = createServer(
      { ...options, rejectUnauthorized: true },
      async (request, response) => {
        const reply = await this.answer(request)
        if (reply === null || this.isHanging) return
        const { status, body, text = JSON.stringify(body), headers = {} } = reply
        const date = new Date(Date.now() + this.clockMs).toUTCString()
        response.writeHead(status, { date, ...headers } as Record<string, string>).end(text)
      },
    )
  }

  async open(): Promise<this> {
    await new Promise<void>(resolve => this.server.listen(0, '127.0.0.1', resolve))
    return this
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise(resolve => this.server.close(resolve))
  }

  get url(): string {
    return `https://localhost:${(this.server.address() as AddressInfo).port}`
  }

  /** Connection of an adapter to this bank. */
  connection(changes: Json = {}) {
    const { cert: certificate, key: private_key } = certificates().client
    const settings = {
      api_url: `${this.url}/v2`,
      token_url: `${this.url}/oauth/token`,
      trusted_certificates: certificates().authority,
    }
    return {
      id: newId(),
      name: 'Banco Azul',
      kind: 'api_pix' as const,
      environment: 'production' as const,
      profile: 'standard',
      settings,
      credentials: JSON.stringify({ ...CLIENT, certificate, private_key }),
      receivingKeys: [RECEIVING_KEY],
      payingKey: null,
      ...changes,
    }
  }

  /** Options of a client that calls this bank. */
  clientOptions(profile: Partial<BankProfile> = {}, credentials: Json = {}) {
    const { clientId, clientSecret } = {
      clientId: CLIENT.client_id,
      clientSecret: CLIENT.client_secret,
    }
    const standard = PROFILES.standard as BankProfile
    return {
      profile: { ...standard, requestsPerSecond: 1_000, ...profile },
      apiUrl: `${this.url}/v2/`,
      tokenUrl: `${this.url}/oauth/token`,
      credentials: { clientId, clientSecret, identity: certificates().client, ...credentials },
      trusted: certificates().authority,
    }
  }

  /** From now on tokens issued before are refused. */
  revokeTokens(): void {
    for (const token of this.tokens) this.revoked.add(token)
  }

  pay(txid: string, amount: string, paidAt = new Date()): Payment {
    const payment = this.receive(amount, paidAt, txid)
    const charge = this.charges.get(txid)
    if (charge) Object.assign(charge, { status: 'CONCLUIDA', pix: [payment] })
    return payment
  }

  receive(amount: string, paidAt: Date, txid?: string): Payment {
    const payment = {
      endToEndId: newEndToEndId(paidAt),
      valor: amount,
      horario: paidAt.toISOString(),
      chave: RECEIVING_KEY,
      ...(txid && { txid }),
      devolucoes: [],
    }
    this.payments.push(payment)
    return payment
  }

  settleRefunds(status = 'DEVOLVIDO', motivo?: string): void {
    for (const refund of this.payments.flatMap(({ devolucoes }) => devolucoes))
      if (refund.status === 'EM_PROCESSAMENTO') Object.assign(refund, { status, motivo })
  }

  private async answer(incoming: IncomingMessage): Promise<BankResponse> {
    const { pathname: path, searchParams: query } = new URL(incoming.url ?? '', this.url)
    const text = await readText(incoming)
    const { method = '', headers } = incoming
    const request = { method, path, query, headers, text, body: parse(text) }
    this.requests.push(request)
    if (path === '/oauth/token') return this.tokenScript.shift() ?? this.issueToken()
    const token = headers.authorization?.replace('Bearer ', '') ?? ''
    const scripted = this.script.shift()
    if (scripted !== undefined) return scripted
    if (!this.tokens.includes(token) || this.revoked.has(token)) return problem(401, 'AcessoNegado')
    const result = this.serve(request)
    return result && result.status < 300
      ? { ...result, body: this.deform(result.body as Json) }
      : result
  }

  private issueToken(): BankResponse {
    const access_token = `token-${removeHyphens(newId())}`
    this.tokens.push(access_token)
    return { status: 200, body: { access_token, token_type: 'Bearer', expires_in: this.expiresIn } }
  }

  private serve({ method, path, query, body }: BankRequest): BankResponse {
    const [, , resource, id = '', , refundId = ''] = path.split('/').map(decodeURIComponent)
    if (resource === 'cob') return this.serveCharge(method, id, body)
    if (resource === 'webhook') return { status: 200, body: { webhookUrl: body.webhookUrl } }
    if (refundId) return this.serveRefund(method, id, refundId, body)
    if (!id) return this.list(query)
    const payment = this.payments.find(({ endToEndId }) => endToEndId === id)
    return payment ? { status: 200, body: payment } : problem(404, 'PixNaoEncontrado')
  }

  private serveCharge(method: string, txid: string, body: Json): BankResponse {
    const known = this.charges.get(txid)
    if (method !== 'PUT' && !known) return problem(404, 'CobNaoEncontrado')
    if (method === 'GET') return { status: 200, body: known }
    if (known && known.status !== 'ATIVA') return problem(400, 'CobOperacaoInvalida')
    const location = `pix.example.test/qr/v2/${txid}`
    const calendario = { criacao: new Date().toISOString(), ...(body.calendario as Json) }
    const created = { ...body, calendario, txid, revisao: 0, location, status: 'ATIVA' }
    const charge = known ? Object.assign(known, body) : created
    this.charges.set(txid, charge)
    return { status: known ? 200 : 201, body: charge }
  }

  private serveRefund(method: string, endToEndId: string, id: string, body: Json): BankResponse {
    const payment = this.payments.find(each => each.endToEndId === endToEndId)
    if (!payment) return problem(404, 'PixNaoEncontrado')
    const known = payment.devolucoes.find(refund => refund.id === id)
    if (method === 'GET')
      return known ? { status: 200, body: known } : problem(404, 'PixDevolucaoNaoEncontrada')
    if (known) return problem(400, 'PixDevolucaoInvalida', [{ propriedade: 'id', razao: 'usado' }])
    const rtrId = newEndToEndId().replace('E', 'D')
    const refund = { id, rtrId, valor: body.valor, status: 'EM_PROCESSAMENTO' }
    payment.devolucoes.push(refund)
    return { status: 201, body: refund }
  }

  private list(query: URLSearchParams): BankResponse {
    const number = (name: string) => Number(query.get(`paginacao.${name}`))
    const [from, to] = [query.get('inicio') ?? '', query.get('fim') ?? ''].map(
      text => new Date(text),
    )
    if (!from || !to || from > to) return problem(400, 'PixConsultaInvalida')
    const isListed = ({ horario, txid }: Payment) =>
      new Date(horario) >= from && new Date(horario) <= to && txid === (query.get('txid') ?? txid)
    const found = this.payments.filter(isListed)
    const size = Math.min(this.pageMax, number('itensPorPagina'))
    const page = number('paginaAtual')
    const paginacao = {
      paginaAtual: page,
      itensPorPagina: size,
      quantidadeTotalDeItens: found.length,
      quantidadeDePaginas: Math.ceil(found.length / size),
    }
    const parametros = { inicio: query.get('inicio'), fim: query.get('fim'), paginacao }
    return { status: 200, body: { parametros, pix: found.slice(page * size, (page + 1) * size) } }
  }
}

export function problem(status: number, name: string, violacoes: Json[] = []): BankResponse {
  const type = `https://pix.bcb.gov.br/api/v2/error/${name}`
  const body = { type, title: name, status, correlationId: 'c0ffee', violacoes }
  return { status, body, headers: { 'content-type': 'application/problem+json' } }
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function parse(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

function issueCertificates() {
  const authority = new Authority()
  try {
    const [bank, client] = [authority.issue(), authority.issue('shop')]
    return { authority: authority.cert, bank, client }
  } finally {
    authority.close()
  }
}
