import { setTimeout as pause } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import {
  STO_ERR_CONNECTIONS,
  STO_ERR_FULL,
  STO_ERR_PERMISSION,
  STO_ERR_READ_ONLY,
  STO_ERR_UNREACHABLE
} from '../errors.ts'

/** The fields of errors of Postgres, Node's sockets and `pg`. */
interface Fault {
  readonly code?: unknown
  readonly message?: unknown
}

// Codes of Postgres: connections that broke, a server that starts or stops, and of Node: a server that is not there.
const AWAY =
  /^(?:08...|57P0[1-5]|25P03|ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EAI_AGAIN|ENOTFOUND|53300|STO_ERR_UNREACHABLE|STO_ERR_CONNECTIONS)$/
// Errors of `pg` without a code.
const BROKEN =
  /Connection terminated|Connection ended|timeout expired|timeout exceeded|read timeout|connection error|not queryable|Client was closed/i
const CONFLICTS = new Set(['40001', '40P01'])

/** True for an error after which the same statement may succeed on a new connection. */
export function isAway(err: unknown): boolean {
  const { code, message } = toFault(err)
  return typeof code === 'string' && code !== '' ? AWAY.test(code) : BROKEN.test(String(message))
}

/** True for an error with which a server goes, or that says that none is there: not one that only this process cannot reach. */
export function isRestarting(err: unknown): boolean {
  return /^(?:57P0[123]|ECONNREFUSED)$/.test(String(toFault(err).code))
}

// A server that takes no writes for now.
function isReadOnly(err: unknown): boolean {
  const { code } = toFault(err)
  return code === '25006' || code === 'STO_ERR_READ_ONLY'
}

/** True for a transaction that lost against another one, and would succeed if repeated. */
export function isConflict(err: unknown): boolean {
  return CONFLICTS.has(toFault(err).code as string)
}

/** True for a connection of no more use: its server is away, or takes no writes now that another is the primary. */
export function isLost(err: unknown): boolean {
  return isAway(err) || isReadOnly(err)
}

/** True for an error after which the same work may succeed, on another connection or in another transaction. */
export function isPassing(err: unknown): boolean {
  return isLost(err) || isConflict(err)
}

/** The error of the store for an error of the database; any other error as it is. */
export function toStoreError(err: unknown): unknown {
  const { code, message } = toFault(err)
  if (String(code).startsWith('STO_ERR_')) return err
  const cause = { cause: err }
  if (code === '53300') return new STO_ERR_CONNECTIONS(cause)
  if (isAway(err)) return new STO_ERR_UNREACHABLE(String(message) || String(code), cause)
  if (isReadOnly(err)) return new STO_ERR_READ_ONLY(cause)
  if (code === '53100') return new STO_ERR_FULL(String(message), cause)
  if (code === '42501') return new STO_ERR_PERMISSION(String(message), cause)
  return err
}

// The attempts at several addresses of a host fail together.
function toFault(err: unknown): Fault {
  if (err instanceof AggregateError && err.errors.length > 0) return err.errors[0] as Fault
  return err ?? {}
}

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

/** SQL after the beginning of a transaction: if its process stands still, it keeps its locks for so many seconds. */
export function limitIdle(seconds: number): string {
  return `set local idle_in_transaction_session_timeout = '${seconds}s'`
}

/** @param patience milliseconds to wait for a server that does not answer */
export function createTransact(host: QueryHost, patience: number): Transact {
  return (work) =>
    repeat(patience, () =>
      withClient(host, async (client) => {
        try {
          await client.query(`begin; ${limitIdle(15)}`)
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
