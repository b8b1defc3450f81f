/**
 * A test bank in a process of its own: `node e2e/psp/main.ts '<settings>' [folder] ['<certificates>']`,
 * with JSON in quotes. Without certificates, it has those of the folder, which it makes at its first
 * start. Prints one line of JSON when it is ready. Ends with its standard input. The folder gets the
 * files with which an installation connects to the bank.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Bank } from './bank.ts'
import { type KeyPair, keepCertificates } from './certificates.ts'
import { openControl } from './control.ts'
import { openFront } from './front.ts'
import { BankServer } from './server.ts'

const [settings = '{}', folder = mkdtempSync(join(tmpdir(), 'bank-')), given] =
  process.argv.slice(2)

const certificates = given ? JSON.parse(given) : keepCertificates(join(folder, 'certificates'))
const bank = new Bank(folder, certificates, JSON.parse(settings))
const server = new BankServer(bank)
const { keys, clientId, clientSecret, ports, troco } = bank.settings
const port = await server.listen(ports[0])
const controlPort = await openControl({ bank, server }, ports[1])
const trocoPort = troco === null ? null : await openFront(certificates, troco, ports[2])
const read = (file: string) => readFileSync(file, 'utf8')
const credentialsOf = ({ cert, key }: KeyPair) => ({
  client_id: clientId,
  client_secret: clientSecret,
  certificate: read(cert),
  private_key: read(key),
})
const files = {
  'settings.json': {
    api_url: `https://127.0.0.1:${port}/v2`,
    token_url: `https://127.0.0.1:${port}/oauth/token`,
    trusted_certificates: read(certificates.authority.cert),
  },
  'credentials.json': credentialsOf(certificates.client),
  'expired-credentials.json': credentialsOf(certificates.expiredClient),
}
for (const [name, content] of Object.entries(files))
  writeFileSync(join(folder, name), JSON.stringify(content), { mode: 0o600 })
const open = { port, controlPort, trocoPort }
const ready = { folder, ...open, certificates, keys, clientId, clientSecret }
process.stdout.write(`${JSON.stringify(ready)}\n`)
process.stdin.resume().on('end', () => process.exit())
