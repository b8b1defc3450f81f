import type { BankClient } from '#lib/banks/api-pix/client.ts'
import { bodyOf, type Fields, fieldsOf, isStatusOk, type Reply } from '#lib/banks/api-pix/json.ts'
import { judgeQuestion, unknown } from '#lib/banks/api-pix/outcomes.ts'
import type { GatewayResult } from '#lib/banks/gateway.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'

const PATH = '/gn/config'

/**
 * Lists settings of the account that let in payments of no charge: without a key, without a txid, or by
 * a static code. With `corrects` they are changed, and all others stay as they are.
 */
export async function checkSettings(
  client: BankClient,
  receivingKeys: readonly string[],
  corrects: boolean,
  signal: AbortSignal,
): Promise<GatewayResult<string[]>> {
  const reply = await client.call({ method: 'GET', path: PATH }, signal)
  const { pix } = fieldsOf(bodyOf(reply))
  if (!isAnswered(reply)) return judgeQuestion(reply, 'no settings')
  // Changed as a whole, settings that were not read would be lost.
  if (typeof pix !== 'object' || pix === null) return unknown('no readable settings')
  const wrong = findWrong(fieldsOf(pix), receivingKeys)
  if (corrects && wrong.length > 0) {
    const body = { pix: correct(fieldsOf(pix), receivingKeys) }
    const changed = await client.call({ method: 'PUT', path: PATH, body }, signal)
    if (!isAnswered(changed)) return judgeQuestion(changed, 'no settings')
  }
  return { outcome: 'ok', value: wrong }
}

function findWrong(pix: Fields, keys: readonly string[]): string[] {
  const ofKeys = keys.flatMap(key => {
    const { recebimento } = fieldsOf(fieldsOf(pix.chaves)[key])
    const { txidObrigatorio, qrCodeEstatico } = fieldsOf(recebimento)
    return [
      ...(txidObrigatorio === true ? [] : ['txidObrigatorio']),
      ...(fieldsOf(qrCodeEstatico).recusarTodos === true ? [] : ['qrCodeEstatico.recusarTodos']),
    ].map(name => `${name} (${maskDictKey(key)})`)
  })
  return [...(pix.receberSemChave === false ? [] : ['receberSemChave']), ...ofKeys]
}

function correct(pix: Fields, keys: readonly string[]): Fields {
  const known = fieldsOf(pix.chaves)
  const changed = keys.map(key => {
    const settings = fieldsOf(known[key])
    const receiving = fieldsOf(settings.recebimento)
    const qrCodeEstatico = { ...fieldsOf(receiving.qrCodeEstatico), recusarTodos: true }
    const recebimento = { ...receiving, txidObrigatorio: true, qrCodeEstatico }
    return [key, { ...settings, recebimento }]
  })
  return { ...pix, receberSemChave: false, chaves: { ...known, ...Object.fromEntries(changed) } }
}

/** The response to a change has no body. */
function isAnswered(reply: Reply): boolean {
  return reply.kind === 'response' && isStatusOk(reply.status)
}
