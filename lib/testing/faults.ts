import { Client } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { ownerUrlOf } from '#lib/testing/database.ts'

const FAULT = 'fault of the test'

/**
 * Aborts the transactions that write a table, as a crash at this point would. For a file with a
 * database of its own; call it after `inOwnDatabase`.
 */
export class Faults {
  private client: Client | null = null

  constructor(tables: readonly string[]) {
    beforeAll(async () => {
      this.client = new Client({ connectionString: ownerUrlOf() })
      await this.client.connect()
      await this.client.query(`
        CREATE TABLE test_faults (name text);
        GRANT SELECT ON test_faults TO PUBLIC;
        CREATE FUNCTION fail_if_faulty() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF EXISTS (SELECT FROM public.test_faults WHERE name = TG_TABLE_NAME) THEN RAISE '${FAULT}'; END IF;
          RETURN NULL;
        END $$;
        ${tables.map(table => `CREATE TRIGGER faulty BEFORE INSERT OR UPDATE OR DELETE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION fail_if_faulty();`).join('\n')}`)
    })
    afterAll(() => this.client?.end())
  }

  /** Runs `work` while each write of the table fails. Returns whether one did. */
  async during(table: string, work: () => Promise<unknown>): Promise<boolean> {
    await this.client?.query('INSERT INTO test_faults VALUES ($1)', [table])
    try {
      await work()
      return false
    } catch (error) {
      if (!String(error).includes(FAULT)) throw error
      return true
    } finally {
      await this.client?.query('DELETE FROM test_faults')
    }
  }
}
