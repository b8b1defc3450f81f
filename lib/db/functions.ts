import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Client } from 'pg'
import { setupError } from '#lib/core/errors.ts'
import { transactionOf } from '#lib/db/transaction.ts'

/** Defined by the file of the same name in prisma/functions. */
export interface DatabaseFunction {
  name: string
  /** Increases with each change; only a higher version replaces the function in the database. */
  version: number
  /** Truncated SHA-256 of the statement, without the comments above it. */
  checksum: string
  statement: string
}

const FUNCTION_FILE =
  /^-- version ([1-9]\d*)\n(?:--.*\n)*(CREATE OR REPLACE FUNCTION (\w+)\([\s\S]+;\n)$/

export function readFunctions(folder: string): DatabaseFunction[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .sort()
    .map(file => parseFunction(file, readFileSync(join(folder, file), 'utf8')))
}

function parseFunction(file: string, text: string): DatabaseFunction {
  const name = basename(file, '.sql')
  const [, version, statement = '', createdName] = FUNCTION_FILE.exec(text) ?? []
  if (createdName !== name || `${name}.sql` !== file) {
    throw setupError(`${file} must begin with "-- version N" and then create the function ${name}`)
  }
  const checksum = createHash('sha256').update(statement).digest('hex').slice(0, 12)
  return { name, version: Number(version), checksum, statement }
}

/** Returns those to create or replace. COMMENT ON FUNCTION has the version: dump and DROP include it. */
export async function listOutdated(
  client: Client,
  functions: DatabaseFunction[],
): Promise<DatabaseFunction[]> {
  if (functions.length === 0) return []
  const installed = await readInstalledVersions(client)
  return functions.filter(definition => isNewer(definition, installed.get(definition.name)))
}

export function describeFunction({ name, checksum }: DatabaseFunction): string {
  return `functions/${name}@${checksum}`
}

async function readInstalledVersions(client: Client): Promise<Map<string, string | null>> {
  const { rows } = await client.query<{ name: string; comment: string | null }>(
    `SELECT proname AS name, obj_description(oid, 'pg_proc') AS comment FROM pg_proc
     WHERE pronamespace = current_schema()::regnamespace AND proname LIKE 'troco\\_%'`,
  )
  return new Map(rows.map(({ name, comment }) => [name, comment]))
}

/** A higher installed version stays: a newer Troco installed it, and older calls still work. */
function isNewer({ name, version, checksum }: DatabaseFunction, comment?: string | null): boolean {
  const [, installedVersion, installedChecksum] =
    /^version (\d+), sha256 (\w+)$/.exec(comment ?? '') ?? []
  if (installedVersion === undefined || version > Number(installedVersion)) return true
  if (version === Number(installedVersion) && checksum !== installedChecksum) {
    throw setupError(
      `Function ${name} was changed after it was applied: raise the version in its file`,
    )
  }
  return false
}

/** Requires the migrators' lock. */
export async function applyFunction(client: Client, definition: DatabaseFunction): Promise<void> {
  const { name, version, checksum, statement } = definition
  try {
    await transactionOf(client, async () => {
      await client.query(statement)
      await client.query(`COMMENT ON FUNCTION ${name} IS 'version ${version}, sha256 ${checksum}'`)
      // Runs as the owner: only the application's role may execute it (lib/db/grants.ts).
      if (/\bSECURITY DEFINER\b/.test(statement))
        await client.query(`REVOKE ALL ON FUNCTION ${name} FROM PUBLIC`)
    })
  } catch (cause) {
    const reason = (cause as Error).message
    throw setupError(`Function ${name} failed and was rolled back: ${reason}`)
  }
}
