import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { addressOf, dnsArgs, makeNetwork } from '#e2e/cluster/network.ts'
import { type Command, Service, signalAll } from '#e2e/cluster/processes.ts'
import {
  databaseUrl,
  ETCDS,
  etcdArgs,
  haproxySettings,
  patroniSettings,
  pgbouncerSettings,
  pgbouncerUsers,
  ROLES,
  trocoSettings,
} from '#e2e/cluster/settings.ts'
import { makeCertificate } from '#lib/testing/certificate.ts'
import { findProcessesIn, query } from '#lib/testing/embedded.ts'
import { TROCO } from '#lib/testing/worker-process.ts'

export type DatabaseHost = 'db1' | 'db2'
const DATABASE_HOSTS: DatabaseHost[] = ['db1', 'db2']
/** Each database has a disk of its own, in memory. */
const DISK_SIZE = '768m'
const START_MAX_MS = 120_000

interface Member {
  name: DatabaseHost
  role: string
  state: string
}

export class Cluster {
  /** Certificate of the balancer. */
  readonly certificate: string
  readonly #folder: string
  readonly #services = new Map<string, Service>()

  constructor(folder: string) {
    this.#folder = folder
    const { cert, key } = makeCertificate(['balancer.cluster.test'])
    this.certificate = cert
    this.#write('balancer.pem', `${cert}${key}`)
  }

