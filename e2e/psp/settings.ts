import { type Habits, NO_HABITS } from './habits.ts'

export type Kind = 'api-pix' | 'efi'

/** How the owner of a destination key receives a payout. */
export interface Payee {
  name?: string
  /** CPF or CNPJ of the owner. */
  document?: string
  /** Refuses the request: a name of REFUSALS. */
  refusal?: 'payeeKeyInvalid' | 'payoutDenied' | 'bucketEmpty'
  /** Ends an accepted payout as NAO_REALIZADO. */
  failure?: { codigo: string; motivo: string }
  /** Amounts in cents that the payee returns after the payout. */
  returns?: number[]
}

/** Everything that a test can choose at the start and change while the bank runs. */
export interface Settings {
  kind: Kind
  /** Ports of the bank, of its commands and of HTTPS to Troco; 0: any that is free. */
  ports: [number, number, number]
  /** Address of Troco for HTTPS requests that the bank receives in its place; null: it receives none. */
  troco: string | null
  /** PIX keys of the account. */
  keys: string[]
  ownerName: string
  ownerCity: string
  clientId: string
  clientSecret: string
  /** Where the token endpoint expects the credentials. */
  tokenAuth: 'basic' | 'form'
  tokenSeconds: number
  scopes: string[]
  openingBalance: number
  fees: { receivedBasisPoints: number; sentCents: number }
  /** Time until a payout or refund is final; null: only the command `settle` ends it. */
  settleMs: number | null
  /** Ends refunds as NAO_REALIZADO with this reason. */
  refundFailure: string | null
  isAccountBlocked: boolean
  /** Difference of the bank's clock from the true time. */
  clockOffsetMs: number
  /** Age from which lists contain a record. */
  listsBehindMs: number
  /** Longest period that a list accepts, and how many of its pages can be read; null: any. */
  listMs: number | null
  listPages: number | null
  /** Most records on a page, also if a request wants more. */
  listSize: number
  /** How many questions about a report are asked until it is made. */
  reportQuestions: number
  notices: NoticeSettings
  payees: Record<string, Payee>
  quirks: Quirks
  habits: Habits
}

export interface NoticeSettings {
  isAbsent: boolean
  /** Number of times that each notice is sent. */
  copies: number
  /** Factor of the amount in a notice; not 1: the notice lies. */
  amountFactor: number
  /** Stores a payment this long after the receiver has responded to its notice; null: before it. */
  earlyMs: number | null
  /** Holds notices until there are this many, and sends them in reverse order. */
  reorderBatch: number
  body: 'object' | 'array'
  /** Pauses before the further attempts after one that failed. */
  retriesMs: number[]
}

/** Known ways in which banks deviate from the standard. */
export interface Quirks {
  createdStatus: 200 | 201
  /** Name of the field with the BR Code; `contradicting`: the code of another charge. */
  code: 'pixCopiaECola' | 'brcode' | 'none' | 'contradicting'
  hasNulls: boolean
  hasNumbersAsText: boolean
  refusesMilliseconds: boolean
  /** Whether lists report only the pages that can be read. */
  hidesPages: boolean
  /** Efí's documentation and its SDK disagree about this name in the response to a payout. */
  payoutIdName: 'e2eId' | 'endToEndId'
  /** Adds the payee's name and masked document, which the strict schema of Efí's SDK refuses. */
  hasPayeeIdentity: boolean
  /** Whether payments name who paid, as version 2.0 of the standard did. */
  hasPayerIdentity: boolean
}

const STANDARD_SCOPES = [
  'cob.read',
  'cob.write',
  'pix.read',
  'pix.write',
  'webhook.read',
  'webhook.write',
  'payloadlocation.read',
  'payloadlocation.write',
]
const EFI_SCOPES = [
  'pix.send',
  'gn.pix.send.read',
  'gn.balance.read',
  'gn.keys.bucket.read',
  'gn.settings.read',
  'gn.settings.write',
  'gn.infractions.read',
  'gn.infractions.write',
  'gn.reports.read',
  'gn.reports.write',
]
const MINUTE_MS = 60_000

export function completeSettings(chosen: Partial<Settings>): Settings {
  const kind = chosen.kind ?? 'api-pix'
  return {
    kind,
    ports: [0, 0, 0],
    troco: null,
    keys: ['7d9f0335-8dcc-4054-9bf9-0dbd61d36906'],
    ownerName: 'Loja Exemplo',
    ownerCity: 'São Paulo',
    clientId: 'Client_Id_test',
    clientSecret: 'Client_Secret_test',
    tokenAuth: 'basic',
    tokenSeconds: 3600,
    scopes: kind === 'efi' ? [...STANDARD_SCOPES, ...EFI_SCOPES] : STANDARD_SCOPES,
    openingBalance: 0,
    fees: { receivedBasisPoints: 119, sentCents: 50 },
    settleMs: 20,
    refundFailure: null,
    isAccountBlocked: false,
    clockOffsetMs: 0,
    listsBehindMs: 0,
    listMs: null,
    listPages: null,
    listSize: 1_000,
    reportQuestions: 1,
    notices: {
      isAbsent: false,
      copies: 1,
      amountFactor: 1,
      earlyMs: null,
      reorderBatch: 0,
      body: 'object',
      retriesMs: [5, 10, 20, 40, 80, 160, 320, 640, 1280].map(minutes => minutes * MINUTE_MS),
    },
    payees: {},
    quirks: {
      createdStatus: 201,
      code: 'pixCopiaECola',
      hasNulls: false,
      hasNumbersAsText: false,
      refusesMilliseconds: false,
      hidesPages: false,
      payoutIdName: 'e2eId',
      hasPayeeIdentity: false,
      hasPayerIdentity: false,
    },
    ...chosen,
    habits: { ...NO_HABITS, ...chosen.habits },
  }
}

/** Replaces the given settings; those of `notices`, `quirks`, `habits`, `fees` and `payees` one by one. */
export function changeSettings(settings: Settings, changes: SettingsChange): void {
  const { notices, quirks, habits, fees, payees, ...others } = changes
  Object.assign(settings, others)
  Object.assign(settings.notices, notices)
  Object.assign(settings.quirks, quirks)
  Object.assign(settings.habits, habits)
  Object.assign(settings.fees, fees)
  Object.assign(settings.payees, payees)
}

export type SettingsChange = Partial<Omit<Settings, 'notices' | 'quirks' | 'habits' | 'fees'>> & {
  notices?: Partial<NoticeSettings>
  quirks?: Partial<Quirks>
  habits?: Partial<Habits>
  fees?: Partial<Settings['fees']>
}
