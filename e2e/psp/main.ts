/**
 * A test bank in a process of its own: `node e2e/psp/main.ts '<settings>' [folder] ['<certificates>']`,
 * with JSON in quotes. Makes certificates if it gets none. Prints one line of JSON when it is ready.
 * Ends with its standard input. The folder must be empty; it gets the files with which an installation
 * connects to the bank.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Bank } from './bank.ts'
import { makeCertificates } from './certificates.ts'
import { openControl } from './control.ts'
import { BankServer } from './server.ts'

const [settings = '{}', folder = mkdtempSync(join(tmpdir(), 'bank-')), given] =
  process.argv.slice(2)

const certificates = given ? JSON.parse(given) : makeCertificates(join(folder, 'certificates'))
const bank = new Bank(folder, certificates, JSON.parse(settings))
const server = new BankServer(bank)
const port = await server.listen()
const controlPort = await openControl({ bank, server })
const { keys, clientId, clientSecret } = bank.settings
const read = (file: string) => readFileSync(file, 'utf8')
const files = {
  'settings.json': {
    api_url: `https://127.0.0.1:${port}/v2`,
    token_url: `https://127.0.0.1:${port}/oauth/token`,
    trusted_certificates: read(certificates.authority.cert),
  },
  'credentials.json': {
    ...{ client_id: clientId, client_secret: clientSecret },
    certificate: read(certificates.client.cert),
    private_key: read(certificates.client.key),
  },
}
for (const [name, content] of Object.entries(files))
  writeFileSync(join(folder, name), JSON.stringify(content), { mode: 0o600 })
const ready = { folder, port, controlPort, certificates, keys, clientId, clientSecret }
process.stdout.write(`${JSON.stringify(ready)}\n`)
process.stdin.resume().on('end', () => process.exit())
