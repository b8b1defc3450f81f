import { simulateDispute, simulateDisputeEnd } from '#lib/charges/disputes/dispute.ts'
import { disputeEnd, disputeOpening } from '#lib/charges/disputes/schema.ts'
import { DisputeRead } from '#lib/charges/disputes/wire.ts'
import { maskChargeRead, serializeCharge } from '#lib/charges/list.ts'
import { simulateRefund } from '#lib/charges/refunds/refund.ts'
import { refundDecision } from '#lib/charges/refunds/schema.ts'
import { RefundRead } from '#lib/charges/refunds/wire.ts'
import { OutcomeRequest } from '#lib/charges/schema.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { ChargeRead } from '#lib/charges/wire.ts'
import { refuse } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { Declaration } from '#lib/http/declaration.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { endpoints } from '#lib/http/routes.ts'
import type { ProofRule } from '#lib/session/proof.ts'
import {
  advanceClock,
  ClockRequest,
  endSandboxControls,
  failWebhooks,
  SandboxStateRead,
  WebhookFaultRequest,
} from '#lib/webhooks/sandbox.ts'
import { DecisionRequest } from '#lib/withdrawals/schema.ts'
import { simulateWithdrawal } from '#lib/withdrawals/simulate.ts'
import { maskWithdrawalRead, serializeWithdrawal, WithdrawalRead } from '#lib/withdrawals/wire.ts'

/** What all operations of the sandbox declare. */
const SANDBOX: Pick<Declaration, 'effect' | 'allow'> & { proof: ProofRule } = {
  effect: 'none',
  allow: ['transactions:write', 'withdrawals:write'],
  proof: { notRequired: 'Test mode only: no real money or payer is involved.' },
}

export const { DELETE, POST } = endpoints({
  'POST /sandbox/clock': endpoint({
    method: 'POST',
    operationId: 'advanceSandboxClock',
    isHeavy: true,
    ...SANDBOX,
    summary: 'Let time pass',
    description:
      'Test mode only. Charges and approvals of this account expire, webhooks are sent again, idempotency keys end and the time for refunds is over as if that time had passed. What has happened keeps its times. After an hour, or with `DELETE /sandbox/controls`, the time for refunds is as before.',
    body: { test: ClockRequest, live: ClockRequest },
    response: SandboxStateRead,
    errorCodes: ['test_mode_only'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, body, once }) {
      requireTestMode(mode)
      return { data: await advanceClock(account.id, body, once?.id) }
    },
  }),
  'DELETE /sandbox/controls': endpoint({
    method: 'DELETE',
    operationId: 'endSandboxControls',
    ...SANDBOX,
    summary: 'End moved time and failing webhooks',
    description:
      'Test mode only. Ends what `POST /sandbox/clock` and `POST /sandbox/webhooks` do. What has happened meanwhile stays.',
    response: SandboxStateRead,
    errorCodes: ['test_mode_only'],
    async handle({ account, mode }) {
      requireTestMode(mode)
      return { data: await endSandboxControls(account.id) }
    },
  }),
  'POST /sandbox/disputes/[id]': endpoint({
    method: 'POST',
    operationId: 'simulateDispute',
    ...SANDBOX,
    summary: 'Simulate the end of a dispute',
    description:
      'Test mode only. `won`: the amount returns to the balance. `lost`: it goes to the payer, or a part of it.',
    body: disputeEnd,
    response: DisputeRead,
    errorCodes: ['dispute_not_found', 'already_final', 'test_mode_only'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, body, params, once }) {
      requireTestMode(mode)
      return { data: await simulateDisputeEnd(account.id, params.id ?? '', body, once?.isResumed) }
    },
  }),
  'POST /sandbox/refunds/[id]': endpoint({
    method: 'POST',
    operationId: 'simulateRefund',
    ...SANDBOX,
    summary: 'Simulate the outcome of a refund',
    description:
      'Test mode only. Completes or rejects a `pending` refund, such as one of a charge whose `client_email` begins with `hold@`.',
    body: refundDecision,
    response: RefundRead,
    errorCodes: ['refund_not_found', 'already_final', 'test_mode_only'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, body, params, once }) {
      requireTestMode(mode)
      return { data: await simulateRefund(account.id, params.id ?? '', body, once?.isResumed) }
    },
  }),
  'POST /sandbox/transactions/[id]': endpoint({
    method: 'POST',
    operationId: 'simulateCharge',
    ...SANDBOX,
    summary: 'Simulate the outcome of a charge',
    description:
      'Test mode only. Pays the charge, or makes it fail or expire. An expired or failed charge can still be paid.',
    body: { test: OutcomeRequest, live: OutcomeRequest },
    response: ChargeRead,
    mask: maskChargeRead,
    errorCodes: [
      'transaction_not_found',
      'external_id_ambiguous',
      'already_final',
      'test_mode_only',
    ],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, body, params, once }) {
      requireTestMode(mode)
      const { id = '' } = params
      const charge = await simulateCharge(account.id, id, body.outcome, once?.isResumed)
      return { status: 'success', data: serializeCharge(charge) }
    },
  }),
  'POST /sandbox/transactions/[id]/disputes': endpoint({
    method: 'POST',
    operationId: 'simulateChargeDispute',
    ...SANDBOX,
    summary: 'Simulate a dispute of a charge',
    description:
      'Test mode only. The payer disputes the payment, or a part of it. The amount is held until the dispute ends.',
    body: disputeOpening,
    response: DisputeRead,
    errorCodes: ['transaction_not_found', 'external_id_ambiguous', 'not_paid', 'test_mode_only'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, body, params, once }) {
      requireTestMode(mode)
      return { data: await simulateDispute(account.id, params.id ?? '', body.amount, once?.id) }
    },
  }),
  'POST /sandbox/webhooks': endpoint({
    method: 'POST',
    operationId: 'failSandboxWebhooks',
    ...SANDBOX,
    summary: 'Let the next webhooks fail',
    description:
      'Test mode only. The next webhooks of this account fail, or arrive twice, in place of an earlier choice. Those that fail are sent again as always. It ends after `count` webhooks, after an hour, or with `DELETE /sandbox/controls`.',
    body: { test: WebhookFaultRequest, live: WebhookFaultRequest },
    response: SandboxStateRead,
    errorCodes: ['test_mode_only'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, body }) {
      requireTestMode(mode)
      return { data: await failWebhooks(account.id, body) }
    },
  }),
  'POST /sandbox/withdrawals/[id]': endpoint({
    method: 'POST',
    operationId: 'simulateWithdrawal',
    ...SANDBOX,
    summary: 'Simulate the outcome of a withdrawal',
    description:
      'Test mode only. Approves or rejects a `pending` withdrawal, such as one to a key that begins with `hold@`, or sends an `approved` one back.',
    body: { test: DecisionRequest, live: DecisionRequest },
    response: WithdrawalRead,
    mask: maskWithdrawalRead,
    errorCodes: ['withdrawal_not_found', 'already_final', 'approval_pending', 'test_mode_only'],
    idempotency: { retentionS: 30 * 86_400 },
    async handle({ account, mode, body, params, once }) {
      requireTestMode(mode)
      const { id = '' } = params
      const withdrawal = await simulateWithdrawal(account.id, id, body, once?.isResumed)
      return { data: serializeWithdrawal(withdrawal) }
    },
  }),
})

function requireTestMode(mode: Mode): void {
  if (mode !== 'test') throw refuse('test_mode_only')
}
