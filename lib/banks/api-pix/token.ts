import { fieldsOf } from '#lib/banks/api-pix/json.ts'
import type { Reply } from '#lib/banks/api-pix/reply.ts'

/** Time before the end of a token at which it is renewed; of a shorter one, half its life. */
const RENEWED_BEFORE_MS = 60_000
/** Life of a token whose response names none. */
const DEFAULT_LIFE_S = 300

export interface Token {
  token: string
  renewAt: number
}
/** A token, or the reply of the bank that contains none. */
export type TokenReply = Token | { token: null; reply: Reply }

/**
 * Caches the token of a connection. All callers share one request for a token, which no caller's
 * signal ends.
 */
export class TokenCache {
  private readonly request: () => Promise<Reply>
  private readonly now: () => number
  private current: Token | null = null
  private pending: Promise<TokenReply> | null = null

  constructor(request: () => Promise<Reply>, now = () => performance.now()) {
    this.request = request
    this.now = now
  }

  /** `refused`: token that the bank refused; another caller may have renewed it since. */
  async get(refused?: Token): Promise<TokenReply> {
    if (refused && this.current === refused) this.current = null
    if (this.current && this.now() < this.current.renewAt) return this.current
    this.pending ??= this.renew().finally(() => {
      this.pending = null
    })
    return this.pending
  }

  private async renew(): Promise<TokenReply> {
    const reply = await this.request()
    const { access_token: token, expires_in: life } =
      reply.kind === 'response' ? fieldsOf(reply.body) : {}
    if (reply.kind === 'failure' || reply.status > 299 || typeof token !== 'string' || !token)
      return { token: null, reply }
    const lifeMs = (Number(life) || DEFAULT_LIFE_S) * 1_000
    const usedMs = Math.max(lifeMs - RENEWED_BEFORE_MS, lifeMs / 2)
    this.current = { token, renewAt: this.now() + usedMs }
    return this.current
  }
}
