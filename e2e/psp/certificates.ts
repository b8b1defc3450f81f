import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Paths of PEM files. */
export interface KeyPair {
  cert: string
  key: string
}

/** Everything in it is a path of a file below the folder. */
export interface Certificates {
  /** The authority that signed all pairs but the foreign ones. */
  authority: KeyPair
  server: KeyPair
  expiredServer: KeyPair
  /** Signed by another authority, for the same names. */
  foreignServer: KeyPair
  foreignAuthority: KeyPair
  client: KeyPair
  expiredClient: KeyPair
  foreignClient: KeyPair
  /** With which the bank sends notices. */
  notices: KeyPair
  /** For a server that receives notices on 127.0.0.1 or localhost. */
  receiver: KeyPair
  /** The pair `client` as PKCS #12: with an empty passphrase, with `segredo`, and in RC2 as old exporters write it. */
  p12: { plain: string; protected: string; legacy: string }
}

export const P12_PASSPHRASE = 'segredo'

const RC2 = [
  '-legacy',
  '-certpbe',
  'PBE-SHA1-RC2-40',
  '-keypbe',
  'PBE-SHA1-RC2-40',
  '-macalg',
  'sha1',
]
const NAMES = 'subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:pix.example.test'
const DAY_MS = 86_400_000

/** Makes two authorities and their certificates with the program `openssl`: Node has no X.509 writer. */
export function makeCertificates(folder: string): Certificates {
  mkdirSync(folder, { recursive: true })
  const own = new Authority(folder, 'authority')
  const foreign = new Authority(folder, 'foreign-authority')
  const client = own.issue('client', 'clientAuth')
  return {
    authority: own.pair,
    foreignAuthority: foreign.pair,
    server: own.issue('server', 'serverAuth'),
    expiredServer: own.issue('expired-server', 'serverAuth', -DAY_MS),
    foreignServer: foreign.issue('foreign-server', 'serverAuth'),
    client,
    expiredClient: own.issue('expired-client', 'clientAuth', -DAY_MS),
    foreignClient: foreign.issue('foreign-client', 'clientAuth'),
    notices: own.issue('notices', 'clientAuth'),
    receiver: own.issue('receiver', 'serverAuth'),
    p12: {
      plain: exportP12(folder, client, { name: 'client.p12', passphrase: '' }),
      protected: exportP12(folder, client, {
        name: 'client-protected.p12',
        passphrase: P12_PASSPHRASE,
      }),
      legacy: exportP12(folder, client, { name: 'client-legacy.p12', passphrase: '' }, ...RC2),
    },
  }
}

class Authority {
  readonly pair: KeyPair
  readonly #folder: string
  readonly #config: string

  constructor(folder: string, name: string) {
    this.#folder = join(folder, name)
    mkdirSync(this.#folder)
    writeFileSync(join(this.#folder, 'index.txt'), '')
    writeFileSync(join(this.#folder, 'serial'), '01')
    this.#config = join(this.#folder, 'openssl.cnf')
    writeFileSync(this.#config, describeAuthority(this.#folder))
    this.pair = { cert: join(this.#folder, 'ca.pem'), key: join(this.#folder, 'ca.key') }
    runOpenssl(
      ...['req', '-x509', ...this.#newKey(this.pair.key), '-subj', `/CN=${name}`],
      ...['-days', '2', '-extensions', 'authority', '-out', this.pair.cert],
    )
  }

  /** Issues a certificate that is valid from two days before its end. */
  issue(name: string, usage: string, validForMs = DAY_MS): KeyPair {
    const path = (ending: string) => join(this.#folder, `${name}.${ending}`)
    const end = Date.now() + validForMs
    writeFileSync(path('ext'), `basicConstraints=CA:FALSE\nextendedKeyUsage=${usage}\n${NAMES}\n`)
    runOpenssl(
      ...['req', '-new', ...this.#newKey(path('key')), '-subj', `/CN=${name}`],
      ...['-out', path('csr')],
    )
    runOpenssl(
      ...['ca', '-config', this.#config, '-batch', '-notext'],
      ...['-startdate', certificateTime(end - 2 * DAY_MS), '-enddate', certificateTime(end)],
      ...['-extfile', path('ext'), '-in', path('csr'), '-out', path('pem')],
    )
    return { cert: path('pem'), key: path('key') }
  }

  #newKey(file: string): string[] {
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
    return ['-config', this.#config, ...curve, '-nodes', '-keyout', file]
  }
}

function describeAuthority(folder: string): string {
  return `
[ca]
default_ca = this
[this]
database = ${join(folder, 'index.txt')}
new_certs_dir = ${folder}
certificate = ${join(folder, 'ca.pem')}
private_key = ${join(folder, 'ca.key')}
default_md = sha256
serial = ${join(folder, 'serial')}
policy = names
unique_subject = no
[names]
commonName = supplied
[req]
distinguished_name = subject
[subject]
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
`
}

function certificateTime(at: number): string {
  return `${new Date(at).toISOString().replace(/\D/g, '').slice(0, 14)}Z`
}

function exportP12(
  folder: string,
  pair: KeyPair,
  { name, passphrase }: { name: string; passphrase: string },
  ...ciphers: string[]
): string {
  const file = join(folder, name)
  runOpenssl(
    ...['pkcs12', '-export', '-in', pair.cert, '-inkey', pair.key, ...ciphers],
    ...['-passout', `pass:${passphrase}`, '-out', file],
  )
  return file
}

function runOpenssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}

/** Reads a pair for the options of `node:https`. */
export function readPair(pair: KeyPair): { cert: Buffer; key: Buffer } {
  return { cert: readFileSync(pair.cert), key: readFileSync(pair.key) }
}
