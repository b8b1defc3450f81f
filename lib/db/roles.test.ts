import { Client, type DatabaseError } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { connect, databaseLimits, disconnect } from '#lib/db/client.ts'
import { recordMigration } from '#lib/db/migrate.ts'
import { createApplicationRole, describeRole, inspectRole, prepareDatabase } from '#lib/db/roles.ts'
import { requireUtcSession, withClient, withoutLimits } from '#lib/db/server.ts'
import { ownerUrlOf, superuserUrlOf } from '#lib/testing/database.ts'
import { query } from '#lib/testing/embedded.ts'
import { inOwnDatabase, makeDatabase, runAsOwner } from '#lib/testing/fixtures.ts'
import { pickInTurn } from '#lib/testing/turn.ts'

inOwnDatabase()

const APPEND_ONLY = ['ledger_transfers', 'ledger_entries', 'events', 'audit_log']
/** insufficient_privilege */
const DENIED = '42501'

let client: Client
let owner: string
beforeAll(async () => {
  client = new Client({ connectionString: env().DATABASE_URL })
  await client.connect()
  const [row] = await query(ownerUrlOf(), 'SELECT current_user AS role')
  owner = String(row?.role)
})
afterAll(() => client.end())

async function attempt(sql: string): Promise<string> {
  await client.query('BEGIN')
  const code = await client.query(sql).then(
    () => 'done',
    (error: DatabaseError) => error.code ?? '',
  )
  await client.query('ROLLBACK')
  return code
}

describe.each(pickInTurn(APPEND_ONLY))('the application', table => {
  test.each([
    ['update', `UPDATE ${table} SET created_at = now()`],
    ['lock rows for an update of', `SELECT FROM ${table} FOR UPDATE`],
    ['delete from', `DELETE FROM ${table}`],
    ['truncate', `TRUNCATE ${table} CASCADE`],
    ['merge into', `MERGE INTO ${table} USING (SELECT 1) s ON true WHEN MATCHED THEN DELETE`],
    ['alter', `ALTER TABLE ${table} ADD COLUMN note text`],
    ['drop', `DROP TABLE ${table} CASCADE`],
    ['rename', `ALTER TABLE ${table} RENAME TO mine`],
    ['disable the triggers of', `ALTER TABLE ${table} DISABLE TRIGGER USER`],
    [
      'add a trigger to',
      `CREATE TRIGGER t BEFORE INSERT ON ${table} EXECUTE FUNCTION troco_refuse_change()`,
    ],
    ['add a rule to', `CREATE RULE r AS ON INSERT TO ${table} DO INSTEAD NOTHING`],
    ['take the privileges of', `GRANT ALL ON ${table} TO CURRENT_USER`],
    ['take over', `ALTER TABLE ${table} OWNER TO CURRENT_USER`],
  ])(`may not %s ${table}`, async (_what, sql) => {
    const code = await attempt(sql)
    // A GRANT without the right to grant only warns; the privilege must then be missing.
    if (code !== 'done') expect(code).toBe(DENIED)
    else expect(sql).toMatch(/^GRANT/)
    expect(await attempt(`UPDATE ${table} SET created_at = now()`)).toBe(DENIED)
  })

  test(`reaches ${table} by no cascade of a foreign key`, async () => {
    const { rows } = await client.query(
      `SELECT conname FROM pg_constraint WHERE contype = 'f' AND conrelid = '${table}'::regclass
         AND (confdeltype NOT IN ('a', 'r') OR confupdtype NOT IN ('a', 'r'))`,
    )
    expect(rows).toEqual([])
  })

  test(`may read ${table}`, async () => {
    expect(await attempt(`SELECT * FROM ${table} LIMIT 1`)).toBe('done')
  })
})

/** Written by prisma/functions/troco_book.sql and few other functions of the owner alone. */
const WRITTEN_BY_FUNCTIONS = [
  ...['ledger_accounts', 'ledger_transfers', 'ledger_entries', 'event_sequences', 'events'].flatMap(
    table => ['INSERT', 'UPDATE', 'DELETE'].map(right => [right, table] as const),
  ),
  ['INSERT', 'deliveries'] as const,
]

test.each(WRITTEN_BY_FUNCTIONS)('the application has no %s on %s', async (right, table) => {
  const statements = {
    INSERT: `INSERT INTO ${table} DEFAULT VALUES`,
    UPDATE: `UPDATE ${table} SET account_id = account_id`,
    DELETE: `DELETE FROM ${table}`,
  }
  expect(await attempt(statements[right as keyof typeof statements])).toBe(DENIED)
  const { rows } = await client.query(
    'SELECT has_table_privilege($1, $2) OR ($2 <> $3 AND has_any_column_privilege($1, $2)) AS has',
    [table, right, 'DELETE'],
  )
  expect(rows).toEqual([{ has: false }])
})

