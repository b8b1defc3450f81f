import { z } from 'zod'
import type { Bank } from './bank.ts'
import { makeHexId } from './formats.ts'
import { selectPage } from './lists.ts'
import type { Dispute, ReceivedPix } from './records.ts'
import { refundable, takeBack } from './refunds.ts'
import { Refusal } from './refusal.ts'
import { type Call, type Reply, type Route, readBody } from './route.ts'

export const DISPUTE_ROUTES: Route[] = [
  {
    method: 'GET',
    path: '/v2/gn/infracoes',
    scope: 'gn.infractions.read',
    kind: 'efi',
    handle: listDisputes,
  },
  {
    ...{
      method: 'POST',
      path: '/v2/gn/infracoes/:idInfracao/defesa',
      scope: 'gn.infractions.write',
    },
    kind: 'efi',
    handle: defend,
  },
]

const DEFENSE_BODY = z.strictObject({
  analise: z.literal('rejeitado'),
  justificativa: z.string().min(1),
})
const DAY_MS = 86_400_000
const ANALYSIS_DAYS = 7

/** A payer contests a payment: its amount is blocked until the dispute ends. */
export function openDispute(bank: Bank, pix: ReceivedPix): Dispute {
  const openedAt = bank.now()
  const dispute: Dispute = {
    id: makeHexId(),
    pix,
    status: 'ABERTA',
    openedAt,
    changedAt: openedAt,
    protocol: bank.disputes.size + 1,
    dueAt: new Date(+openedAt + ANALYSIS_DAYS * DAY_MS),
  }
  bank.disputes.set(dispute.id, dispute)
  return dispute
}

/** Ends a dispute; an accepted one takes the money that was not refunded. */
export function closeDispute(bank: Bank, dispute: Dispute, isAccepted: boolean): void {
  dispute.status = isAccepted ? 'ACEITA' : 'REJEITADA'
  dispute.changedAt = bank.now()
  if (isAccepted) takeBack(bank, dispute.pix, refundable(dispute.pix))
}

function defend(bank: Bank, { params, body }: Call): Reply {
  const { justificativa } = readBody(DEFENSE_BODY, body, 'invalidRequest')
  const dispute = bank.disputes.get(params.idInfracao ?? '')
  if (!dispute) throw new Refusal('disputeNotFound', 'There is no such dispute')
  if (dispute.defense) throw new Refusal('disputeDefended', 'The dispute has a defense')
  if (dispute.status !== 'ABERTA' || bank.now() > dispute.dueAt)
    throw new Refusal('disputeTooLate', 'The dispute takes no defense any more')
  Object.assign(dispute, { status: 'EM_DEFESA', defense: justificativa, changedAt: bank.now() })
  return { status: 200, body: renderDispute(bank, dispute) }
}

function listDisputes(bank: Bank, call: Call): Reply {
  const { parametros, records } = selectPage(bank, call, {
    records: [...bank.disputes.values()],
    timeOf: ({ openedAt }) => openedAt,
    filters: {},
    refusal: 'pixQueryInvalid',
  })
  const infracoes = records.map(dispute => renderDispute(bank, dispute))
  return { status: 200, body: { parametros, infracoes } }
}

function renderDispute(bank: Bank, dispute: Dispute) {
  const { id, protocol, pix, status, openedAt, changedAt, dueAt, defense } = dispute
  const { payer } = pix
  const isOver = status === 'ACEITA' || status === 'REJEITADA'
  return {
    idInfracao: id,
    endToEndId: pix.e2eid,
    protocolo: protocol,
    chave: pix.key,
    dataTransacao: pix.at.toISOString(),
    valor: pix.amount / 100,
    status,
    razao: 'Fraude',
    tipoSituacao: 'golpe',
    defesa: defense,
    identificadorTicket: [],
    dadosAnalise: {
      abertura: openedAt.toISOString(),
      prazoFinalizacao: dueAt.toISOString(),
      finalizacao: isOver ? changedAt.toISOString() : undefined,
    },
    origem: party('Banco do Pagador', payer.nome, payer.cpf ?? payer.cnpj ?? ''),
    destino: party('Banco de Teste', bank.settings.ownerName, '11222333000181'),
    criadoEm: openedAt.toISOString(),
    atualizadoEm: changedAt.toISOString(),
  }
}

function party(nomeParticipante: string, nome: string, documento: string) {
  return { nomeParticipante, conta: 1234, nome, documento }
}
