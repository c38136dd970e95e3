import { STATUS_CODES } from 'node:http'
import type { Refusal } from '../browser.ts'

/** The policy refused a connection. */
export class Refused extends Error {
  readonly reason: Refusal['reason']
  /** @param reason default `address`: a look-up that finds a private address creates it without arguments */
  constructor(reason: Refusal['reason'] = 'address') {
    super(TEXTS[reason])
    this.reason = reason
  }
}

/** A host did not accept a connection in time. */
export class DialTimeout extends Error {}

const TEXTS: Record<Refusal['reason'], string> = {
  host: 'This host is not allowed.',
  port: 'This port is not allowed.',
  address: 'This host is not on the public internet.',
  bytes: 'The pages have transferred too many bytes.',
  connections: 'Too many connections are open.',
  malformed: 'The request is malformed.'
}

/** What a client of the proxy gets instead of a response. */
export interface FailureAnswer {
  readonly status: number
  readonly phrase: string
  readonly text: string
}

/** The answer for a connection that was refused or failed. */
export function toAnswer(err: unknown): FailureAnswer {
  const [status, text] = describe(err)
  return { status, phrase: STATUS_CODES[status] ?? '', text: `${text}\n` }
}

function describe(err: unknown): [status: number, text: string] {
  if (err instanceof Refused) return [err.reason === 'malformed' ? 400 : 403, err.message]
  if (err instanceof DialTimeout) return [504, 'The host did not answer in time.']
  const { code } = err as NodeJS.ErrnoException
  return [502, `No connection to the host${typeof code === 'string' ? `: ${code}` : ''}.`]
}
