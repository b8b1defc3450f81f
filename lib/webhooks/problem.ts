import { type CodeWithoutParamsOf, formatReason, type ReasonOf } from '#lib/core/fields.ts'

/** The CHECK on problem_code lists these codes. `other` quotes a message older than all codes. */
export const PROBLEMS = {
  status: 'The receiver answered {status}: a webhook is received with a status from 200 to 299',
  redirect: 'The receiver redirects to another address ({status}): give the final address',
  refused: 'The receiver refuses connections: check that it runs and the port',
  closed: 'The receiver closed the connection before it answered',
  unreachable: 'The receiver could not be reached: check its network and firewall',
  connect_timeout: 'The receiver could not be reached in time: check that it runs and lets us in',
  timeout: 'The receiver did not answer within {seconds} s',
  header_too_large: "The head of the receiver's answer is too large",
  not_http: "The receiver's answer is not valid HTTP",
  no_answer: 'The receiver sends much, but no answer',
  other_protocol: 'The receiver wants another protocol than HTTP (101)',
  certificate_name: "The receiver's certificate is not for {name}",
  certificate_expired: "The receiver's certificate has expired: renew it",
  certificate_untrusted:
    "The receiver's certificate is not trusted: let it send the whole chain of a public one",
  tls: 'The receiver does not speak TLS 1.2 or newer correctly',
  interrupted: 'Interrupted',
  not_called: 'The receiver could not be called',
  not_a_url: 'The address of the webhook is not a URL',
  not_web: 'The webhook must be an http or https address',
  https_required: 'The webhook must be an https address in live mode',
  credentials: 'The webhook must not hold a user name or password: check our signature instead',
  port_low: 'The webhook must not go to port {port}: use 443, 80 or one from 1024',
  port_internal:
    'The webhook must not go to port {port}, which belongs to another service: use 443',
  leads_back: 'The webhook leads back to this gateway: give the address of your own server',
  name_unknown:
    'The name {name} does not resolve to a public address: check its spelling and its DNS',
  address_denied: 'The address {address} is {range}: webhooks go to public addresses only',
  other: '{text}',
} as const

export type DeliveryProblem = ReasonOf<typeof PROBLEMS>
export type ProblemCode = DeliveryProblem['code']
export type CodeWithoutParams = CodeWithoutParamsOf<typeof PROBLEMS>
export const PROBLEM_CODES = Object.keys(PROBLEMS) as ProblemCode[]

export function problemText(problem: DeliveryProblem): string
export function problemText(problem: DeliveryProblem | null): string | null
export function problemText(problem: DeliveryProblem | null): string | null {
  return problem && formatReason(PROBLEMS, problem)
}
