/** Checked by layout.test.ts. biome.json repeats the floors, so that editors show a wrong import. */

/** From lowest to highest. A file imports from its own folder or from a lower floor. */
export const FLOORS = ['base', 'services', 'rooms', 'views', 'edge'] as const

/** Imports between folders of one floor, each with its reason. Folders of `base` need no entry. */
export const NEIGHBORS: Record<string, string> = {
  'services/people services/mail': 'a sign-in or a changed password is confirmed by mail',
  'services/ledger services/webhooks': 'a movement and its event are one statement',
  'views/admin views/dashboard': 'an export by staff ends and is recorded like one by a member',
  'services/operator services/ledger': 'money of the operator moves like any other',
  'services/trials services/ledger': 'the cents of a trial move like any other money',
  'services/orders services/gateway': 'an order is sent by the gateway of its connection',
  'services/orders services/operator': 'people decide about an order that the bank contradicts',
  'services/trials services/gateway': 'a trial shows what its bank answered last',
  'services/trials services/orders': 'the cents of a trial leave like any other money',
  'services/trials services/operator':
    'the payment of a trial is claimed, so that no other verb books it',
  'edge/http edge/session': 'the dashboard calls the API with the cookie of its session',
  'edge/server edge/http': 'the front serves the endpoints',
  'edge/server edge/session': 'the front keeps places for browsers that signed in before',
}

/** Floors and folders that code outside of the floors may import. */
export const ALLOWED_IMPORTS: Record<string, string[]> = {
  components: ['components', 'shapes'],
  page: ['page', 'components', 'session', 'views', 'rooms', 'services', 'base'],
  route: ['http', 'session', 'views', 'rooms', 'services', 'base'],
  bin: ['bin', 'prisma', 'edge', 'views', 'rooms', 'services', 'base'],
  prisma: ['prisma', 'rooms', 'services', 'base'],
}

/** Folders that judge the product: they import packages and their own files only (docs/decisions/040). */
export const INDEPENDENT_FOLDERS = ['e2e/psp/']

/** Modules that browsers may load: shapes, states and pure rules; never a verb or the database. */
export const BROWSER_MODULES = [
  /^lib\/(services|rooms|views)\/.+\/(schema|states|roles)\.ts$/,
  /^lib\/base\/(audit\/(actions|schema)|formatters|home-time|locale|money|mode|pix\/[a-z-]+)\.ts$/,
  /^lib\/edge\/client\/[a-z-]+\.ts$/,
  /^lib\/edge\/session\/(schema|preferences|intl)\.ts$/,
]

/** Server components beside a page that read its data, as the page itself does. */
export const PAGE_PARTS = ['app/[mode]/webhooks/deliveries-view.tsx']

/** Code that may import Next or React; everything else also runs in the worker. */
export const REACT_FOLDERS = [
  /^app\//,
  /^components\//,
  /^lib\/edge\/session\//,
  /^bin\/commands\/start\.ts$/,
]

