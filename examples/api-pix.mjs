// A program of a shop that speaks API Pix to a bank: it charges R$ 25,00, waits for the payment and refunds R$ 5,00 of it.
// Two lines say to whom. Test: node examples/api-pix.mjs
import { randomUUID } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'

const address = process.env.PIX_ADDRESS ?? 'http://localhost:3000/api/pix'
const credentials = JSON.parse(process.env.PIX_CREDENTIALS ?? '{}')

const { client_id, client_secret, chave, ...certificate } = credentials
const basic = Buffer.from(`${client_id}:${client_secret}`).toString('base64')
const grant = { grant_type: 'client_credentials' }
const { access_token } = await call('POST', '/oauth/token', grant, `Basic ${basic}`)

const txid = randomUUID().replaceAll('-', '')
const cob = await call('PUT', `/v2/cob/${txid}`, {
  calendario: { expiracao: 3600 },
  devedor: { cpf: '52998224725', nome: 'Maria da Silva' },
  valor: { original: '25.00' },
  chave,
  solicitacaoPagador: 'Pedido 1048',
})
console.log(cob.txid, cob.status, cob.pixCopiaECola)

let paid = cob
for (; paid.status === 'ATIVA'; await sleep(200)) paid = await call('GET', `/v2/cob/${txid}`)
const [pix] = paid.pix
console.log(paid.status, pix.valor)

const refund = `/v2/pix/${pix.endToEndId}/devolucao/1048`
let { status } = await call('PUT', refund, { valor: '5.00' })
for (; status === 'EM_PROCESSAMENTO'; await sleep(200)) ({ status } = await call('GET', refund))
console.log(status)

function call(method, path, body, authorization = `Bearer ${access_token}`) {
  const { request } = address.startsWith('https:') ? https : http
  const text = body && JSON.stringify(body)
  const headers = { authorization, ...(text && { 'content-type': 'application/json' }) }
  return new Promise((resolve, reject) => {
    const sent = request(address + path, { method, headers, ...certificate }, async response => {
      const received = Buffer.concat(await response.toArray()).toString()
      if (response.statusCode >= 300) reject(new Error(received))
      else resolve(JSON.parse(received))
    })
    sent.on('error', reject).end(text)
  })
}