describe('the application may not', () => {
  test.each([
    ['switch off triggers', 'SET session_replication_role = replica'],
    [
      'switch off triggers by a function',
      `SELECT set_config('session_replication_role', 'replica', true)`,
    ],
    ['run a program', `COPY (SELECT 1) TO PROGRAM 'true'`],
    ['read the output of a program', `COPY accounts FROM PROGRAM 'true'`],
    ['write a file', `COPY (SELECT 1) TO '/tmp/x'`],
    ['read a file', `SELECT pg_read_file('postgresql.conf')`],
    ['read a file into a large object', `SELECT lo_import('/etc/passwd')`],
    ['list a folder', `SELECT pg_ls_dir('.')`],
    ['read password hashes', 'SELECT rolpassword FROM pg_authid'],
    ['read password hashes by the view', 'SELECT passwd FROM pg_shadow'],
    ['create a table', 'CREATE TABLE mine (id int)'],
    [
      'create a temporary table, which could hide a real one',
      'CREATE TEMPORARY TABLE tokens (id int)',
    ],
    ['create a function', 'CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$'],
    [
      'replace a function',
      'CREATE OR REPLACE FUNCTION troco_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$',
    ],
    ['create a schema', 'CREATE SCHEMA mine'],
    ['create an extension', 'CREATE EXTENSION dblink'],
    ['create a role', 'CREATE ROLE mine'],
    ['become a superuser', 'ALTER ROLE CURRENT_USER SUPERUSER'],
    ['reload the configuration', 'SELECT pg_reload_conf()'],
    ['change the record of migrations', 'DELETE FROM _prisma_migrations'],
    [
      'change a constraint',
      'ALTER TABLE ledger_accounts DROP CONSTRAINT ledger_accounts_available_not_negative',
    ],
    ['truncate another table', 'TRUNCATE charges CASCADE'],
    ['write to the catalog', 'UPDATE pg_class SET relowner = 10'],
  ])('%s', async (_what, sql) => {
    expect(await attempt(sql)).toBe(DENIED)
  })

  test('become the owner or the superuser, or change them', async () => {
    for (const role of [owner, 'postgres']) {
      expect(await attempt(`SET ROLE ${role}`), role).toBe(DENIED)
      expect(await attempt(`SET SESSION AUTHORIZATION ${role}`), role).toBe(DENIED)
      expect(await attempt(`ALTER ROLE ${role} PASSWORD 'x'`), role).toBe(DENIED)
      expect(await attempt(`GRANT ${role} TO CURRENT_USER`), role).toBe(DENIED)
    }
  })

  test('change the settings of the server', async () => {
    const change = client.query(`ALTER SYSTEM SET fsync = 'off'`)
    await expect(change).rejects.toMatchObject({ code: DENIED })
  })

  test('change the database, not even its settings', async () => {
    const name = client.database
    for (const change of ['RENAME TO mine', 'OWNER TO CURRENT_USER', `SET timezone TO 'x'`])
      expect(await attempt(`ALTER DATABASE ${name} ${change}`), change).toBe(DENIED)
    await client.query(`DROP DATABASE ${name}`).catch(({ code }) => expect(code).toBe(DENIED))
  })

  test('delete events younger than the retention, also not by the function of the owner', async () => {
    const account = newId()
    const [young, old] = [newId(), newId()]
    await query(
      superuserUrlOf(),
      `SET session_replication_role = replica;
       INSERT INTO events (account_id, id, mode, sequence, type, subject_id, resource, created_at)
       VALUES ('${account}', '${young}', 'test', 2, 'transaction.paid', '${account}', '{}', now() - interval '89 days'),
         ('${account}', '${old}', 'test', 1, 'transaction.paid', '${account}', '{}', now() - interval '91 days')`,
    )
    const prune = (...ids: string[]) =>
      client.query('SELECT troco_prune_events($1, $2) AS pruned', [ids.map(() => account), ids])
    await expect(prune(old, young)).rejects.toMatchObject({ constraint: 'events_retention' })
    expect((await prune(old)).rows).toEqual([{ pruned: 1 }])
  })
})

