import { addBank, closeConnection } from '#lib/accounts/connections.ts'
import { requireActor } from '#lib/audit/record.ts'
import {
  checkConnection,
  correctSettings,
  credentialsOf,
  limitConnection,
  renewCredentials,
} from '#lib/banks/connections.ts'
import { registerNoticeAddress } from '#lib/banks/notices.ts'
import { BankRequest, CredentialsRequest, LimitsRequest } from '#lib/banks/schema.ts'
import { refuse } from '#lib/core/errors.ts'
import { adminEndpoint } from '#lib/http/endpoint.ts'
import { endpoints } from '#lib/http/routes.ts'
import {
  listBankLines,
  readBank,
  readBankMoney,
  requireBank,
  serializeCheck,
  serializeNotices,
  serializeSettings,
  sumOwned,
} from '#lib/operator/banks/list.ts'
import {
  BankAdded,
  BankChecked,
  BankClosed,
  BankDetailRead,
  BankLimited,
  BankList,
  BankMoneyRead,
  closeRequest,
  MoneyOutOpened,
  moneyOutRequest,
  NoticesRegistered,
  noticesRequest,
  SettingsCorrected,
} from '#lib/operator/banks/schema.ts'
import { openMoneyOut } from '#lib/operator/restore.ts'
import { BeginTrial, TrialRead } from '#lib/trials/schema.ts'
import { beginTrial, readTrial } from '#lib/trials/trial.ts'

export const { GET, POST, PUT } = endpoints({
  'GET /admin/banks': adminEndpoint({
    method: 'GET',
    isCompressible: true,
    summary: 'List the connections to banks, and what merchants own in live mode',
    response: BankList,
    async handle() {
      const [data, owned] = await Promise.all([listBankLines(), sumOwned()])
      return { data, owned }
    },
  }),
  'POST /admin/banks': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Add a connection to a bank, which serves no account before its check has passed',
    body: BankRequest,
    response: BankAdded,
    proof: 'required',
    async handle({ user, body }) {
      return { data: { id: await addBank(body, requireActor(user.id)) } }
    },
  }),
  'GET /admin/banks/[id]': adminEndpoint({
    method: 'GET',
    summary: 'Read a connection to a bank, without its secrets',
    response: BankDetailRead,
    errorCodes: ['connection_not_found'],
    async handle({ params: { id = '' } }) {
      const data = await readBank(id)
      if (!data) throw refuse('connection_not_found')
      return { data }
    },
  }),
  'GET /admin/banks/[id]/balance': adminEndpoint({
    method: 'GET',
    summary: 'Ask a bank for its balance, and hold it against the books and what merchants own',
    response: BankMoneyRead,
    errorCodes: ['connection_not_found'],
    async handle({ params: { id = '' } }) {
      return { data: await readBankMoney(id) }
    },
  }),
  'POST /admin/banks/[id]/check': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Check a connection to a bank, without moving money, and store the result',
    response: BankChecked,
    errorCodes: ['connection_not_found'],
    proof: 'required',
    async handle({ user, params: { id = '' } }) {
      await requireBank(id)
      return { data: serializeCheck(await checkConnection(id, requireActor(user.id))) }
    },
  }),
  'POST /admin/banks/[id]/close': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Close a connection to a bank: what began there ends, and nothing new begins',
    body: closeRequest,
    response: BankClosed,
    errorCodes: ['connection_not_found', 'already_final'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      await requireBank(id)
      const accounts = await closeConnection(id, requireActor(user.id), body.reason)
      return { data: { accounts } }
    },
  }),
  'PUT /admin/banks/[id]/credentials': adminEndpoint({
    method: 'PUT',
    effect: 'none',
    summary: 'Replace the credentials of a connection, if a check with the new ones passes',
    body: CredentialsRequest,
    response: BankChecked,
    errorCodes: ['connection_not_found'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      await requireBank(id)
      const actor = requireActor(user.id)
      return { data: serializeCheck(await renewCredentials(id, credentialsOf(body), actor)) }
    },
  }),
  'PUT /admin/banks/[id]/limits': adminEndpoint({
    method: 'PUT',
    effect: 'none',
    summary: 'Set the limits of what is paid out through a connection',
    body: LimitsRequest,
    response: BankLimited,
    errorCodes: ['connection_not_found'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      await requireBank(id)
      return { data: await limitConnection(id, body, requireActor(user.id)) }
    },
  }),
  'POST /admin/banks/[id]/money-out': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary:
      'Propose to open money out of a connection after a restore, or open it as another admin proposed',
    body: moneyOutRequest,
    response: MoneyOutOpened,
    errorCodes: ['connection_not_found', 'end_by_other', 'opening_refused'],
    proof: 'required',
    async handle({ user, body: { reason, proposal_id: proposalId }, params: { id = '' } }) {
      await requireBank(id)
      const state = await openMoneyOut({ connectionId: id, by: user.id, reason, proposalId })
      return { data: { state } }
    },
  }),
  'POST /admin/banks/[id]/notices': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Register the address for notices at a bank, and replace another one only on request',
    body: noticesRequest,
    response: NoticesRegistered,
    errorCodes: ['connection_not_found', 'not_supported'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      await requireBank(id)
      const options = { replacesForeign: body.replaces_foreign }
      const result = await registerNoticeAddress(id, requireActor(user.id), options)
      return { data: serializeNotices(result) }
    },
  }),
  'POST /admin/banks/[id]/settings': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Have the account at the bank refuse payments that belong to no charge',
    response: SettingsCorrected,
    errorCodes: ['connection_not_found', 'not_supported'],
    proof: 'required',
    async handle({ user, params: { id = '' } }) {
      await requireBank(id)
      return { data: serializeSettings(await correctSettings(id, requireActor(user.id))) }
    },
  }),
  'GET /admin/banks/[id]/trial': adminEndpoint({
    method: 'GET',
    summary: 'Read the latest trial of a connection to a bank',
    response: TrialRead,
    errorCodes: ['connection_not_found'],
    handle: async ({ params: { id = '' } }) => ({ data: await readTrial(id) }),
  }),
  'POST /admin/banks/[id]/trial': adminEndpoint({
    method: 'POST',
    effect: 'none',
    summary: 'Begin a trial of a connection to a bank, or go on with the one under way',
    body: BeginTrial,
    response: TrialRead,
    errorCodes: ['connection_not_found', 'under_way', 'already_final', 'service_unavailable'],
    proof: 'required',
    async handle({ user, body, params: { id = '' } }) {
      const actor = requireActor(user.id)
      await beginTrial({ connectionId: id, pixKey: body.pix_key, actor })
      return { data: await readTrial(id) }
    },
  }),
})
