import { setTimeout as pause } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import { isLost, isPassing, toStoreError } from './faults.ts'

/** Runs a query on the pool, prepared under its name. @throws the store's error for that of the database */
export type Query = <Row extends object>(
  name: string,
  text: string,
  parameters: readonly unknown[]
) => Promise<readonly Row[]>

/** Runs a transaction on the pool, several times if another one or a lost connection precludes it. */
export type Transact = <T>(work: (client: PoolClient) => Promise<T>) => Promise<T>

/** What queries need. */
export interface QueryHost {
  readonly pool: Pool
  /** Rejects while the database cannot be opened. */
  readonly ready: () => Promise<void>
  /** False for connections that cannot keep prepared statements. */
  readonly prepare: boolean
}

// Milliseconds between two attempts: doubles from the first to the last.
const FIRST_PAUSE = 20
const LAST_PAUSE = 500

/** @param patience milliseconds to wait for a server that does not answer */
export function createQuery(host: QueryHost, patience: number): Query {
  return <Row extends object>(name: string, text: string, parameters: readonly unknown[]) =>
    repeat(patience, () =>
      withClient(host, async (client) => {
        const named = host.prepare ? { name } : {}
        return (await client.query<Row>({ ...named, text, values: [...parameters] })).rows
      })
    )
}

/** @param patience milliseconds to wait for a server that does not answer */
export function createTransact(host: QueryHost, patience: number): Transact {
  return (work) =>
    repeat(patience, () =>
      withClient(host, async (client) => {
        try {
          await client.query('begin')
          const value = await work(client)
          await client.query('commit')
          return value
        } catch (err) {
          if (!isLost(err)) await client.query('rollback')
          throw err
        }
      })
    )
}

async function withClient<T>(
  { pool, ready }: QueryHost,
  use: (client: PoolClient) => Promise<T>
): Promise<T> {
  await ready()
  const client = await pool.connect()
  let isBroken = false
  try {
    return await use(client)
  } catch (err) {
    isBroken = isLost(err)
    throw err
  } finally {
    client.release(isBroken)
  }
}

async function repeat<T>(patience: number, attempt: () => Promise<T>): Promise<T> {
  const until = performance.now() + patience
  for (let wait = FIRST_PAUSE; ; wait = Math.min(wait * 2, LAST_PAUSE)) {
    try {
      return await attempt()
    } catch (err) {
      if (!isPassing(err) || performance.now() >= until) throw toStoreError(err)
      await pause(wait)
    }
  }
}
