import * as z from 'zod'
import { requireActor } from '#lib/audit/record.ts'
import { exportWithdrawals, recordExport, withdrawalsExportQuery } from '#lib/dashboard/exports.ts'
import { exportReceipt, receiptQuery } from '#lib/dashboard/receipt.ts'
import {
  listWaiting,
  readWithdrawalTimeline,
  WaitingList,
  WithdrawalTimelineRead,
} from '#lib/dashboard/timeline.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { pageResult } from '#lib/http/input.ts'
import { endpoints } from '#lib/http/routes.ts'
import { approveRequest, declineRequest } from '#lib/withdrawals/approval.ts'
import {
  listShownWithdrawals,
  shownWithdrawalsQuery,
  totalWithdrawals,
} from '#lib/withdrawals/queries.ts'
import {
  ListedWithdrawalPage,
  maskWithdrawal,
  maskWithdrawalRead,
  serializeWithdrawal,
  WithdrawalRead,
} from '#lib/withdrawals/wire.ts'

export const { GET, POST } = endpoints({
  'GET /dashboard/withdrawals': endpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'List withdrawals with their total and the receivers that the bank has named',
    allow: 'dashboard:read',
    query: shownWithdrawalsQuery,
    response: ListedWithdrawalPage,
    async handle({ account, mode, query, isViewing }) {
      const [page, total] = await Promise.all([
        listShownWithdrawals(account.id, mode, query, { isViewing }),
        totalWithdrawals(account.id, mode, query, { isViewing }),
      ])
      return pageResult(page, row => row, 'next_cursor', { total })
    },
  }),
  'POST /dashboard/withdrawals/[id]/approve': endpoint({
    method: 'POST',
    summary: 'Approve a withdrawal that waits for a second member',
    allow: 'withdrawals:approve',
    proof: 'required',
    effect: 'withdrawal',
    response: WithdrawalRead,
    mask: maskWithdrawalRead,
    errorCodes: [
      'withdrawal_not_found',
      'approval_by_other',
      'approval_ended',
      'dispute_not_covered',
    ],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, params: { id = '' }, userId }) {
      const { id: by } = requireActor(userId)
      return {
        data: serializeWithdrawal(await approveRequest({ accountId: account.id, mode, id, by })),
      }
    },
  }),
  'POST /dashboard/withdrawals/[id]/decline': endpoint({
    method: 'POST',
    summary: 'Decline a withdrawal that waits for a second member',
    allow: 'withdrawals:approve',
    proof: 'required',
    effect: 'none',
    response: WithdrawalRead,
    mask: maskWithdrawalRead,
    errorCodes: ['withdrawal_not_found', 'approval_ended'],
    idempotency: { retentionS: 86_400 },
    async handle({ account, mode, params: { id = '' }, userId }) {
      const { id: by } = requireActor(userId)
      return {
        data: serializeWithdrawal(await declineRequest({ accountId: account.id, mode, id, by })),
      }
    },
  }),
  'GET /dashboard/withdrawals/[id]/receipt': endpoint({
    method: 'GET',
    summary: 'Export the receipt of an approved withdrawal as PDF',
    allow: 'dashboard:read',
    isFile: true,
    query: receiptQuery,
    response: z.string(),
    errorCodes: ['withdrawal_not_found', 'receipt_not_found'],
    async handle({ account, mode, params: { id = '' }, userId, query: { locale } }) {
      return exportReceipt({ account, mode, kind: 'withdrawal', id, userId, locale })
    },
  }),
  'GET /dashboard/withdrawals/[id]/timeline': endpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'Read the timeline of a withdrawal',
    allow: 'dashboard:read',
    response: WithdrawalTimelineRead,
    mask: ({ data }) => ({ data: { ...data, withdrawal: maskWithdrawal(data.withdrawal) } }),
    errorCodes: ['withdrawal_not_found'],
    async handle({ account, mode, params: { id = '' }, userId }) {
      const { id: reader } = requireActor(userId)
      return { data: await readWithdrawalTimeline(account.id, mode, id, reader) }
    },
  }),
  'GET /dashboard/withdrawals/export': endpoint({
    method: 'GET',
    summary: 'Export the matching withdrawals as CSV',
    allow: 'dashboard:read',
    query: withdrawalsExportQuery,
    response: z.string(),
    isExport: true,
    async handle({ account, mode, userId, query }) {
      await recordExport('withdrawals.exported', userId, account.id, { ...query, mode })
      return exportWithdrawals(account.id, mode, query)
    },
  }),
  'GET /dashboard/withdrawals/waiting': endpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'List the withdrawals that wait for approval',
    allow: 'dashboard:read',
    response: WaitingList,
    async handle({ account, mode, userId }) {
      return { data: await listWaiting(account.id, mode, requireActor(userId).id) }
    },
  }),
})
