import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Each host is a network namespace on one bridge. The last number of its address. */
const HOSTS = {
  balancer: 10,
  web1: 11,
  web2: 12,
  worker1: 21,
  worker2: 22,
  pooler: 30,
  db1: 41,
  db2: 42,
  etcd1: 51,
  etcd2: 52,
  etcd3: 53,
  redis: 60,
  dns: 70,
} as const
export type Host = keyof typeof HOSTS
export const HOST_NAMES = Object.keys(HOSTS) as Host[]

const DOMAIN = 'cluster.test'
/** Merchants and receivers of webhooks, and this program: the address of the bridge. */
export const OUTSIDE = { address: '10.77.0.1', name: `outside.${DOMAIN}` }

export function addressOf(host: Host): string {
  return `10.77.0.${HOSTS[host]}`
}

export function nameOf(host: Host): string {
  return `${host}.${DOMAIN}`
}

/**
 * Builds the network. This process is already in a network namespace, a mount namespace and a process
 * namespace of its own: all that is made here ends with it.
 */
export function makeNetwork(folder: string): void {
  hideSystemFolders(folder)
  ip('link set lo up')
  ip('link add cluster type bridge')
  ip(`addr add ${OUTSIDE.address}/24 dev cluster`)
  ip('link set cluster up')
  for (const host of HOST_NAMES) {
    ip(`netns add ${host}`)
    ip(`link add ${host} type veth peer name eth0 netns ${host}`)
    ip(`link set ${host} master cluster up`)
    ip(`-n ${host} addr add ${addressOf(host)}/24 dev eth0`)
    ip(`-n ${host} link set lo up`)
    ip(`-n ${host} link set eth0 up`)
  }
}

/** Pulls the cable of a host, or plugs it in. */
export function setCable(host: Host, isConnected: boolean): void {
  ip(`link set ${host} ${isConnected ? 'up' : 'down'}`)
}

export function dnsArgs(): string[] {
  const records = [
    OUTSIDE,
    ...HOST_NAMES.map(host => ({ address: addressOf(host), name: nameOf(host) })),
  ]
  return [
    '--keep-in-foreground',
    '--no-hosts',
    '--no-resolv',
    '--user=root',
    '--pid-file=',
    `--listen-address=${addressOf('dns')}`,
    '--bind-interfaces',
    '--local-ttl=5',
    ...records.map(({ name, address }) => `--host-record=${name},${address}`),
  ]
}

/** Gives this mount namespace an empty /run and the resolver of the cluster. */
function hideSystemFolders(folder: string): void {
  const resolver = `nameserver ${addressOf('dns')}\noptions timeout:1 attempts:2\n`
  const resolverFile = realpathSync('/etc/resolv.conf')
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/run'])
  if (resolverFile.startsWith('/run/')) {
    mkdirSync(dirname(resolverFile), { recursive: true })
    writeFileSync(resolverFile, resolver)
    return
  }
  const file = join(folder, 'resolv.conf')
  writeFileSync(file, resolver)
  execFileSync('mount', ['--bind', file, resolverFile])
}

function ip(line: string): void {
  execFileSync('ip', line.split(' '))
}
