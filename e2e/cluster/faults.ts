import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Host, setCable } from '#e2e/cluster/network.ts'
import { ETCDS, TTL_SECONDS } from '#e2e/cluster/settings.ts'
import { type Cluster, type DatabaseHost, until } from '#e2e/cluster/topology.ts'

export interface Fault {
  name: string
  /** Seconds of disturbance at most; null where a part that exists once is away for that long. */
  targetSeconds: number | null
  play: (cluster: Cluster) => Promise<void>
}

const PAUSE_MS = 30_000
const CUT_MS = 10_000
const NO_WORKER_MS = 300_000
const NEW_PRIMARY_MAX_MS = 90_000
/** Requests that were in progress, and the balancer's next check. */
const FRONT_SECONDS = 0.5
const POOLER_SECONDS = 3
const SWITCHOVER_SECONDS = 5
const DEATH_SECONDS = TTL_SECONDS + 5

/** Processes that this program started, except Patroni and PostgreSQL. */
const PROCESSES: { kind: string; service: string; target: number | null; paused: number | null }[] =
  [
    { kind: 'a web server', service: 'web1', target: FRONT_SECONDS, paused: FRONT_SECONDS },
    { kind: 'a worker', service: 'worker1', target: FRONT_SECONDS, paused: FRONT_SECONDS },
    { kind: 'the pooler', service: 'pgbouncer', target: POOLER_SECONDS, paused: null },
    { kind: 'the balancer', service: 'haproxy', target: POOLER_SECONDS, paused: null },
    { kind: 'one etcd', service: 'etcd1', target: 0, paused: 0 },
    { kind: 'Redis', service: 'redis', target: 0, paused: 0 },
  ]

export function listFaults(rounds: number): Fault[] {
  return [
    ...PROCESSES.flatMap(faultsOfProcess),
    ...faultsOfPatroni(),
    ...faultsOfPostgres('primary'),
    ...faultsOfPostgres('replica'),
    cut('a web server', 'web1', FRONT_SECONDS),
    cut('a worker', 'worker1', FRONT_SECONDS),
    cut('the pooler', 'pooler', null),
    cut('the balancer', 'balancer', null),
    cut('one etcd', 'etcd1', 0),
    cut('Redis', 'redis', 0),
    cut('the name server', 'dns', null, PAUSE_MS),
    { name: 'partition of the primary', targetSeconds: DEATH_SECONDS, play: cutPrimary },
    { name: 'partition of the replica for 10 s', targetSeconds: 10, play: cutReplica },
    { name: 'no worker for 5 minutes', targetSeconds: 0, play: stopWorkers },
    { name: 'etcd gone for 30 s', targetSeconds: 0, play: loseEtcd },
    { name: 'disk of the primary full', targetSeconds: null, play: fillDisk },
    { name: 'planned switchover', targetSeconds: SWITCHOVER_SECONDS, play: switchOver },
    ...Array.from({ length: rounds }, (_, round) => ({
      name: `death of the primary${rounds > 1 ? ` ${round + 1}` : ''}`,
      targetSeconds: DEATH_SECONDS,
      play: killPrimary,
    })),
  ]
}

function faultsOfProcess({ kind, service, target, paused }: (typeof PROCESSES)[number]): Fault[] {
  return [
    {
      name: `kill -9 of ${kind}`,
      targetSeconds: target,
      play: async cluster => cluster.service(service).signal('SIGKILL'),
    },
    {
      name: `SIGSTOP of ${kind} for 30 s`,
      targetSeconds: paused,
      play: cluster => pauseFor30s(signal => cluster.service(service).signal(signal)),
    },
    {
      name: `restart of ${kind}`,
      targetSeconds: target,
      play: cluster => cluster.service(service).restart(),
    },
  ]
}

function faultsOfPatroni(): Fault[] {
  const patroni = async (cluster: Cluster) =>
    cluster.service(`patroni-${(await cluster.roles()).primary}`)
  return [
    {
      name: 'kill -9 of Patroni at the primary',
      targetSeconds: SWITCHOVER_SECONDS,
      play: async cluster => (await patroni(cluster)).signal('SIGKILL', true),
    },
    {
      name: 'SIGSTOP of Patroni at the primary for 30 s',
      targetSeconds: DEATH_SECONDS,
      async play(cluster) {
        const service = await patroni(cluster)
        await pauseFor30s(signal => service.signal(signal, true))
      },
    },
    {
      name: 'restart of Patroni at the primary',
      targetSeconds: SWITCHOVER_SECONDS,
      play: async cluster => (await patroni(cluster)).restart(),
    },
  ]
}