describe('the limits of the application', () => {
  const SETTINGS = `SELECT current_setting('timezone') AS zone,
    current_setting('statement_timeout') AS statement,
    current_setting('idle_in_transaction_session_timeout') AS idle,
    current_setting('client_connection_check_interval') AS client`
  const LIMITS = {
    zone: 'UTC',
    statement: `${databaseLimits().statement}ms`,
    idle: '1min',
    client: '500ms',
  }

  test('are those of its role, and hold behind a pooler that resets sessions', async () => {
    expect((await client.query(SETTINGS)).rows).toEqual([LIMITS])
    await client.query(`SET timezone TO 'Asia/Tokyo'; SET statement_timeout = 0`)
    for (const reset of ['RESET ALL', 'DISCARD ALL']) {
      await client.query(reset)
      expect((await client.query(SETTINGS)).rows, reset).toEqual([LIMITS])
    }
  })

  /** A role of the test's own: settings of a role hold in all databases of the server. */
  async function makeRole() {
    const url = new URL(await makeDatabase())
    const ownerUrl = ownerUrlOf(url.href)
    url.username = `app_${newId().replaceAll('-', '')}`
    await query(superuserUrlOf(), `CREATE ROLE ${url.username} LOGIN PASSWORD '${url.password}'`)
    await query(ownerUrl, `GRANT CONNECT ON DATABASE ${url.pathname.slice(1)} TO ${url.username}`)
    const urls = { url: url.href, ownerUrl }
    await prepareDatabase(urls)
    return { ...urls, start: () => prepareDatabase(urls), database: url.pathname.slice(1) }
  }
  const readStored = (url: string) =>
    query(url, 'SELECT * FROM pg_db_role_setting WHERE setrole = current_user::regrole')

  test.each([
    ['another statement limit', `SET statement_timeout TO '0'`],
    ['a statement limit that no statement meets', `SET statement_timeout TO '1'`],
    ['only reading', 'SET default_transaction_read_only TO on'],
    ['another search path', `SET search_path TO 'elsewhere'`],
    ['an idle limit of 1 ms', `SET idle_in_transaction_session_timeout TO '1'`],
    ['a limit in this database alone', `IN DATABASE %d SET statement_timeout TO '0'`],
    ['only reading in this database', 'IN DATABASE %d SET default_transaction_read_only TO on'],
    ['nothing', 'RESET ALL'],
  ])('return at the next start after the role gave itself %s', async (_what, change) => {
    const { url, database, start } = await makeRole()
    const before = await readStored(url)
    await query(url, `ALTER ROLE CURRENT_USER ${change.replace('%d', database)}`)
    await start()
    expect(await readStored(url)).toEqual(before)
    expect(await query(url, SETTINGS)).toEqual([LIMITS])
    await query(url, 'DELETE FROM charges')
  })

  test('are lifted although the statement that lifts them exceeds 1 ms three times', async () => {
    const options = '-c statement_timeout=1'
    const limited = new Client({ connectionString: env().DATABASE_URL, options })
    await limited.connect()
    const send = limited.query.bind(limited)
    const codes: (string | undefined)[] = []
    const sendSlowly = (sql: string) =>
      send(codes.length < 3 ? `SELECT pg_sleep(1); ${sql}` : sql).catch((error: DatabaseError) => {
        codes.push(error.code)
        throw error
      })
    const show = () => send('SHOW statement_timeout')
    const { rows } = await withoutLimits(Object.assign(limited, { query: sendSlowly }), show)
    expect(codes.slice(0, 3)).toEqual(['57014', '57014', '57014'])
    expect(rows).toEqual([{ statement_timeout: '0' }])
    await limited.end()
  })

  test('return also at a start without the URL of the owner', async () => {
    const { url } = await makeRole()
    await query(url, 'ALTER ROLE CURRENT_USER SET default_transaction_read_only TO on')
    await prepareDatabase({ url, ownerUrl: undefined })
    await query(url, 'DELETE FROM charges')
  })

  test('are reported by value if the role changed them', async () => {
    const { url, database, start } = await makeRole()
    const shared = env().DATABASE_URL ?? ''
    await disconnect()
    supplyEnv({ DATABASE_URL: url })
    await query(
      url,
      `ALTER ROLE CURRENT_USER SET statement_timeout TO '0';
       ALTER ROLE CURRENT_USER IN DATABASE ${database} SET default_transaction_read_only TO on`,
    )
    const report = await inspectRole()
    expect(report).toMatchObject({
      excess: [],
      missing: [`statement_timeout=${databaseLimits().statement}`],
      foreign: ['default_transaction_read_only=on in this database', 'statement_timeout=0'],
    })
    expect(describeRole(report).isLimited).toBe(false)
    await start()
    expect(await inspectRole()).toMatchObject({ missing: [], foreign: [] })
    await disconnect()
    supplyEnv({ DATABASE_URL: shared })
  })

  test('are not written again if nothing differs', async () => {
    const { url, start } = await makeRole()
    const read = () => query(url, 'SELECT xmin, * FROM pg_db_role_setting')
    const own = async () => (await read()).filter(({ setrole }) => setrole === role?.oid)
    const [role] = await query(url, 'SELECT current_user::regrole::oid AS oid')
    const before = await own()
    await start()
    expect(await own()).toEqual(before)
    expect(before).toHaveLength(1)
  })

  test('and the privileges of a newer version remain, whether or not this one may change them', async () => {
    const { url, ownerUrl } = await makeRole()
    await query(
      ownerUrl,
      `CREATE TABLE newer (id int); GRANT SELECT ON newer TO ${new URL(url).username}`,
    )
    const migration = { name: '99990101000000_newer', checksum: '', sql: 'CREATE TABLE newer' }
    await withClient(ownerUrl, 'DATABASE_OWNER_URL', own => recordMigration(own, migration))
    await query(url, `ALTER ROLE CURRENT_USER SET statement_timeout TO '2700'`)
    for (const isAllowed of [false, true])
      expect(await prepareDatabase({ url, ownerUrl, isAllowed })).toEqual([])
    expect(await query(url, SETTINGS)).toEqual([{ ...LIMITS, statement: '2700ms' }])
    expect(await query(url, 'SELECT FROM newer')).toEqual([])
    await expect(query(url, 'DELETE FROM newer')).rejects.toMatchObject({ code: DENIED })
  })

  test('are not given to a role whose URL lets commits be lost', async () => {
    const { url, ownerUrl } = await makeRole()
    const unsafe = `${url}?options=-c%20synchronous_commit=off`
    await expect(prepareDatabase({ url: unsafe, ownerUrl })).rejects.toThrow(
      'synchronous_commit off',
    )
  })

  test('leave every session in UTC, whatever the settings of role and database say', async () => {
    const { url, database } = await makeRole()
    const zone = `SET TimeZone TO 'America/Sao_Paulo'`
    await query(url, `ALTER ROLE CURRENT_USER IN DATABASE ${database} ${zone}`)
    const show = `SELECT current_setting('TimeZone') AS zone`
    expect(await query(url, show)).toEqual([{ zone: 'America/Sao_Paulo' }])
    const pooled = connect({ url, poolMax: 1 })
    expect(await pooled.$queryRawUnsafe(show)).toEqual([{ zone: 'UTC' }])
    await pooled.$disconnect()
    const { rows } = await withClient(url, 'DATABASE_URL', single => single.query(show))
    expect(rows).toEqual([{ zone: 'UTC' }])
  })

  test.each([
    ['America/Sao_Paulo', 'are in the time zone America/Sao_Paulo instead of UTC'],
    ['Europe/London', 'are in the time zone Europe/London instead of UTC'],
    ['Etc/UTC', null],
  ])('refuse a pooler whose sessions are in %s, unless that is UTC', async (zone, refusal) => {
    const options = `-c timezone=${zone}`
    const other = new Client({ connectionString: env().DATABASE_URL, options })
    await other.connect()
    const checked = requireUtcSession(other)
    await (refusal ? expect(checked).rejects.toThrow(refusal) : checked)
    await other.end()
  })

  test('are stored once when several processes start at the same moment', async () => {
    const { url, start } = await makeRole()
    await query(url, 'ALTER ROLE CURRENT_USER RESET ALL')
    await Promise.all(Array.from({ length: 5 }, start))
    expect(await query(url, SETTINGS)).toEqual([LIMITS])
  })

  test('give the owner an hour for a statement', async () => {
    expect(await query(ownerUrlOf(), SETTINGS)).toEqual([
      { ...LIMITS, statement: '1h', client: '0' },
    ])
  })
})

