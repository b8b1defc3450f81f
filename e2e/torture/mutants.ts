/** A plausible bug, and the test that notices it. */
export interface Mutant {
  /** What the bug does; the title of its run. */
  bug: string
  file: string
  /** Occurs exactly once in the file. */
  text: string
  replacement: string
  testFile: string
  /** A test with this text in its title fails with the bug in. */
  testTitle: string
}

/**
 * Bugs that `npm run torture` puts in, one at a time: `npm test -- e2e/torture/mutants -t "<bug>"` does one.
 * An entry that a change makes outdated fails `npm run verify`.
 */
export const MUTANTS: readonly Mutant[] = [
  {
    bug: 'a quote in a cell of a CSV file ends the cell',
    file: 'lib/base/csv.ts',
    text: `text.replaceAll('"', '""')`,
    replacement: 'text',
    testFile: 'lib/base/csv.test.ts',
    testTitle: 'a cell with a separator, quote or leading space is quoted',
  },
  {
    bug: 'a dead process counts as living, so that its idempotency keys wait for a minute',
    file: 'lib/base/db/presence.ts',
    text: 'AND NOT ${isSeenSql(column)}',
    replacement: 'AND FALSE',
    testFile: 'lib/base/db/presence.test.ts',
    testTitle: 'another process is gone when its connection ends',
  },
  {
    bug: 'a withdrawal ends as not sent while its call to the bank is running',
    file: 'lib/services/gateway/journal.ts',
    text: "COALESCE(outcome, 'unknown') = 'unknown'",
    replacement: "outcome = 'unknown'",
    testFile: 'lib/rooms/withdrawals/end.test.ts',
    testTitle: 'can still arrive at the bank',
  },
  {
    bug: 'a withdrawal is rejected while an earlier call to send it is running',
    file: 'lib/services/gateway/journal.ts',
    text: "COALESCE(outcome, 'unknown') = 'unknown'",
    replacement: "outcome = 'unknown'",
    testFile: 'lib/rooms/withdrawals/send.test.ts',
    testTitle: 'stays held while the first attempt',
  },
  {
    bug: 'a charge is canceled while a call to create it is running',
    file: 'lib/services/gateway/journal.ts',
    text: "COALESCE(outcome, 'unknown') = 'unknown'",
    replacement: "outcome = 'unknown'",
    testFile: 'lib/rooms/charges/cancel.test.ts',
    testTitle: 'stays pending while a call to create it is running',
  },
  {
    bug: 'an opening is deleted while a call to create its charge is running',
    file: 'lib/services/gateway/journal.ts',
    text: "COALESCE(outcome, 'unknown') = 'unknown'",
    replacement: "outcome = 'unknown'",
    testFile: 'lib/rooms/charges/open.test.ts',
    testTitle: 'an opening that the bank does not know stays while the call',
  },
  {
    bug: 'a payout with a stored end-to-end id is sent again',
    file: 'lib/services/gateway/order.ts',
    text: '(await calls.hasPayment?.()) || (await wasTaken(claim))',
    replacement: 'await wasTaken(claim)',
    testFile: 'lib/rooms/withdrawals/send.test.ts',
    testTitle: 'is not sent again because of its end-to-end id alone',
  },
  {
    bug: 'lists after a restore begin at the named point, however late it is',
    file: 'lib/services/gateway/closures.ts',
    text: 'LEAST(r.restored_to, (SELECT max(beat_at) FROM worker_heartbeats))',
    replacement: 'r.restored_to',
    testFile: 'lib/rooms/restore/restore.test.ts',
    testTitle: 'if the point is named too late',
  },
  {
    bug: 'notices are accepted without the certificate that a connection requires once the setting is gone',
    file: 'lib/edge/server/bank-notices.ts',
    text: 'return rules.isCertificateRequired && !isVerified',
    replacement: 'return rules.isCertificateRequired && canSeeCertificates() && !isVerified',
    testFile: 'lib/edge/server/bank-notices.test.ts',
    testTitle: 'once the setting of its header is gone',
  },
  {
    bug: 'the header about a certificate is believed without a proxy',
    file: 'lib/edge/server/bank-notices.ts',
    text: 'canSeeCertificates() && header(',
    replacement: 'header(',
    testFile: 'lib/edge/server/bank-notices.test.ts',
    testTitle: 'once the setting of its header is gone',
  },
  {
    bug: "the document of a key's owner is in the journal",
    file: 'lib/services/gateway/journal.ts',
    text: 'ownerDoc === null ? {} : { [ownerDoc]: maskTaxId(ownerDoc) }',
    replacement: '{}',
    testFile: 'lib/services/gateway/journal.test.ts',
    testTitle: "the document of a key's owner is hidden",
  },
  {
    bug: 'payouts that Efí has not made count as sent',
    file: 'lib/services/gateway/efi/payouts.ts',
    text: "all.filter(({ status }) => status === 'REALIZADO')",
    replacement: "all.filter(({ status }) => status !== 'NAO_REALIZADO')",
    testFile: 'lib/services/gateway/efi/read.test.ts',
    testTitle: 'counts as sent',
  },
  {
    bug: 'an older state of a connection replaces a newer one',
    file: 'lib/services/gateway/breaker.ts',
    text: `    if (row.atMs < (this.cache.get(id)?.row.atMs ?? 0)) return
`,
    replacement: '',
    testFile: 'lib/services/gateway/breaker.test.ts',
    testTitle: 'although the response about an older state comes later',
  },
  {
    bug: 'the first questions about a payout wait for a sixth of its age',
    file: 'lib/rooms/withdrawals/places.ts',
    text: 'GREATEST(1, LEAST(5, ${ageS}), ${ageS} / 6)',
    replacement: 'GREATEST(1, ${ageS} / 6)',
    testFile: 'lib/rooms/withdrawals/places.test.ts',
    testTitle: 'after the payout was sent, the next question is',
  },
  {
    bug: 'the first questions about a payout wait up to a minute',
    file: 'lib/rooms/withdrawals/places.ts',
    text: 'LEAST(5, ${ageS})',
    replacement: 'LEAST(60, ${ageS})',
    testFile: 'lib/rooms/withdrawals/places.test.ts',
    testTitle: 'after the payout was sent, the next question is',
  },
  {
    bug: 'invitations of an owner who was removed or left stay open',
    file: 'lib/rooms/accounts/remove.ts',
    text: `    await revokeInvitationsOf(tx, accountId, userId)
`,
    replacement: '',
    testFile: 'e2e/api/dashboard-members.test.ts',
    testTitle: 'end the open invitations of an owner',
  },
  {
    bug: 'an accepted invitation is revoked',
    file: 'lib/rooms/accounts/revoke.ts',
    text: '{ id, accountId, acceptedAt: null, revokedAt: null }',
    replacement: '{ id, accountId, revokedAt: null }',
    testFile: 'e2e/api/dashboard-members.test.ts',
    testTitle: 'that was accepted cannot be revoked',
  },
  {
    bug: 'disabled owners get mails about their account',
    file: 'lib/services/mail/owners.ts',
    text: ', user: { disabledAt: null } }',
    replacement: ' }',
    testFile: 'e2e/api/dashboard-members.test.ts',
    testTitle: 'but none who is disabled',
  },
  {
    bug: 'a code of an app is accepted for two periods more',
    file: 'lib/services/people/authenticator.ts',
    text: 'const WINDOW = 1',
    replacement: 'const WINDOW = 2',
    testFile: 'lib/edge/session/second-step.test.ts',
    testTitle: 'a code 61 s old is refused',
  },
  {
    bug: 'a caller is checked again only after ten seconds',
    file: 'lib/edge/http/recent-check.ts',
    text: 'const AGE_MAX_MS = 1_000',
    replacement: 'const AGE_MAX_MS = 10_000',
    testFile: 'lib/edge/http/recent-check.test.ts',
    testTitle: 'a session that ends while its request waits counts as ended',
  },
  {
    bug: 'an ended session gets the response of another request with its key',
    file: 'lib/edge/http/endpoint.ts',
    text: `  if ('idempotent-replayed' in response.headers) await check.read()
`,
    replacement: '',
    testFile: 'lib/edge/http/recent-check.test.ts',
    testTitle: 'for another one with its key that then',
  },
  {
    bug: 'a request that waited for its rate keeps the caller of before',
    file: 'lib/edge/http/endpoint.ts',
    text: `    const caller = await check.read()
    const { account, mode, user, tokenId,`,
    replacement: `    const caller = state.caller as Caller
    const { account, mode, user, tokenId,`,
    testFile: 'lib/edge/http/recent-check.test.ts',
    testTitle: 'for another one with its key that then',
  },
  {
    bug: 'every caller of the last minute is remembered, without a limit',
    file: 'lib/rooms/tokens/recall.ts',
    text: 'rememberedCallers.size >= REMEMBERED_MAX && oldest',
    replacement: 'rememberedCallers.size < 0 && oldest',
    testFile: 'lib/rooms/tokens/recall.test.ts',
    testTitle: 'at most 10,000 callers are remembered',
  },
  {
    bug: 'mail goes to a remote server in plain text',
    file: 'lib/services/mail/send.ts',
    text: 'requireTLS: !isLocal',
    replacement: 'requireTLS: false',
    testFile: 'lib/services/mail/send.test.ts',
    testTitle: 'offers no STARTTLS receives no mail',
  },
  {
    bug: 'two accounts exceed the daily limit of their connection together',
    file: 'lib/rooms/withdrawals/limit.ts',
    text: 'WHERE id = ${id ?? null}::uuid FOR NO KEY UPDATE',
    replacement: 'WHERE id = ${id ?? null}::uuid',
    testFile: 'lib/rooms/withdrawals/limit.test.ts',
    testTitle: 'of two accounts whose requests meet',
  },
  {
    bug: 'a key that another process has taken over is released by its former owner',
    file: 'lib/base/db/idempotency.ts',
    text: '${keyCondition(once)} AND locked_by IS NOT DISTINCT FROM ${lockedBy}::integer',
    replacement: '${keyCondition(once)}',
    testFile: 'lib/rooms/charges/open.test.ts',
    testTitle: 'a key is not released by a request whose key was taken over',
  },
  {
    bug: 'a key that a later request has taken over is released by the former one',
    file: 'lib/base/db/idempotency.ts',
    text: ': Prisma.sql`${isOwn} AND locked_until = ${lockedUntil}::timestamptz`',
    replacement: ': isOwn',
    testFile: 'lib/base/db/idempotency.test.ts',
    testTitle: 'is not released by its former owner',
  },
  {
    bug: 'calls about open returns are pruned',
    file: 'lib/edge/jobs/prune.ts',
    text: "        AND NOT ${isOpen('receipt_returns')}\n",
    replacement: '',
    testFile: 'lib/edge/jobs/prune.test.ts',
    testTitle: 'the calls of a return that has not ended are kept',
  },
  {
    bug: 'the time of the first delivered webhook moves',
    file: 'lib/edge/jobs/prune.ts',
    text: 'q.first_delivered_at IS NULL AND (q.account_id',
    replacement: '(q.account_id',
    testFile: 'lib/edge/jobs/prune.test.ts',
    testTitle: 'the time of the first delivered webhook',
  },
  {
    bug: 'a webhook that failed counts as delivered once it is pruned',
    file: 'lib/edge/jobs/prune.ts',
    text: " FROM pruned WHERE status = 'delivered')",
    replacement: ' FROM pruned)',
    testFile: 'lib/edge/jobs/prune.test.ts',
    testTitle: 'the time of the first delivered webhook',
  },
  {
    bug: 'a delivered webhook is forgotten when it is pruned',
    file: 'lib/edge/jobs/prune.ts',
    text: 'WHERE s.account_id = first.account_id AND s.mode = first.mode`',
    replacement: 'WHERE s.account_id = first.account_id AND s.mode = first.mode AND false`',
    testFile: 'lib/edge/jobs/prune.test.ts',
    testTitle: 'the time of the first delivered webhook',
  },
  {
    bug: 'sessions are never pruned',
    file: 'lib/edge/jobs/worker.ts',
    text: `    { name: 'prune sessions', run: pruneSessions, idleMs: HOUR_MS },
`,
    replacement: '',
    testFile: 'lib/edge/jobs/worker.test.ts',
    testTitle: 'runs every job that exists',
  },
  {
    bug: 'a check of the audit log goes on where the last one was stopped, also after its end',
    file: 'lib/base/audit/check.ts',
    text: `    stops.delete(chain)
`,
    replacement: '',
    testFile: 'lib/base/audit/check.test.ts',
    testTitle: 'a check that has ended begins anew',
  },
]