export const TABLE_OWNERS: Record<string, string> = {
  accounts: 'rooms/accounts',
  memberships: 'rooms/accounts',
  pending_memberships: 'rooms/accounts',
  former_members: 'rooms/accounts',
  invitations: 'rooms/accounts',
  users: 'services/people',
  user_sessions: 'services/people',
  authenticators: 'services/people',
  recovery_codes: 'services/people',
  passkeys: 'services/people',
  challenges: 'services/people',
  sign_in_attempts: 'services/people',
  mails: 'services/mail',
  tokens: 'rooms/tokens',
  charges: 'rooms/charges',
  charge_searches: 'rooms/charges',
  charge_search_marks: 'rooms/charges',
  refunds: 'rooms/charges',
  disputes: 'rooms/charges',
  payment_readings: 'rooms/charges',
  reconciled_days: 'rooms/reconciliation',
  withdrawals: 'rooms/withdrawals',
  bank_orders: 'services/orders',
  order_queues: 'services/orders',
  payout_returns: 'rooms/withdrawals',
  write_offs: 'rooms/accounts',
  approval_changes: 'rooms/accounts',
  ledger_accounts: 'services/ledger',
  ledger_checks: 'services/ledger',
  ledger_marks: 'services/ledger',
  ledger_slices: 'services/ledger',
  ledger_transfers: 'services/ledger',
  ledger_entries: 'services/ledger',
  booked_payments: 'services/operator',
  unmatched_payments: 'services/operator',
  unmatched_resolutions: 'services/operator',
  unmatched_returns: 'rooms/differences',
  bank_fees: 'services/operator',
  connection_trials: 'services/trials',
  differences: 'services/operator',
  event_sequences: 'services/webhooks',
  events: 'services/webhooks',
  feed_epochs: 'services/webhooks',
  webhook_endpoints: 'services/webhooks',
  webhook_secrets: 'services/webhooks',
  deliveries: 'services/webhooks',
  delivery_attempts: 'services/webhooks',
  delivery_accounts: 'services/webhooks',
  delivery_lanes: 'services/webhooks',
  connections: 'services/gateway',
  connection_states: 'services/gateway',
  restores: 'services/gateway',
  restore_closures: 'services/gateway',
  bank_notices: 'services/gateway',
  gateway_calls: 'services/gateway',
  receipt_keys: 'services/receipts',
  simulator_orders: 'services/gateway',
  idempotency_keys: 'base/db',
  test_usage: 'base/db',
  audit_log: 'base/audit',
  audit_chains: 'base/audit',
  audit_links: 'base/audit',
  audit_unlinked: 'base/audit',
  process_clocks: 'base/db',
  backup_runs: 'base/backup',
  restore_marks: 'base/backup',
  server_secrets: 'base/db',
  worker_heartbeats: 'edge/jobs',
  request_counts: 'edge/http',
  request_log: 'edge/http',
}

/** Code that makes ids of charges, withdrawals, refunds, payments and events: all must be routable. */
export const ROUTABLE_ID_PLACES =
  /^(lib\/rooms\/(charges|withdrawals|differences)\/|lib\/services\/(operator|trials)\/|lib\/edge\/http\/idempotency\.ts|prisma\/demo-)/

/** Files that write a table of another folder, each with its reason. */
export const FOREIGN_WRITES: Record<string, string> = {
  'lib/edge/http/idempotency.ts idempotency_keys': 'keeps and replays the response of a key',
  'lib/rooms/charges/end-opening.ts idempotency_keys':
    'a canceled opening frees the key of its request',
  'lib/edge/session/read.ts user_sessions': 'one statement reads a session and notes its use',
  'lib/views/admin/requeue.ts mails': 'an operator requeues a failed mail',
  'lib/rooms/withdrawals/end.ts bank_orders': 'two admins propose and decide how an order ends',
  'lib/edge/jobs/prune.ts challenges': 'pruning by age',
  'lib/edge/jobs/prune.ts deliveries': 'pruning by age',
  'lib/edge/jobs/prune.ts delivery_attempts': 'pruning by age',
  'lib/edge/jobs/prune.ts events': 'pruning by age',
  'lib/edge/jobs/prune.ts gateway_calls': 'pruning by age',
  'lib/edge/jobs/prune.ts idempotency_keys': 'pruning by age',
  'lib/edge/jobs/prune.ts mails': 'pruning by age',
  'lib/edge/jobs/prune.ts request_counts': 'pruning by age',
  'lib/edge/jobs/prune.ts sign_in_attempts': 'pruning by age',
  'lib/edge/jobs/prune.ts test_usage': 'pruning by age',
  'lib/edge/jobs/prune.ts user_sessions': 'pruning by age',
}

/** Files with statements about people and others about money (docs/decisions/030). */
export const FILES_OF_BOTH_SIDES: Record<string, string> = {
  'lib/base/audit/queries.ts': 'adds the names of users and accounts to records',
  'lib/edge/jobs/prune.ts': 'pruning by age',
  'lib/edge/session/read.ts': "reads a session, then its user's accounts",
  'lib/views/admin/accounts.ts': 'accounts with their owners and members',
  'lib/views/admin/stuck.ts': 'stuck jobs of every kind',
  'lib/views/admin/traffic.ts': 'judges receivers and the mail server',
}

/** Maximum lines without imports, by kind of file; for a route, per method. */
export const LINES_MAX = { file: 350, route: 60, verb: 120, component: 150 }

/** A shorter file with a single user must be merged into it. */
export const FRAGMENT_LINES_MIN = 25

/** Folders in which each file is one use case, however short. */
export const VERB_FOLDERS = ['lib/rooms/', 'lib/services/people/']

/** Short files with a single importer that stay, each with its reason. */
export const ALLOWED_FRAGMENTS: Record<string, string> = {}
