import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Certificate {
  cert: string
  key: string
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

/** Makes certificate authorities and what they issue with openssl, as banks and their customers do. */
export class Authority {
  private readonly folder = mkdtempSync(join(tmpdir(), 'troco-authority-'))

  constructor(name = 'Test authority') {
    this.run('req', '-x509', ...NEW_KEY, ...this.files('ca'), '-days', '2', '-subj', `/CN=${name}`)
  }

  get cert(): string {
    return this.read('ca.pem').toString()
  }

  /** Issues a certificate for localhost and 127.0.0.1, for servers and clients. */
  issue(name = 'localhost', days = 2): Certificate {
    const issuer = ['-CA', this.path('ca.pem'), '-CAkey', this.path('ca.key')]
    const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
    const end = ['-days', String(days), '-subj', `/CN=${name}`, ...names]
    this.run('req', '-x509', ...issuer, ...NEW_KEY, ...this.files('issued'), ...end)
    return { cert: this.read('issued.pem').toString(), key: this.read('issued.key').toString() }
  }

  /** Packs the certificate that was issued last. `-legacy`: encrypted as old exporters did (RC2, 3DES). */
  pack(passphrase: string, ...options: '-legacy'[]): Buffer {
    const from = ['-in', this.path('issued.pem'), '-inkey', this.path('issued.key')]
    const to = ['-out', this.path('issued.p12'), '-passout', `pass:${passphrase}`]
    this.run('pkcs12', '-export', ...options, ...from, ...to)
    return this.read('issued.p12')
  }

  close(): void {
    rmSync(this.folder, { recursive: true })
  }

  private files(name: string): string[] {
    return ['-out', this.path(`${name}.pem`), '-keyout', this.path(`${name}.key`)]
  }

  private path(name: string): string {
    return join(this.folder, name)
  }

  private read(name: string): Buffer {
    return readFileSync(this.path(name))
  }

  private run(...args: string[]): void {
    execFileSync('openssl', args, { stdio: 'ignore' })
  }
}