  async start(report: (line: string) => void): Promise<void> {
    makeNetwork(this.#folder)
    report('Starting etcd, PostgreSQL under Patroni, PgBouncer, HAProxy and Redis')
    this.#run({ name: 'dns', host: 'dns', program: 'dnsmasq', args: dnsArgs() })
    for (const host of ETCDS) this.#runEtcd(host)
    for (const host of DATABASE_HOSTS) this.#runPatroni(host)
    this.#runBalancers()
    await this.#untilSynchronous()
    await this.#createDatabase()
    report('Starting two web servers and two workers')
    await this.#runTroco()
  }

  service(name: string): Service {
    const service = this.#services.get(name)
    if (!service) throw new Error(`There is no service ${name}`)
    return service
  }

  async stop(): Promise<void> {
    for (const service of [...this.#services.values()].reverse()) await service.down()
  }

  /** Returns the host of the primary; null while there is none. */
  async findPrimary(): Promise<DatabaseHost | null> {
    const members = await this.#listMembers()
    return members.find(({ role, state }) => role === 'leader' && state === 'running')?.name ?? null
  }

  async roles(): Promise<{ primary: DatabaseHost; replica: DatabaseHost }> {
    const primary = await this.findPrimary()
    if (!primary) throw new Error('There is no primary')
    return { primary, replica: primary === 'db1' ? 'db2' : 'db1' }
  }

  signalPostgres(host: DatabaseHost, signal: NodeJS.Signals): void {
    signalAll(findProcessesIn(join(this.diskOf(host), 'data')), signal)
  }

  diskOf(host: DatabaseHost): string {
    return join(this.#folder, host)
  }

  /** Asks Patroni's API of a host to do something. */
  async askPatroni(host: DatabaseHost, path: string, body: object = {}): Promise<void> {
    const init = { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(`http://${addressOf(host)}:8008${path}`, init)
    if (!response.ok) throw new Error(`Patroni answered ${response.status} to ${path}`)
  }

  /** Whether all servers are ready, and the replica is one that commits wait for. */
  async isWhole(): Promise<boolean> {
    const ready = (['web1', 'web2'] as const).map(host =>
      fetch(`http://${addressOf(host)}:3000/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
    return (await Promise.all(ready)).every(Boolean) && this.#isSynchronous()
  }

  async #isSynchronous(): Promise<boolean> {
    const members = await this.#listMembers()
    const states = members.map(
      ({ role, state }) => `${role} ${state.replace('streaming', 'running')}`,
    )
    return states.includes('leader running') && states.includes('sync_standby running')
  }

  async #listMembers(): Promise<Member[]> {
    for (const host of DATABASE_HOSTS) {
      const signal = AbortSignal.timeout(2_000)
      const answer = await fetch(`http://${addressOf(host)}:8008/cluster`, { signal }).catch(
        () => null,
      )
      if (answer?.ok) return ((await answer.json()) as { members: Member[] }).members
    }
    return []
  }

  async #untilSynchronous(): Promise<void> {
    await until(() => this.#isSynchronous(), 'PostgreSQL has no synchronous replica')
  }

  #run(command: Command): void {
    const service = new Service(command)
    this.#services.set(command.name, service)
    service.start()
  }

  #write(name: string, text: string): string {
    const file = join(this.#folder, name)
    writeFileSync(file, text)
    chmodSync(file, 0o644)
    return file
  }

  #runEtcd(host: (typeof ETCDS)[number]): void {
    this.#run({ name: host, host, program: 'etcd', args: etcdArgs(host, join(this.#folder, host)) })
  }

  #runPatroni(host: DatabaseHost): void {
    const disk = this.diskOf(host)
    mkdirSync(disk)
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_SIZE}`, 'tmpfs', disk])
    execFileSync('chown', ['postgres:', disk])
    const file = this.#write(`${host}.yml`, patroniSettings(host, disk))
    this.#run({ name: `patroni-${host}`, host, program: 'patroni', args: [file], user: 'postgres' })
  }

  #runBalancers(): void {
    const settings = this.#write('haproxy.cfg', haproxySettings(join(this.#folder, 'balancer.pem')))
    const pooler = this.#write(
      'pgbouncer.ini',
      pgbouncerSettings(this.#write('users.txt', pgbouncerUsers())),
    )
    this.#run({
      name: 'haproxy',
      host: 'balancer',
      program: 'haproxy',
      args: ['-W', '-f', settings],
      reloadSignal: 'SIGUSR2',
    })
    this.#run({
      name: 'pgbouncer',
      host: 'pooler',
      program: 'pgbouncer',
      args: [pooler],
      user: 'postgres',
      stopSignal: 'SIGINT',
    })
    const redis = ['--bind', addressOf('redis'), '--protected-mode', 'no', '--save', '']
    this.#run({ name: 'redis', host: 'redis', program: 'redis-server', args: redis })
  }

  async #createDatabase(): Promise<void> {
    const superuser = databaseUrl('postgres', 'balancer', 'postgres')
    for (const role of ['troco_owner', 'troco'] as const)
      await query(superuser, `CREATE ROLE ${role} LOGIN PASSWORD '${ROLES[role]}'`)
    await query(superuser, 'CREATE DATABASE troco OWNER troco_owner')
    await this.command(['migrate'])
  }

  /** Runs a command of `troco` with the owner's URL; returns what it printed. */
  async command(args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, [...TROCO, ...args], {
      env: {
        ...process.env,
        ...trocoSettings(this.#folder),
        DATABASE_OWNER_URL: databaseUrl('troco_owner', 'balancer'),
      },
    })
    return stdout.trim()
  }

  async #runTroco(): Promise<void> {
    const settings = trocoSettings(this.#folder)
    for (const host of ['web1', 'web2', 'worker1', 'worker2'] as const) {
      const isWeb = host.startsWith('web')
      const own = { HOST: addressOf(host), PORT: '3000', WORKER: 'false' }
      const args = [...TROCO, isWeb ? 'start' : 'worker']
      this.#run({
        name: host,
        host,
        program: process.execPath,
        args,
        settings: { ...settings, ...(isWeb ? own : {}) },
      })
    }
    await until(() => this.isWhole(), 'The servers are not ready')
  }
}

export async function until(
  condition: () => Promise<boolean>,
  complaint: string,
  maxMs = START_MAX_MS,
): Promise<void> {
  const deadline = Date.now() + maxMs
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(complaint)
    await sleep(250)
  }
}