describe('the privileges', () => {
  test('leave nothing to report', async () => {
    const report = await inspectRole()
    expect(report).toMatchObject({ isOwner: false, excess: [], missing: [] })
    expect(describeRole(report).isLimited).toBe(true)
  })

  test('of tables, sequences and functions made later are granted at the next start', async () => {
    await runAsOwner(
      `CREATE TABLE later (id bigint GENERATED BY DEFAULT AS IDENTITY, note text);
       CREATE SEQUENCE later_numbers;
       CREATE FUNCTION troco_later() RETURNS text LANGUAGE sql SECURITY DEFINER AS $$ SELECT current_user::text $$;
       REVOKE ALL ON FUNCTION troco_later FROM PUBLIC`,
    )
    expect(await attempt('SELECT FROM later')).toBe(DENIED)
    const urls = { url: env().DATABASE_URL ?? '', ownerUrl: ownerUrlOf() }
    await prepareDatabase(urls)
    const use = `INSERT INTO later (note) VALUES ('x'); UPDATE later SET note = 'y'; DELETE FROM later;
      SELECT nextval('later_numbers')`
    expect(await attempt(use)).toBe('done')
    expect((await client.query('SELECT troco_later() AS name')).rows).toEqual([{ name: owner }])
    expect(await attempt('TRUNCATE later')).toBe(DENIED)
    await runAsOwner('DROP TABLE later; DROP SEQUENCE later_numbers; DROP FUNCTION troco_later')
  })

  test('that were added by hand are reported, and taken back at the next start', async () => {
    const [row] = await query(env().DATABASE_URL ?? '', 'SELECT current_user AS role')
    await runAsOwner(
      `GRANT UPDATE (resource) ON events TO ${row?.role}; GRANT DELETE ON audit_log TO PUBLIC;
       GRANT CREATE ON SCHEMA public TO PUBLIC`,
    )
    const { excess } = await inspectRole()
    expect(excess).toEqual(['CREATE in schema public', 'DELETE on audit_log', 'UPDATE on events'])
    await prepareDatabase({ url: env().DATABASE_URL ?? '', ownerUrl: ownerUrlOf() })
    expect((await inspectRole()).excess).toEqual([])
  })

  test('are granted without a change of the catalog if nothing differs', async () => {
    const urls = { url: env().DATABASE_URL ?? '', ownerUrl: ownerUrlOf() }
    const readCatalog = () =>
      query(urls.url, `SELECT sum(xmin::text::bigint) FROM pg_class WHERE relkind IN ('r', 'S')`)
    await prepareDatabase(urls)
    const before = await readCatalog()
    await prepareDatabase(urls)
    expect(await readCatalog()).toEqual(before)
  })
})