function faultsOfPostgres(role: 'primary' | 'replica'): Fault[] {
  const isPrimary = role === 'primary'
  return [
    {
      name: `kill -9 of the ${role}`,
      targetSeconds: isPrimary ? DEATH_SECONDS : 10,
      play: async cluster => cluster.signalPostgres((await cluster.roles())[role], 'SIGKILL'),
    },
    {
      name: `SIGSTOP of the ${role} for 30 s`,
      targetSeconds: isPrimary ? DEATH_SECONDS : 10,
      async play(cluster) {
        const host = (await cluster.roles())[role]
        await pauseFor30s(signal => cluster.signalPostgres(host, signal))
      },
    },
    {
      name: `restart of the ${role}`,
      targetSeconds: isPrimary ? SWITCHOVER_SECONDS : 10,
      play: async cluster => cluster.askPatroni((await cluster.roles())[role], '/restart'),
    },
  ]
}

async function pauseFor30s(send: (signal: NodeJS.Signals) => void): Promise<void> {
  send('SIGSTOP')
  await sleep(PAUSE_MS)
  send('SIGCONT')
}

function cut(kind: string, host: Host, targetSeconds: number | null, forMs = CUT_MS): Fault {
  return {
    name: `partition of ${kind} for ${forMs / 1_000} s`,
    targetSeconds,
    async play() {
      setCable(host, false)
      await sleep(forMs)
      setCable(host, true)
    },
  }
}

async function cutPrimary(cluster: Cluster): Promise<void> {
  const { primary } = await cluster.roles()
  setCable(primary, false)
  await untilPromoted(cluster, primary)
  setCable(primary, true)
}

async function cutReplica(cluster: Cluster): Promise<void> {
  const { replica } = await cluster.roles()
  setCable(replica, false)
  await sleep(CUT_MS)
  setCable(replica, true)
}

async function stopWorkers(cluster: Cluster): Promise<void> {
  const workers = ['worker1', 'worker2'].map(name => cluster.service(name))
  await Promise.all(workers.map(worker => worker.down()))
  await sleep(NO_WORKER_MS)
  for (const worker of workers) worker.start()
}

async function loseEtcd(cluster: Cluster): Promise<void> {
  await pauseFor30s(signal => {
    for (const name of ETCDS) cluster.service(name).signal(signal)
  })
}

/** Fills the disk to its last page; after half a minute, somebody makes space. */
async function fillDisk(cluster: Cluster): Promise<void> {
  const disk = cluster.diskOf((await cluster.roles()).primary)
  for (const size of [1_048_576, 4_096]) {
    try {
      for (;;) writeFileSync(join(disk, 'ballast'), Buffer.alloc(size, 1), { flag: 'a' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
  await sleep(PAUSE_MS)
  rmSync(join(disk, 'ballast'))
}

async function switchOver(cluster: Cluster): Promise<void> {
  const { primary, replica } = await cluster.roles()
  await cluster.askPatroni(primary, '/switchover', { leader: primary, candidate: replica })
}

/** The machine vanishes, and comes back after the replica has taken over. */
async function killPrimary(cluster: Cluster): Promise<void> {
  const { primary } = await cluster.roles()
  setCable(primary, false)
  await cluster.service(`patroni-${primary}`).down()
  cluster.signalPostgres(primary, 'SIGKILL')
  await untilPromoted(cluster, primary)
  await sleep(CUT_MS)
  setCable(primary, true)
  cluster.service(`patroni-${primary}`).start()
}

async function untilPromoted(cluster: Cluster, former: DatabaseHost): Promise<void> {
  const isPromoted = async () => {
    const primary = await cluster.findPrimary()
    return primary !== null && primary !== former
  }
  await until(isPromoted, 'No other primary took over', NEW_PRIMARY_MAX_MS)
}
