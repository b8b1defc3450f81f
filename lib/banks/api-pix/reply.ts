/** What came of a call of the bank, before it is judged. */
export type Reply = {
  /** The call failed for lack of a token, so it was not made. */
  isAboutToken?: boolean
  retryAfterMs?: number
} & (
  | {
      kind: 'response'
      status: number
      /** Undefined if the body is not JSON; its text, if a text was asked for. */
      body: unknown
    }
  /** `isSent`: the bank may have received the call. */
  | { kind: 'failure'; isSent: boolean; code: string }
)

/** Code of a call that this process postponed to keep the bank's limit of the rate. */
export const PACED = 'PACED'

/** Any 2xx: banks answer 200 for 201 and the reverse. Without JSON it says nothing. */
export function isSuccess(reply: Reply): boolean {
  return reply.kind === 'response' && isStatusOk(reply.status) && reply.body !== undefined
}

export function isStatusOk(status: number): boolean {
  return status >= 200 && status <= 299
}

export function bodyOf(reply: Reply): unknown {
  return reply.kind === 'response' ? reply.body : undefined
}
