/**
 * A test bank in a process of its own: `node e2e/psp/main.ts '<settings>' [folder] ['<certificates>']`,
 * with JSON in quotes. Makes certificates if it gets none. Prints one line of JSON when it is ready.
 * Ends with its standard input. The folder must be empty.
 */
import { mkdtempSync } from 'node:fs'
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
const ready = { folder, port, controlPort, certificates, keys, clientId, clientSecret }
process.stdout.write(`${JSON.stringify(ready)}\n`)
process.stdin.resume().on('end', () => process.exit())
