/** Starts Troco with its simulated bank for tests, or joins the one that another test file has started. */
export function startTroco(options?: {
  /** Checkout of Troco with its packages. Default: the one that holds this file. */
  folder?: string
}): Promise<TrocoServer>

export interface TrocoServer {
  /** Address of the server, for `new Troco({ url, token })`. */
  url: string
  /** Address of the API: `{url}/api`. */
  api: string
  /** Opens an account of its own: tests that have one each may run at the same time. */
  account(options?: { balance?: number; name?: string }): Promise<TestAccount>
  /** Lets the server end, 10 s after its last user. The end of this process does the same. */
  close(): Promise<void>
}

type Resource = Record<string, unknown> & { id: string; status: string }

export interface TestAccount {
  id: string
  /** Test token with all permissions. */
  token: string
  /** Secret that signs the webhooks of the account. */
  webhookSecret: string
  url: string
  api: string
  /** By the id or the reference of the charge. */
  pay(charge: string): Promise<Resource>
  expire(charge: string): Promise<Resource>
  fail(charge: string): Promise<Resource>
  /** Opens a dispute of the whole charge, or of a part. */
  dispute(charge: string, amount?: number): Promise<Resource>
  closeDispute(id: string, outcome: 'won' | 'lost'): Promise<Resource>
  /** Decides a refund that is pending, such as one of a charge whose `client_email` begins with `hold@`. */
  complete(refund: string): Promise<Resource>
  refuse(refund: string): Promise<Resource>
  approve(withdrawal: string): Promise<Resource>
  reject(withdrawal: string, reason?: string): Promise<Resource>
  /** The receiving bank sends an approved withdrawal back, or a part of it. */
  returnWithdrawal(withdrawal: string, amount?: number): Promise<Resource>
  /** While the bank is down, charges, refunds and withdrawals of this account are refused with 503. */
  bank: { down(): Promise<unknown>; up(): Promise<unknown> }
  /**
   * Lets time pass for this account: charges expire, webhooks are sent again, idempotency keys end. What has
   * happened keeps its times. Such as `90s`, `5m`, `25h`, `2d`.
   */
  clock: { advance(duration: string): Promise<unknown> }
  /** Makes the next request of this account to a path fail once. */
  fault(fault: {
    /** Such as `/transactions` or `/transactions/{id}/refunds`. */
    path: string
    method?: string
    /** A status; or the connection ends without a response, before or after the request took effect. */
    once: number | 'timeoutBefore' | 'timeoutAfterCommit'
  }): Promise<unknown>
  webhooks: {
    /** Waits for the next webhook, of a type. Each is returned once. */
    next(type?: string, options?: { timeoutMs?: number }): Promise<TestWebhook>
    /** Sends webhooks on to the program under test, whose response decides about retries. */
    forwardTo(url: string): Promise<unknown>
    /** Sends the next webhook twice. */
    duplicate(count?: number): Promise<unknown>
    /** Sends the next webhook after the one that follows it. */
    reorder(count?: number): Promise<unknown>
    /** Loses the next webhook. */
    drop(count?: number): Promise<unknown>
    /** Sends a forged copy before the next webhook, which the program must refuse. */
    tamper(count?: number): Promise<unknown>
  }
  /** Throws if the account's books do not add up. */
  assertLedger(): Promise<void>
}

export interface TestWebhook {
  event: Record<string, unknown> & { id: string; type: string }
  headers: Record<string, string>
  /** The bytes that were signed. */
  body: string
}