describe('a database with one role', () => {
  test('works with its owner as before, and is reported', async () => {
    const url = await makeDatabase({ migrated: false })
    expect((await prepareDatabase({ url, ownerUrl: undefined })).length).toBeGreaterThan(10)
    const [row] = await query(url, 'SELECT current_user AS role')
    expect(row?.role).toBe(owner)
  })

  test('gets a second role by one command, which may be repeated', async () => {
    const ownerUrl = await makeDatabase({ migrated: false })
    await prepareDatabase({ url: ownerUrl, ownerUrl: undefined })
    const url = new URL(ownerUrl)
    url.username = `app_${newId().replaceAll('-', '')}`
    url.password = `it's "new"`
    const urls = { url: url.href, ownerUrl }
    await expect(createApplicationRole(url.href, ownerUrl)).rejects.toThrow(
      `The role ${url.username} of DATABASE_URL does not exist, and the owner may not create roles`,
    )
    await query(superuserUrlOf(), `ALTER ROLE ${owner} CREATEROLE`)
    for (let run = 0; run < 2; run++) {
      await createApplicationRole(url.href, ownerUrl)
      expect(await prepareDatabase(urls)).toEqual([])
    }
    await query(superuserUrlOf(), `ALTER ROLE ${owner} NOCREATEROLE`)
    await expect(query(url.href, 'DELETE FROM events')).rejects.toMatchObject({ code: DENIED })
    expect(await query(url.href, 'SELECT count(*)::int AS count FROM events')).toEqual([
      { count: 0 },
    ])
  })

  test('is refused if the application would own the tables beside another owner', async () => {
    const ownerUrl = await makeDatabase({ migrated: false })
    await expect(prepareDatabase({ url: ownerUrl, ownerUrl })).rejects.toThrow(
      /^The role \w+ of DATABASE_URL owns \w+: put its URL into DATABASE_OWNER_URL/,
    )
    const other = env().DATABASE_URL ?? ''
    await expect(prepareDatabase({ url: other, ownerUrl })).rejects.toThrow(
      /both must name the same/,
    )
  })

  test('without its owner, a migrated database starts and an empty one says what is missing', async () => {
    const url = env().DATABASE_URL ?? ''
    expect(await prepareDatabase({ url, ownerUrl: undefined })).toEqual([])
    await runAsOwner(`DELETE FROM _prisma_migrations WHERE migration_name = (
      SELECT max(migration_name) FROM _prisma_migrations)`)
    await expect(prepareDatabase({ url, ownerUrl: undefined })).rejects.toThrow(
      /^migrations are pending \(1\), and the role \w+ may not apply them: set DATABASE_OWNER_URL/,
    )
  })
})
