import { Book } from './book.ts'
import type { Certificates } from './certificates.ts'
import { Faults } from './faults.ts'
import { Notices } from './notices.ts'
import type { Charge, Dispute, Location, Payout, ReceivedPix, Report, Webhook } from './records.ts'
import { completeSettings, type Settings } from './settings.ts'
import { Tokens } from './tokens.ts'
import { Traffic } from './traffic.ts'

/** Settings of an account at Efí, as its API reads and writes them. */
export interface AccountConfig {
  pix: { receberSemChave: boolean; chaves?: Record<string, KeyConfig> }
}

export interface KeyConfig {
  recebimento: {
    txidObrigatorio: boolean
    qrCodeEstatico: { recusarTodos: boolean }
    webhook?: {
      notificacao?: { tarifa: boolean; pagador: boolean }
      notificar?: { pixSemTxid: boolean }
    }
  }
  envio?: { webhook: { notificacao: { tarifa: boolean; favorecido: boolean } } }
}

/** Everything that one bank knows: it has one client with one account. */
export class Bank {
  readonly settings: Settings
  readonly certificates: Certificates
  readonly book = new Book()
  readonly tokens: Tokens
  readonly faults = new Faults()
  readonly traffic: Traffic
  readonly notices: Notices
  readonly charges = new Map<string, Charge>()
  readonly payments = new Map<string, ReceivedPix>()
  readonly payouts = new Map<string, Payout>()
  readonly webhooks = new Map<string, Webhook>()
  readonly locations = new Map<number, Location>()
  readonly disputes = new Map<string, Dispute>()
  readonly reports = new Map<string, Report>()
  /** How often each habit had an occasion. */
  readonly counts = new Map<string, number>()
  config: AccountConfig = { pix: { receberSemChave: true } }

  /** Writes the record of all traffic into the folder. */
  constructor(folder: string, certificates: Certificates, chosen: Partial<Settings> = {}) {
    this.settings = completeSettings(chosen)
    this.certificates = certificates
    this.tokens = new Tokens(this.settings)
    this.traffic = new Traffic(folder, this.settings.kind)
    this.notices = new Notices(this.settings.notices, this.certificates, this.traffic)
    this.book.add(this.now(), 'opening', this.settings.openingBalance, 'opening')
  }

  now(): Date {
    return new Date(Date.now() + this.settings.clockOffsetMs)
  }

  /** Cents that open disputes block. */
  get blocked(): number {
    const open = [...this.disputes.values()].filter(({ status }) =>
      /^(ABERTA|EM_DEFESA)$/.test(status),
    )
    return open.reduce((sum, { pix }) => sum + pix.amount, 0)
  }

  /** Cents that payouts and refunds may take. */
  get available(): number {
    return this.book.balance - this.blocked
  }

  /** Runs an action after the time in which payouts and refunds become final. */
  settleLater(action: () => void): void {
    if (this.settings.settleMs !== null) setTimeout(action, this.settings.settleMs)
  }
}
