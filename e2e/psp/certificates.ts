import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, resolve } from 'node:path'

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

const RC2_CIPHER = 'PBE-SHA1-RC2-40'
const RC2 = ['-legacy', '-certpbe', RC2_CIPHER, '-keypbe', RC2_CIPHER, '-macalg', 'sha1']
const NAMES = 'subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:pix.example.test'
const DAY_MS = 86_400_000
const YEAR_DAYS = 365
/** Half of the time for which a certificate is valid. */
const SHARED_MS = DAY_MS / 2
const SHARED_FOLDER = resolve('.cache/bank-certificates')
const [OWN, FOREIGN] = ['authority', 'foreign-authority']

/** Returns certificates that all banks of a run share: making them takes longer than starting a bank. */
export function shareCertificates(): Certificates {
  const period = Math.floor(Date.now() / SHARED_MS)
  const nameOf = (number: number) => join(SHARED_FOLDER, String(number))
  const folder = nameOf(period)
  mkdirSync(SHARED_FOLDER, { recursive: true })
  if (!existsSync(folder)) {
    const draft = mkdtempSync(`${folder}-`)
    makeCertificates(draft)
    try {
      renameSync(draft, folder)
    } catch {
      // Another process was faster.
      rmSync(draft, { recursive: true })
    }
    rmSync(nameOf(period - 2), { recursive: true, force: true })
  }
  return certificatesIn(folder)
}

/** Returns the certificates of a folder, valid for a year. Makes them if it has none. */
export function keepCertificates(folder: string): Certificates {
  return existsSync(folder) ? certificatesIn(folder) : makeCertificates(folder, YEAR_DAYS)
}

/** Makes two authorities and their certificates with the program `openssl`: Node has no X.509 writer. */
function makeCertificates(folder: string, days = 1): Certificates {
  mkdirSync(folder, { recursive: true })
  const own = new Authority(join(folder, OWN), days)
  const foreign = new Authority(join(folder, FOREIGN), days)
  own.issue('server', 'serverAuth')
  own.issue('expired-server', 'serverAuth', -DAY_MS)
  foreign.issue('server', 'serverAuth')
  own.issue('client', 'clientAuth')
  own.issue('expired-client', 'clientAuth', -DAY_MS)
  foreign.issue('client', 'clientAuth')
  own.issue('notices', 'clientAuth')
  own.issue('receiver', 'serverAuth')
  const certificates = certificatesIn(folder)
  const { client, p12 } = certificates
  exportP12(client, p12.plain, '')
  exportP12(client, p12.protected, P12_PASSPHRASE)
  exportP12(client, p12.legacy, '', ...RC2)
  return certificates
}

function certificatesIn(folder: string): Certificates {
  const pair = (authority: string, name: string) => pairIn(join(folder, authority), name)
  return {
    authority: pair(OWN, 'ca'),
    foreignAuthority: pair(FOREIGN, 'ca'),
    server: pair(OWN, 'server'),
    expiredServer: pair(OWN, 'expired-server'),
    foreignServer: pair(FOREIGN, 'server'),
    client: pair(OWN, 'client'),
    expiredClient: pair(OWN, 'expired-client'),
    foreignClient: pair(FOREIGN, 'client'),
    notices: pair(OWN, 'notices'),
    receiver: pair(OWN, 'receiver'),
    p12: {
      plain: join(folder, 'client.p12'),
      protected: join(folder, 'client-protected.p12'),
      legacy: join(folder, 'client-legacy.p12'),
    },
  }
}

function pairIn(folder: string, name: string): KeyPair {
  return { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) }
}

class Authority {
  readonly #folder: string
  readonly #config: string
  readonly #validForMs: number

  constructor(folder: string, days: number) {
    this.#folder = folder
    this.#validForMs = days * DAY_MS
    mkdirSync(this.#folder)
    writeFileSync(join(this.#folder, 'index.txt'), '')
    writeFileSync(join(this.#folder, 'serial'), '01')
    this.#config = join(this.#folder, 'openssl.cnf')
    writeFileSync(this.#config, describeAuthority(this.#folder))
    const { cert, key } = pairIn(folder, 'ca')
    runOpenssl(
      'req',
      '-x509',
      ...this.#newKey(key),
      '-subj',
      `/CN=${basename(folder)}`,
      '-days',
      String(days + 1),
      '-extensions',
      'authority',
      '-out',
      cert,
    )
  }

  /** Issues a certificate that has been valid for two days, or was until its end. */
  issue(name: string, usage: string, validForMs = this.#validForMs): void {
    const path = (ending: string) => join(this.#folder, `${name}.${ending}`)
    const end = Date.now() + validForMs
    const start = Math.min(end, Date.now()) - 2 * DAY_MS
    writeFileSync(path('ext'), `basicConstraints=CA:FALSE\nextendedKeyUsage=${usage}\n${NAMES}\n`)
    runOpenssl(
      'req',
      '-new',
      ...this.#newKey(path('key')),
      '-subj',
      `/CN=${name}`,
      '-out',
      path('csr'),
    )
    runOpenssl(
      'ca',
      '-config',
      this.#config,
      '-batch',
      '-notext',
      '-startdate',
      certificateTime(start),
      '-enddate',
      certificateTime(end),
      '-extfile',
      path('ext'),
      '-in',
      path('csr'),
      '-out',
      path('pem'),
    )
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

function exportP12(pair: KeyPair, file: string, passphrase: string, ...ciphers: string[]): void {
  runOpenssl(
    'pkcs12',
    '-export',
    '-in',
    pair.cert,
    '-inkey',
    pair.key,
    ...ciphers,
    '-passout',
    `pass:${passphrase}`,
    '-out',
    file,
  )
}

function runOpenssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}

/** Reads a pair for the options of `node:https`. */
export function readPair(pair: KeyPair): { cert: Buffer; key: Buffer } {
  return { cert: readFileSync(pair.cert), key: readFileSync(pair.key) }
}
