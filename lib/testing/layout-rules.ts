/** Checked by layout.test.ts. */

/** Folders of lib in the order of their imports: each imports only from itself and from those before it. */
export const FOLDERS = [
  'core',
  'db',
  'audit',
  'backup',
  'mail',
  'people',
  'webhooks',
  'ledger',
  'banks',
  'differences',
  'orders',
  'receipts',
  'accounts',
  'tokens',
  'charges',
  'withdrawals',
  'trials',
  'dashboard',
  'operator',
  'payer',
  'api-pix',
  'docs',
  'session',
  'http',
  'worker',
  'testing',
]

/** The last folder of lib that code outside of lib may import; `components`: see BROWSER_MODULES. */
export const LAST_FOLDERS: Record<string, string> = {
  page: 'session',
  route: 'http',
  bin: 'worker',
  prisma: 'withdrawals',
}

/** Code outside of lib that imports more than itself and lib. */
export const ALLOWED_IMPORTS: Record<string, string[]> = {
  page: ['components'],
  bin: ['prisma'],
}

/** Folders that judge the product: they import packages and their own files only (docs/decisions/040). */
export const INDEPENDENT_FOLDERS = ['e2e/psp/']

/** Modules that browsers may load: shapes, states and pure rules; never an operation or the database. */
export const BROWSER_MODULES = [
  /^lib\/.+\/(schema|states|roles)\.ts$/,
  /^lib\/audit\/actions\.ts$/,
  /^lib\/core\/(attachments|day|headers|locale|money|mode|pix\/[a-z-]+)\.ts$/,
  /^lib\/session\/(schema|preferences|intl)\.ts$/,
]

/** Types of all routes for the client: the only code of the browser that names routes and lib/http. */
export const ROUTE_TYPES = 'components/api/routes.ts'

/** Server components beside a page that read its data, as the page itself does. */
export const PAGE_PARTS = ['app/[mode]/webhooks/deliveries-view.tsx']

/** Code that may import Next or React; everything else also runs in the worker. */
export const REACT_FOLDERS = [
  /^app\//,
  /^components\//,
  /^lib\/session\//,
  /^bin\/commands\/start\.ts$/,
]

export const TABLE_OWNERS: Record<string, string> = {
  accounts: 'accounts',
  memberships: 'accounts',
  pending_memberships: 'accounts',
  former_members: 'accounts',
  invitations: 'accounts',
  users: 'people',
  user_sessions: 'people',
  authenticators: 'people',
  recovery_codes: 'people',
  passkeys: 'people',
  challenges: 'people',
  sign_in_attempts: 'people',
  mails: 'mail',
  tokens: 'tokens',
  charges: 'charges',
  charge_searches: 'charges',
  charge_search_marks: 'charges',
  refunds: 'charges',
  disputes: 'charges',
  dispute_evidence: 'charges',
  payment_readings: 'charges',
  reconciled_days: 'operator',
  withdrawals: 'withdrawals',
  bank_orders: 'orders',
  order_queues: 'orders',
  payment_returns: 'charges',
  payout_returns: 'withdrawals',
  write_offs: 'accounts',
  approval_changes: 'accounts',
  ledger_accounts: 'ledger',
  ledger_checks: 'ledger',
  ledger_marks: 'ledger',
  ledger_slices: 'ledger',
  ledger_transfers: 'ledger',
  ledger_entries: 'ledger',
  booked_payments: 'differences',
  unmatched_payments: 'differences',
  unmatched_resolutions: 'differences',
  unmatched_returns: 'operator',
  bank_fees: 'differences',
  connection_trials: 'trials',
  differences: 'differences',
  corrections: 'differences',
  event_sequences: 'webhooks',
  events: 'webhooks',
  feed_epochs: 'webhooks',
  webhook_endpoints: 'webhooks',
  webhook_secrets: 'webhooks',
  deliveries: 'webhooks',
  delivery_attempts: 'webhooks',
  delivery_queues: 'webhooks',
  sandbox_controls: 'webhooks',
  connections: 'banks',
  connection_states: 'banks',
  restores: 'banks',
  restore_closures: 'banks',
  bank_notices: 'banks',
  gateway_calls: 'banks',
  receipt_keys: 'receipts',
  simulator_orders: 'banks',
  idempotency_keys: 'db',
  test_usage: 'db',
  audit_log: 'audit',
  process_clocks: 'db',
  backup_runs: 'backup',
  restore_marks: 'backup',
  server_secrets: 'db',
  worker_heartbeats: 'worker',
  request_counts: 'http',
  request_log: 'http',
}

/** Code that makes ids of charges, withdrawals, refunds, payments and events: all must be routable. */
export const ROUTABLE_ID_PLACES =
  /^(lib\/(charges|withdrawals|differences|operator\/differences|trials)\/|lib\/http\/idempotency\.ts|prisma\/demo-)/

/** Files that write a table of another folder, each with its reason. */
export const FOREIGN_WRITES: Record<string, string> = {
  'lib/charges/create.ts idempotency_keys': 'a canceled opening frees the key of its request',
  'lib/session/read.ts user_sessions': 'one statement reads a session and notes its use',
  'lib/operator/stuck.ts mails': 'an operator requeues a failed mail',
  'lib/worker/prune.ts challenges': 'pruning by age',
  'lib/worker/prune.ts deliveries': 'pruning by age',
  'lib/worker/prune.ts delivery_attempts': 'pruning by age',
  'lib/worker/prune.ts events': 'pruning by age',
  'lib/worker/prune.ts gateway_calls': 'pruning by age',
  'lib/worker/prune.ts idempotency_keys': 'pruning by age',
  'lib/worker/prune.ts mails': 'pruning by age',
  'lib/worker/prune.ts request_counts': 'pruning by age',
  'lib/worker/prune.ts sign_in_attempts': 'pruning by age',
  'lib/worker/prune.ts test_usage': 'pruning by age',
  'lib/worker/prune.ts user_sessions': 'pruning by age',
}
