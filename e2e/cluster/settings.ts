import { addressOf, type Host, nameOf } from '#e2e/cluster/network.ts'

/** Settings of the programs around Troco. docs/operate/failover.md repeats those that differ from defaults. */

export const ROLES = {
  postgres: 'superuser-of-the-cluster',
  replicator: 'replicator-of-the-cluster',
  troco_owner: 'owner-of-the-cluster',
  troco: 'application-of-the-cluster',
}
type Role = keyof typeof ROLES

export const ETCDS = ['etcd1', 'etcd2', 'etcd3'] as const
/** Where Debian has the programs of its PostgreSQL. */
export const POSTGRES_BIN = '/usr/lib/postgresql/15/bin'

/** Seconds after which the replica takes over from a primary that has vanished. */
export const TTL_SECONDS = 20

export function databaseUrl(role: Role, host: Host, database = 'troco'): string {
  const port = host === 'pooler' ? 6432 : 5432
  return `postgresql://${role}:${ROLES[role]}@${nameOf(host)}:${port}/${database}`
}

export function etcdArgs(host: Host, folder: string): string[] {
  const [peer, client] = [2380, 2379].map(port => `http://${addressOf(host)}:${port}`)
  const values = Object.entries({
    name: host,
    'data-dir': folder,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'listen-client-urls': client,
    'advertise-client-urls': client,
    'initial-cluster': ETCDS.map(each => `${each}=http://${addressOf(each)}:2380`).join(),
    // The defaults, 100 and 1000 ms, fail on a busy machine.
    'heartbeat-interval': '250',
    'election-timeout': '2500',
  })
  return ['--enable-v2', ...values.flatMap(([name, value]) => [`--${name}`, `${value}`])]
}

/**
 * JSON is YAML. By etcd's API of version 2: with version 3, Patroni before 3.0.3 lets a primary that hung take
 * the lock back from its successor, whose commits are lost.
 */
export function patroniSettings(host: Host, folder: string): string {
  const address = addressOf(host)
  const credentials = (username: Role) => ({ username, password: ROLES[username] })
  return JSON.stringify({
    scope: 'troco',
    name: host,
    restapi: { listen: `${address}:8008`, connect_address: `${address}:8008` },
    etcd: { hosts: ETCDS.map(each => `${addressOf(each)}:2379`) },
    bootstrap: {
      dcs: {
        ttl: TTL_SECONDS,
        loop_wait: 5,
        retry_timeout: 5,
        synchronous_mode: true,
        failsafe_mode: true,
        primary_start_timeout: 10,
        postgresql: {
          use_pg_rewind: true,
          parameters: {
            wal_sender_timeout: '5s',
            wal_receiver_timeout: '5s',
            max_slot_wal_keep_size: '128MB',
            max_wal_size: '128MB',
          },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
    },
    postgresql: {
      listen: `${address}:5432`,
      connect_address: `${address}:5432`,
      data_dir: `${folder}/data`,
      bin_dir: POSTGRES_BIN,
      pgpass: `${folder}/pgpass`,
      authentication: {
        superuser: credentials('postgres'),
        replication: credentials('replicator'),
      },
      parameters: { unix_socket_directories: folder },
      pg_hba: [
        'local all all trust',
        'host replication replicator 10.77.0.0/24 scram-sha-256',
        'host all all 10.77.0.0/24 scram-sha-256',
      ],
    },
  })
}

/** PgBouncer's own defaults, except for its mode and the pause after a failed login. */
export function pgbouncerSettings(usersFile: string): string {
  return `[databases]
troco = host=${nameOf('balancer')} port=5432
[pgbouncer]
listen_addr = ${addressOf('pooler')}
listen_port = 6432
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${usersFile}
pool_mode = transaction
server_login_retry = 1
`
}

export function pgbouncerUsers(): string {
  return Object.entries(ROLES)
    .map(([name, password]) => `"${name}" "${password}"\n`)
    .join('')
}

export function haproxySettings(certificateFile: string): string {
  return `global
  maxconn 2000
defaults
  timeout connect 1s
  timeout client 60s
  timeout server 60s
  option redispatch 1
  retries 2
  http-error status 502 content-type application/json string '{"error":"Bad gateway"}' hdr x-error-code service_unavailable hdr retry-after 1
  http-error status 503 content-type application/json string '{"error":"Service unavailable"}' hdr x-error-code service_unavailable hdr retry-after 1
  http-error status 504 content-type application/json string '{"error":"Gateway timeout"}' hdr x-error-code service_unavailable hdr retry-after 1
frontend troco
  mode http
  bind ${addressOf('balancer')}:443 ssl crt ${certificateFile}
  option forwardfor
  default_backend webs
backend webs
  mode http
  timeout check 2s
  option httpchk GET /readyz
  default-server check inter 500ms fall 2 rise 1
  use-server web1 if !{ srv_is_up(alive/web2) }
  use-server web2 if !{ srv_is_up(alive/web1) }
  server web1 ${addressOf('web1')}:3000
  server web2 ${addressOf('web2')}:3000
backend alive
  mode http
  timeout check 100ms
  option httpchk GET /healthz
  default-server check inter 50ms fall 2 rise 2
  server web1 ${addressOf('web1')}:3000
  server web2 ${addressOf('web2')}:3000
listen database
  mode tcp
  bind ${addressOf('balancer')}:5432
  timeout client 24h
  timeout server 24h
  timeout check 2s
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server check port 8008 inter 500ms fastinter 200ms fall 3 rise 6 on-marked-down shutdown-sessions
  server db1 ${addressOf('db1')}:5432
  server db2 ${addressOf('db2')}:5432
`
}

/** Settings of every process of Troco. */
export function trocoSettings(folder: string): Record<string, string> {
  return {
    TROCO_ENV: 'production',
    NODE_ENV: 'production',
    TROCO_DATA: folder,
    TROCO_SECRET: 'a-secret-of-the-cluster-that-nobody-else-has',
    PUBLIC_URL: `https://${nameOf('balancer')}`,
    DATABASE_URL: databaseUrl('troco', 'pooler'),
    DATABASE_DIRECT_URL: databaseUrl('troco', 'balancer'),
    PG_NAMED_STATEMENTS: 'false',
    MIGRATE: 'false',
    REDIS_URL: `redis://${nameOf('redis')}:6379`,
    TRUST_PROXY: '1',
    DRAIN_SECONDS: '3',
    RATE_TOKEN_PER_SECOND: '2000',
    TEST_BYTES_PER_DAY: '0',
    RATE_TOKEN_BURST: '0',
    RATE_IP_PER_SECOND: '2000',
    RATE_IP_BURST: '0',
    WEBHOOK_ALLOW_CIDRS: '10.77.0.0/24',
    LOG_LEVEL: 'warn',
  }
}
