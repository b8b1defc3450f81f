import type { AccountlessEndpoint, Endpoint } from '#lib/http/endpoint.ts'

/** All route files by their path below /api. Types only: a browser loads none of them. */
export interface Routes {
  '/account': typeof import('#app/api/account/route.ts')
  '/admin/accounts': typeof import('#app/api/admin/accounts/route.ts')
  '/admin/accounts/[id]/activate': typeof import('#app/api/admin/accounts/[id]/activate/route.ts')
  '/admin/accounts/[id]/approval': typeof import('#app/api/admin/accounts/[id]/approval/route.ts')
  '/admin/accounts/[id]/charges/[charge_id]/document': typeof import('#app/api/admin/accounts/[id]/charges/[charge_id]/document/route.ts')
  '/admin/accounts/[id]/connections': typeof import('#app/api/admin/accounts/[id]/connections/route.ts')
  '/admin/accounts/[id]/disputes/[dispute_id]/answer': typeof import('#app/api/admin/accounts/[id]/disputes/[dispute_id]/answer/route.ts')
  '/admin/accounts/[id]/limits': typeof import('#app/api/admin/accounts/[id]/limits/route.ts')
  '/admin/accounts/[id]/suspend': typeof import('#app/api/admin/accounts/[id]/suspend/route.ts')
  '/admin/accounts/[id]/tokens/[token_id]/revoke': typeof import('#app/api/admin/accounts/[id]/tokens/[token_id]/revoke/route.ts')
  '/admin/accounts/[id]/tokens/revoke': typeof import('#app/api/admin/accounts/[id]/tokens/revoke/route.ts')
  '/admin/accounts/[id]/view': typeof import('#app/api/admin/accounts/[id]/view/route.ts')
  '/admin/accounts/[id]/write-offs': typeof import('#app/api/admin/accounts/[id]/write-offs/route.ts')
  '/admin/accounts/status': typeof import('#app/api/admin/accounts/status/route.ts')
  '/admin/audit': typeof import('#app/api/admin/audit/route.ts')
  '/admin/audit/export': typeof import('#app/api/admin/audit/export/route.ts')
  '/admin/banks': typeof import('#app/api/admin/banks/route.ts')
  '/admin/banks/[id]': typeof import('#app/api/admin/banks/[id]/route.ts')
  '/admin/banks/[id]/balance': typeof import('#app/api/admin/banks/[id]/balance/route.ts')
  '/admin/banks/[id]/check': typeof import('#app/api/admin/banks/[id]/check/route.ts')
  '/admin/banks/[id]/close': typeof import('#app/api/admin/banks/[id]/close/route.ts')
  '/admin/banks/[id]/credentials': typeof import('#app/api/admin/banks/[id]/credentials/route.ts')
  '/admin/banks/[id]/limits': typeof import('#app/api/admin/banks/[id]/limits/route.ts')
  '/admin/banks/[id]/money-out': typeof import('#app/api/admin/banks/[id]/money-out/route.ts')
  '/admin/banks/[id]/notices': typeof import('#app/api/admin/banks/[id]/notices/route.ts')
  '/admin/banks/[id]/settings': typeof import('#app/api/admin/banks/[id]/settings/route.ts')
  '/admin/banks/[id]/trial': typeof import('#app/api/admin/banks/[id]/trial/route.ts')
  '/admin/differences': typeof import('#app/api/admin/differences/route.ts')
  '/admin/differences/[id]': typeof import('#app/api/admin/differences/[id]/route.ts')
  '/admin/differences/[id]/corrections': typeof import('#app/api/admin/differences/[id]/corrections/route.ts')
  '/admin/differences/[id]/corrections/[correction_id]/approve': typeof import('#app/api/admin/differences/[id]/corrections/[correction_id]/approve/route.ts')
  '/admin/differences/[id]/corrections/[correction_id]/attachment': typeof import('#app/api/admin/differences/[id]/corrections/[correction_id]/attachment/route.ts')
  '/admin/differences/[id]/resolve': typeof import('#app/api/admin/differences/[id]/resolve/route.ts')
  '/admin/differences/export': typeof import('#app/api/admin/differences/export/route.ts')
  '/admin/health': typeof import('#app/api/admin/health/route.ts')
  '/admin/invitations': typeof import('#app/api/admin/invitations/route.ts')
  '/admin/invitations/[id]': typeof import('#app/api/admin/invitations/[id]/route.ts')
  '/admin/jobs/requeue': typeof import('#app/api/admin/jobs/requeue/route.ts')
  '/admin/orders/[id]/end': typeof import('#app/api/admin/orders/[id]/end/route.ts')
  '/admin/orders/[id]/end/confirm': typeof import('#app/api/admin/orders/[id]/end/confirm/route.ts')
  '/admin/people/[id]/password': typeof import('#app/api/admin/people/[id]/password/route.ts')
  '/admin/people/[id]/second-factor': typeof import('#app/api/admin/people/[id]/second-factor/route.ts')
  '/admin/tasks': typeof import('#app/api/admin/tasks/route.ts')
  '/balance/history': typeof import('#app/api/balance/history/route.ts')
  '/dashboard/account': typeof import('#app/api/dashboard/account/route.ts')
  '/dashboard/account/approval': typeof import('#app/api/dashboard/account/approval/route.ts')
  '/dashboard/account/approval/confirm': typeof import('#app/api/dashboard/account/approval/confirm/route.ts')
  '/dashboard/account/live': typeof import('#app/api/dashboard/account/live/route.ts')
  '/dashboard/audit': typeof import('#app/api/dashboard/audit/route.ts')
  '/dashboard/audit/export': typeof import('#app/api/dashboard/audit/export/route.ts')
  '/dashboard/bank/read': typeof import('#app/api/dashboard/bank/read/route.ts')
  '/dashboard/charges': typeof import('#app/api/dashboard/charges/route.ts')
  '/dashboard/charges/[id]/cancel': typeof import('#app/api/dashboard/charges/[id]/cancel/route.ts')
  '/dashboard/charges/[id]/description': typeof import('#app/api/dashboard/charges/[id]/description/route.ts')
  '/dashboard/charges/[id]/document': typeof import('#app/api/dashboard/charges/[id]/document/route.ts')
  '/dashboard/charges/[id]/live': typeof import('#app/api/dashboard/charges/[id]/live/route.ts')
  '/dashboard/charges/[id]/receipt': typeof import('#app/api/dashboard/charges/[id]/receipt/route.ts')
  '/dashboard/charges/[id]/timeline': typeof import('#app/api/dashboard/charges/[id]/timeline/route.ts')
  '/dashboard/charges/export': typeof import('#app/api/dashboard/charges/export/route.ts')
  '/dashboard/charges/totals': typeof import('#app/api/dashboard/charges/totals/route.ts')
  '/dashboard/find': typeof import('#app/api/dashboard/find/route.ts')
  '/dashboard/home': typeof import('#app/api/dashboard/home/route.ts')
  '/dashboard/invitations': typeof import('#app/api/dashboard/invitations/route.ts')
  '/dashboard/invitations/[id]': typeof import('#app/api/dashboard/invitations/[id]/route.ts')
  '/dashboard/members': typeof import('#app/api/dashboard/members/route.ts')
  '/dashboard/members/[id]': typeof import('#app/api/dashboard/members/[id]/route.ts')
  '/dashboard/members/[id]/tokens': typeof import('#app/api/dashboard/members/[id]/tokens/route.ts')
  '/dashboard/members/leave': typeof import('#app/api/dashboard/members/leave/route.ts')
  '/dashboard/profile': typeof import('#app/api/dashboard/profile/route.ts')
  '/dashboard/refunds/export': typeof import('#app/api/dashboard/refunds/export/route.ts')
  '/dashboard/statement/export': typeof import('#app/api/dashboard/statement/export/route.ts')
  '/dashboard/steps': typeof import('#app/api/dashboard/steps/route.ts')
  '/dashboard/tokens/[id]/adopt': typeof import('#app/api/dashboard/tokens/[id]/adopt/route.ts')
  '/dashboard/webhooks/deliveries/[id]/document': typeof import('#app/api/dashboard/webhooks/deliveries/[id]/document/route.ts')
  '/dashboard/webhooks/deliveries/resend': typeof import('#app/api/dashboard/webhooks/deliveries/resend/route.ts')
  '/dashboard/webhooks/secret': typeof import('#app/api/dashboard/webhooks/secret/route.ts')
  '/dashboard/webhooks/secret/rotate': typeof import('#app/api/dashboard/webhooks/secret/rotate/route.ts')
  '/dashboard/withdrawals': typeof import('#app/api/dashboard/withdrawals/route.ts')
  '/dashboard/withdrawals/[id]/approve': typeof import('#app/api/dashboard/withdrawals/[id]/approve/route.ts')
  '/dashboard/withdrawals/[id]/decline': typeof import('#app/api/dashboard/withdrawals/[id]/decline/route.ts')
  '/dashboard/withdrawals/[id]/receipt': typeof import('#app/api/dashboard/withdrawals/[id]/receipt/route.ts')
  '/dashboard/withdrawals/[id]/timeline': typeof import('#app/api/dashboard/withdrawals/[id]/timeline/route.ts')
  '/dashboard/withdrawals/export': typeof import('#app/api/dashboard/withdrawals/export/route.ts')
  '/dashboard/withdrawals/waiting': typeof import('#app/api/dashboard/withdrawals/waiting/route.ts')
  '/disputes': typeof import('#app/api/disputes/route.ts')
  '/disputes/[id]': typeof import('#app/api/disputes/[id]/route.ts')
  '/events': typeof import('#app/api/events/route.ts')
  '/person/accounts': typeof import('#app/api/person/accounts/route.ts')
  '/person/authenticator': typeof import('#app/api/person/authenticator/route.ts')
  '/person/authenticator/confirm': typeof import('#app/api/person/authenticator/confirm/route.ts')
  '/person/email': typeof import('#app/api/person/email/route.ts')
  '/person/email/confirm': typeof import('#app/api/person/email/confirm/route.ts')
  '/person/join': typeof import('#app/api/person/join/route.ts')
  '/person/openid': typeof import('#app/api/person/openid/route.ts')
  '/person/passkeys': typeof import('#app/api/person/passkeys/route.ts')
  '/person/passkeys/[id]': typeof import('#app/api/person/passkeys/[id]/route.ts')
  '/person/passkeys/options': typeof import('#app/api/person/passkeys/options/route.ts')
  '/person/password': typeof import('#app/api/person/password/route.ts')
  '/person/proof': typeof import('#app/api/person/proof/route.ts')
  '/person/proof/passkey': typeof import('#app/api/person/proof/passkey/route.ts')
  '/person/recovery-codes': typeof import('#app/api/person/recovery-codes/route.ts')
  '/person/sessions': typeof import('#app/api/person/sessions/route.ts')
  '/person/sessions/[id]': typeof import('#app/api/person/sessions/[id]/route.ts')
  '/person/viewing': typeof import('#app/api/person/viewing/route.ts')
  '/pix/oauth/token': typeof import('#app/api/pix/oauth/token/route.ts')
  '/pix/v2/cob': typeof import('#app/api/pix/v2/cob/route.ts')
  '/pix/v2/cob/[txid]': typeof import('#app/api/pix/v2/cob/[txid]/route.ts')
  '/pix/v2/pix': typeof import('#app/api/pix/v2/pix/route.ts')
  '/pix/v2/pix/[e2eid]': typeof import('#app/api/pix/v2/pix/[e2eid]/route.ts')
  '/pix/v2/pix/[e2eid]/devolucao/[id]': typeof import('#app/api/pix/v2/pix/[e2eid]/devolucao/[id]/route.ts')
  '/pix/v2/webhook': typeof import('#app/api/pix/v2/webhook/route.ts')
  '/pix/v2/webhook/[chave]': typeof import('#app/api/pix/v2/webhook/[chave]/route.ts')
  '/refunds': typeof import('#app/api/refunds/route.ts')
  '/requests': typeof import('#app/api/requests/route.ts')
  '/requests/[id]': typeof import('#app/api/requests/[id]/route.ts')
  '/sandbox/disputes/[id]': typeof import('#app/api/sandbox/disputes/[id]/route.ts')
  '/sandbox/refunds/[id]': typeof import('#app/api/sandbox/refunds/[id]/route.ts')
  '/sandbox/transactions/[id]': typeof import('#app/api/sandbox/transactions/[id]/route.ts')
  '/sandbox/transactions/[id]/disputes': typeof import('#app/api/sandbox/transactions/[id]/disputes/route.ts')
  '/sandbox/withdrawals/[id]': typeof import('#app/api/sandbox/withdrawals/[id]/route.ts')
  '/statement': typeof import('#app/api/statement/route.ts')
  '/statement.csv': typeof import('#app/api/statement.csv/route.ts')
  '/tokens': typeof import('#app/api/tokens/route.ts')
  '/tokens/[id]': typeof import('#app/api/tokens/[id]/route.ts')
  '/tokens/[id]/revoke': typeof import('#app/api/tokens/[id]/revoke/route.ts')
  '/tokens/[id]/rotate': typeof import('#app/api/tokens/[id]/rotate/route.ts')
  '/transactions': typeof import('#app/api/transactions/route.ts')
  '/transactions/[id]': typeof import('#app/api/transactions/[id]/route.ts')
  '/transactions/[id]/cancel': typeof import('#app/api/transactions/[id]/cancel/route.ts')
  '/transactions/[id]/description': typeof import('#app/api/transactions/[id]/description/route.ts')
  '/transactions/[id]/qr.png': typeof import('#app/api/transactions/[id]/qr.png/route.ts')
  '/transactions/[id]/qr.svg': typeof import('#app/api/transactions/[id]/qr.svg/route.ts')
  '/transactions/[id]/receipt.pdf': typeof import('#app/api/transactions/[id]/receipt.pdf/route.ts')
  '/transactions/[id]/refunds': typeof import('#app/api/transactions/[id]/refunds/route.ts')
  '/transactions/[id]/refunds/[refund_id]': typeof import('#app/api/transactions/[id]/refunds/[refund_id]/route.ts')
  '/visitor/join': typeof import('#app/api/visitor/join/route.ts')
  '/visitor/join/mail': typeof import('#app/api/visitor/join/mail/route.ts')
  '/visitor/passkey': typeof import('#app/api/visitor/passkey/route.ts')
  '/visitor/reset': typeof import('#app/api/visitor/reset/route.ts')
  '/visitor/reset/confirm': typeof import('#app/api/visitor/reset/confirm/route.ts')
  '/visitor/signup': typeof import('#app/api/visitor/signup/route.ts')
  '/visitor/signup/confirm': typeof import('#app/api/visitor/signup/confirm/route.ts')
  '/webhooks/deliveries': typeof import('#app/api/webhooks/deliveries/route.ts')
  '/webhooks/deliveries/[id]': typeof import('#app/api/webhooks/deliveries/[id]/route.ts')
  '/webhooks/deliveries/[id]/resend': typeof import('#app/api/webhooks/deliveries/[id]/resend/route.ts')
  '/webhooks/deliveries/resend': typeof import('#app/api/webhooks/deliveries/resend/route.ts')
  '/webhooks/endpoints': typeof import('#app/api/webhooks/endpoints/route.ts')
  '/webhooks/endpoints/[id]': typeof import('#app/api/webhooks/endpoints/[id]/route.ts')
  '/webhooks/endpoints/[id]/disable': typeof import('#app/api/webhooks/endpoints/[id]/disable/route.ts')
  '/webhooks/endpoints/[id]/enable': typeof import('#app/api/webhooks/endpoints/[id]/enable/route.ts')
  '/webhooks/endpoints/[id]/rotate': typeof import('#app/api/webhooks/endpoints/[id]/rotate/route.ts')
  '/webhooks/endpoints/[id]/test': typeof import('#app/api/webhooks/endpoints/[id]/test/route.ts')
  '/withdrawals': typeof import('#app/api/withdrawals/route.ts')
  '/withdrawals/[id]': typeof import('#app/api/withdrawals/[id]/route.ts')
  '/withdrawals/[id]/receipt.pdf': typeof import('#app/api/withdrawals/[id]/receipt.pdf/route.ts')
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Paths that have a method. */
export type PathOf<Name extends Method> = {
  [Path in keyof Routes]: Name extends keyof Routes[Path] ? Path : never
}[keyof Routes]

type EndpointOf<Name extends Method, Path extends keyof Routes> = Routes[Path][Name &
  keyof Routes[Path]]

interface Declared<Body, Query, Answer> {
  body: Body
  query: Query
  answer: Answer
}

/** What a declaration says of the body and query that a client sends, and of the answer. */
export type DeclaredBy<Served> =
  Served extends Endpoint<infer Body, infer Query, infer Answer>
    ? Declared<Body, Query, Answer>
    : Served extends AccountlessEndpoint<infer Body, infer Query, infer Answer>
      ? Declared<Body, Query, Answer>
      : never

export type AnswerOf<Name extends Method, Path extends keyof Routes> = DeclaredBy<
  EndpointOf<Name, Path>
>['answer']

export type QueryOf<Path extends PathOf<'GET'>> = DeclaredBy<EndpointOf<'GET', Path>>['query']

/** Names of the variable parts of a path: `[id]`. */
type ParamOf<Path> = Path extends `${string}[${infer Param}]${infer Rest}`
  ? Param | ParamOf<Rest>
  : never

/** A field that is absent if it has no content, and optional if its content is. */
type Field<Name extends string, Content> = [Content] extends [undefined]
  ? { [Key in Name]?: undefined }
  : Record<never, never> extends Content
    ? { [Key in Name]?: Content }
    : { [Key in Name]: Content }

type InputsOf<Name extends Method, Path extends keyof Routes> = Field<
  'params',
  [ParamOf<Path>] extends [never] ? undefined : Record<ParamOf<Path>, string>
> &
  Field<'query', DeclaredBy<EndpointOf<Name, Path>>['query']> &
  Field<'body', DeclaredBy<EndpointOf<Name, Path>>['body']>

/** Options of a request, which may be omitted if none is required. */
export type OptionsOf<Name extends Method, Path extends keyof Routes, More> = [
  Record<never, never>,
] extends [InputsOf<Name, Path>]
  ? [options?: InputsOf<Name, Path> & More]
  : [options: InputsOf<Name, Path> & More]
