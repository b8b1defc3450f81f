import {
  type BankFinding,
  type FindingCode,
  type FindingLevel,
  type FindingParams,
  levelOf,
} from '#lib/banks/gateway.ts'

const LABELS: Record<FindingLevel, string> = {
  ok: 'ok   ',
  warning: 'NOTE ',
  problem: 'WRONG',
  unanswered: 'DOWN ',
}

/** Builds the sentence about a finding and, if the operator must act, the advice. */
type Sentences = (params: FindingParams) => [string, ...string[]]

const NEW_CERTIFICATE = 'Get a certificate from the bank, and replace this one with `bank renew`'
const OWN_CERTIFICATE =
  'With `bank renew`, give the certificate that the bank issued for this client_id and environment. If it is that one, ask the bank whether it is active'
const ASK_AGAIN = 'Repeat the check later. If it goes on, ask the bank'
const ADD_SCOPE = 'Ask the bank to add it to the application, or add it on the pages of the bank'

const SENTENCES: Record<FindingCode, Sentences> = {
  certificate_valid: ({ until, days }) => [
    `the certificate fits its key and is valid until ${day(until)}, ${days} days`,
  ],
  certificate_expires_soon: ({ until, days }) => [
    `the certificate expires on ${day(until)}, in ${days} days`,
    NEW_CERTIFICATE,
  ],
  certificate_expired: ({ until }) => [`the certificate expired on ${day(until)}`, NEW_CERTIFICATE],
  certificate_not_yet_valid: ({ from }) => [
    `the certificate is valid from ${from} on`,
    'Wait until then. If that is past, correct the clock of this machine',
  ],
  certificate_refused: ({ reason }) => [
    `the bank refuses the certificate (${reason})`,
    OWN_CERTIFICATE,
  ],
  certificate_dropped: ({ reason }) => [
    `the bank closes the connection without a response (${reason}), as for a certificate that it does not know`,
    OWN_CERTIFICATE,
  ],
  server_trusted: ({ host, until }) => [
    `the certificate of ${host} is trusted and valid until ${day(until)}`,
  ],
  server_untrusted: ({ host, issuer, reason }) => [
    `the certificate of ${host} is not trusted (${reason}); its issuer is ${issuer}`,
    'Compare api_url and token_url with the documents of the bank. If they are right, ask the bank for its authority, and give it as trusted_certificates to a new connection',
  ],
  server_private: ({ host }) => [
    `${host} leads to a private address`,
    'Correct api_url and token_url, or allow the range in BANK_ALLOW_CIDRS',
  ],
  server_unreachable: ({ host, reason }) => [
    `no connection to ${host} (${reason})`,
    'Allow outgoing connections to it in your firewall, and repeat the check. If it goes on, ask the bank',
  ],
  token_issued: () => ['the bank accepts client_id and client_secret'],
  token_refused: ({ reason }) => [
    `the bank issues no token (${reason})`,
    'Compare client_id, client_secret and the certificate with those of the bank for this environment, and give the right ones with `bank renew`',
  ],
  token_unanswered: ({ reason }) => [`no answer to the request for a token (${reason})`, ASK_AGAIN],
  clock_agrees: ({ seconds }) => [`the clock of the bank differs by ${seconds} s`],
  clock_differs: ({ seconds }) => [
    `the clock of the bank differs by ${seconds} s`,
    'Synchronize the clock of this machine. If it is right, tell the bank',
  ],
  scope_used: ({ scope }) => [`the scope ${scope} works`],
  scope_missing: ({ scope, reason }) => [
    `the application lacks the scope ${scope} (${reason})`,
    ADD_SCOPE,
  ],
  scope_missing_for_notices: ({ scope }) => [
    `the application lacks the scope ${scope}, which is for notices`,
    ADD_SCOPE,
  ],
  scope_missing_for_disputes: ({ scope }) => [
    `the application lacks the scope ${scope}, without which Troco learns of no dispute and holds no amount for one`,
    ADD_SCOPE,
  ],
  scope_missing_for_statements: ({ scope }) => [
    `the application lacks the scope ${scope}, which \`bank statement\` needs`,
    ADD_SCOPE,
  ],
  scope_unproven: ({ scope, reason }) => [
    `the scope ${scope} could not be tried (${reason})`,
    'Repeat the check later. If it goes on, make a small charge and refund it',
  ],
  scope_unanswered: ({ scope, reason }) => [
    `no answer while the scope ${scope} was tried (${reason})`,
    ASK_AGAIN,
  ],
  payments_listed: () => ['the bank lists payments'],
  payments_refused: ({ reason }) => [
    `the bank refuses to list payments (${reason})`,
    'Ask the bank: without the list, payments are not found',
  ],
  payments_unanswered: ({ reason }) => [`no list of payments (${reason})`, ASK_AGAIN],
  balance_read: ({ amount }) => [`the bank reports the balance: R$ ${amount}`],
  balance_refused: ({ reason }) => [
    `the bank refuses to report the balance (${reason})`,
    'Ask the bank: without the balance, nothing is paid out',
  ],
  balance_unanswered: ({ reason }) => [`no balance (${reason})`, ASK_AGAIN],
  settings_open: ({ settings }) => [
    `the account accepts payments that belong to no charge: ${settings}`,
    'Change them with `bank correct-settings`, so that such payments do not wait among the differences',
  ],
  payer_notices_missing: ({ key }) => [
    `no address for notices about the key ${key}, from which the bank therefore pays nothing out`,
    'Register this installation with `bank register-notices`',
  ],
  notices_ours: ({ key }) => [`notices about the key ${key} come to this installation`],
  notices_outdated: ({ key }) => [
    `notices about the key ${key} go to an older address of this connection`,
    'Register the current one with `bank register-notices`: the older one is refused 24 hours after it was rotated',
  ],
  notices_missing: ({ key }) => [
    `no address for notices about the key ${key}`,
    'Register this installation with `bank register-notices`: without notices, payments are found a little later',
  ],
  notices_foreign: ({ key, host }) => [
    `notices about the key ${key} go to ${host}, not to this installation`,
    'If another system uses this key, give Troco a key of its own. If none does, replace the address with `bank register-notices --replace`',
  ],
  bank_answers: () => ['the bank answers'],
  bank_refuses: ({ reason }) => [`the bank refuses (${reason})`, 'Ask the bank'],
  bank_silent: ({ reason }) => [`the bank does not answer (${reason})`, ASK_AGAIN],
}

/** Formats a finding as a line and, unless all is well, a second one with what to do. */
export function formatFinding({ code, params }: BankFinding): string {
  const [found, advice] = SENTENCES[code](params)
  const line = `${LABELS[levelOf({ code, params })]} ${code}: ${found}\n`
  return advice === undefined ? line : `${line}      ${advice}.\n`
}

function day(time: string | number | undefined): string {
  return String(time).slice(0, 10)
}
