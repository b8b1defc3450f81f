/** Records of the bank. Amounts are in cents. */
export interface Location {
  id: number
  /** Host and path without a scheme, as in a BR Code. */
  location: string
  tipoCob: 'cob' | 'cobv'
  createdAt: Date
  txid?: string
}

/** The part of a charge that the client sets. */
export interface ChargeTerms {
  calendario: { expiracao: number }
  devedor?: { cpf?: string; cnpj?: string; nome: string }
  valor: { original: string; modalidadeAlteracao?: number }
  chave: string
  solicitacaoPagador?: string
  infoAdicionais?: { nome: string; valor: string }[]
}

export type ChargeStatus =
  | 'ATIVA'
  | 'CONCLUIDA'
  | 'REMOVIDA_PELO_USUARIO_RECEBEDOR'
  | 'REMOVIDA_PELO_PSP'

export interface Charge {
  txid: string
  createdAt: Date
  status: ChargeStatus
  /** The terms of each revision; the last ones apply. */
  revisions: ChargeTerms[]
  location: Location
  payments: ReceivedPix[]
}

export interface Payer {
  nome: string
  cpf?: string
  cnpj?: string
  codigoBanco: string
}

/** A received Pix. */
export interface ReceivedPix {
  e2eid: string
  txid?: string
  amount: number
  key: string
  at: Date
  payer: Payer
  payerText?: string
  fee: number
  refunds: Refund[]
}

export interface Refund {
  id: string
  rtrId: string
  amount: number
  nature: 'ORIGINAL' | 'RETIRADA' | 'MED_OPERACIONAL' | 'MED_FRAUDE' | 'MED_PIX_AUTOMATICO'
  description?: string
  requestedAt: Date
  settledAt?: Date
  status: 'EM_PROCESSAMENTO' | 'DEVOLVIDO' | 'NAO_REALIZADO'
  /** Why it failed. */
  reason?: string
}

/** A sent Pix. */
export interface Payout {
  idEnvio: string
  e2eid: string
  amount: number
  payerKey: string
  payeeKey: string
  text?: string
  requestedAt: Date
  settledAt?: Date
  status: 'EM_PROCESSAMENTO' | 'REALIZADO' | 'NAO_REALIZADO'
  failure?: { codigo: string; motivo: string }
  /** It is paid, and fails once a response has said so. */
  isDoomed?: boolean
  returns: { rtrId: string; amount: number; at: Date }[]
}

/** A payment that its payer contests (MED). */
export interface Dispute {
  id: string
  protocol: number
  pix: ReceivedPix
  status: 'ABERTA' | 'EM_DEFESA' | 'ACEITA' | 'REJEITADA'
  openedAt: Date
  changedAt: Date
  /** End of the time for a defense. */
  dueAt: Date
  defense?: string
}

/** A report of a day's movements (extrato de conciliação). */
export interface Report {
  id: string
  day: string
  /** Kinds of records that were ordered. */
  flags: string[]
  orderedAt: Date
  /** Questions until it is made. */
  questionsLeft: number
}

export interface Webhook {
  key: string
  url: string
  createdAt: Date
}
