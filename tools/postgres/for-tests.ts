import { startPostgres, type PostgresOptions } from './start-postgres.ts'

/** What is used of a test of tap. */
interface Test {
  teardown(stop: () => Promise<void>): void
  comment(text: string): void
}

/**
 * The URL of a Postgres for the tests of a file: that of `TEST_PG_URL`, or a server of their own. Undefined, with a visible reason, if
 * none runs on this machine: then skip what needs it.
 */
export async function postgresForTests(t: Test, options?: PostgresOptions): Promise<string | undefined> {
  const given = process.env['TEST_PG_URL']
  if (given !== undefined) return given
  try {
    const { url, stop } = await startPostgres(options)
    t.teardown(stop)
    return url
  } catch (err) {
    t.comment(`no Postgres on this machine: ${(err as Error).message}`)
    return undefined
  }
}
