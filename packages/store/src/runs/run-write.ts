import { sessionKeyText, type SessionIndex, type SessionKey, type WebhookEvent } from '@svc/contract'
import { RUN_ERR_FENCED } from '@svc/contract/errors'
import type { SessionFollowers } from '@svc/contract/stores'
import type { Insertable } from 'kysely'
import type { Place } from '../rows/session-branches.ts'
import { toSessionRow } from '../rows/session-rows.ts'
import type { Tables } from '../tables.ts'

/** Writes what runs write, in order for each run. */
export interface RunWriter {
  /**
   * Resolves once it is committed: with undefined if the run is fenced, or if another run or the limit of its owner precludes a creation.
   * @throws the database's error
   */
  write(write: RunWrite): Promise<Accepted | undefined>
}

/** What a write has found that was accepted. */
export interface Accepted {
  /** Of a place: its number; null if it was to be free, and is not. */
  readonly ticket?: number | null
  /** Of a place: the number of those before it, and the holder of the first one of these. */
  readonly before?: number
  readonly first?: string | null
  /** Of a place that was given with the creation of its run: true if the run has entered the session, since the turn is free. */
  readonly entered?: boolean
  /** Of a place that is given back, or that the end of its run frees: true if others may wait; null if the run had none. */
  readonly waiting?: boolean | null
}

/** A new run. Its result is whether it was inserted. */
export interface Creation {
  readonly kind: 'create'
  readonly runId: string
  readonly row: Insertable<Tables['run']>
  /** The node that has it; null without nodes. If it is declared dead before the run is written, the run is left to others. */
  readonly nodeId: string | null
  /** Unfinished runs that its owner may have. */
  readonly most: number | undefined
}

/** Parts and steps of a run, and the change of its record that they cause. */
export interface Append {
  readonly kind: 'append'
  readonly runId: string
  readonly epoch: number
  readonly parts: readonly { readonly seq: number; readonly json: string }[]
  readonly steps: readonly { readonly key: string; readonly output: string | null }[]
  readonly change: ChangedRows | undefined
  /** What it adds to the size of the run. */
  readonly bytes: number
  /** What becomes of the place that the run was given, if it ends and has turns of sessions in this process. */
  readonly place?: EndedPlace | undefined
}

/** The place of a run that ends. */
export interface EndedPlace {
  /** Undefined if it was given none. */
  readonly sessionKey: string | undefined
  /** True if its turn lasts longer than the run, until the runnable returns. */
  readonly isHeld: boolean
}

/** The rows of a change. */
export interface ChangedRows {
  readonly status: string
  readonly at: number
  readonly endedAt: number | null
  readonly result: string | null
  readonly preview: string | null
  readonly stats: string | null
  readonly error: string | null
  readonly input: Insertable<Tables['run_input']> | undefined
  /** What webhooks report, if they do. */
  readonly report: Report | undefined
  /** Pieces of large values. */
  readonly values: readonly { readonly name: string; readonly seq: number; readonly json: string }[]
}

/** An event that webhooks report. */
export interface Report {
  readonly event: WebhookEvent
  /** JSON, or null. */
  readonly detail: string | null
  /** With the id of a webhook, the id of its message. */
  readonly key: string
}

/** Calls listeners when runs of this process have added messages of webhooks. */
export class Reports {
  /** False as long as there are no webhooks in the database, which only this process writes. */
  mayReport: boolean
  readonly #listeners = new Set<() => void>()

  constructor(mayReport: boolean) {
    this.mayReport = mayReport
  }

  on(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  added(): void {
    for (const listener of this.#listeners) listener()
  }
}

/** The latest checkpoint of a run. */
export interface Save {
  readonly kind: 'save'
  readonly runId: string
  readonly epoch: number
  readonly state: string
}

/** The removal of a checkpoint. */
export interface Forget {
  readonly kind: 'forget'
  readonly runId: string
}

/** A run has its turn in its session. It is accepted if the run exists, and has effect once. */
export interface Entering {
  readonly kind: 'enter'
  readonly runId: string
  readonly row: EnteredSession
}

/** The session, which begins if it is new. */
export type EnteredSession = Pick<
  Tables['session'],
  'session_key' | 'registry' | 'owner' | 'kind' | 'name' | 'session_id' | 'updated_at'
>

/**
 * The messages of one turn of a session. It is accepted if its run has this epoch, also after its end, and saved once: a turn that the session
 * has stays as it is.
 */
export interface TurnWrite {
  readonly kind: 'turn'
  /** The run, which other writes of it precede; without a fence the turn. */
  readonly runId: string
  /** Null without a fence. */
  readonly epoch: number | null
  readonly row: EnteredSession
  readonly turnId: string
  /** The title of a session that has none. */
  readonly title: string | null
  readonly listed: number
  /** As JSON. */
  readonly messages: readonly string[]
  /** The message that the turn follows; undefined: the newest one. */
  readonly after: Place | undefined
}

/**
 * A holder takes the last place among the turns of a session, or has its own again. In a batch with the creation of the run that is the
 * holder, the place is given with it, or not at all.
 */
export interface Placing {
  readonly kind: 'place'
  /** The holder. */
  readonly runId: string
  readonly sessionKey: string
  readonly nodeId: string
  /** True to take none if another one counts. */
  readonly ifFree: boolean
  /** The session that a run enters if it is created with the turn. */
  readonly row: EnteredSession | undefined
}

/** A holder gives its place back, unless another node has it now. The place of an accepted run is given back once the run has ended, not before. */
export interface Leaving {
  readonly kind: 'leave'
  /** The run of the holder, whose turn is saved before. */
  readonly runId: string
  readonly ticket: Ticket
}

/** A place among the turns of a session. */
export interface Ticket {
  readonly sessionKey: string
  readonly holder: string
  readonly nodeId: string
  readonly ticket: number
  /** True if it is the place that an accepted run was given. */
  readonly isOfRun: boolean
}

export type RunWrite = Creation | Entering | Append | TurnWrite | Placing | Leaving | Save | Forget

/** The session that a write locks against writes of other processes; undefined if there is none. */
export function sessionOfWrite(write: RunWrite): string | undefined {
  switch (write.kind) {
    case 'enter':
    case 'turn':
      return write.row.session_key
    case 'place':
      return write.sessionKey
    case 'leave':
      return write.ticket.sessionKey
    case 'append':
      return write.place?.sessionKey
    default:
      return undefined
  }
}

/** The characters of a write's largest texts, about. */
export function sizeOfWrite(write: RunWrite): number {
  switch (write.kind) {
    case 'append':
      return write.bytes
    case 'save':
      return write.state.length
    case 'turn':
      return write.messages.reduce((size, message) => size + message.length, 0)
    default:
      return 0
  }
}

/** The row of a session that a run changes now. */
export function toEnteredSession(sessionKey: string, key: SessionKey): EnteredSession {
  const { created_at: _, ...row } = toSessionRow(sessionKey, key, Date.now())
  return row
}

/** The part of the list of sessions that runs change. */
export interface SessionEntry extends Pick<SessionIndex, 'enter' | 'follow'> {
  /** A run of this process has entered a session, or the session was removed: notifies its followers. */
  changed(sessionKey: string): void
}

/** Lets runs enter sessions, by the writer of all that they write: after their creation, and before their parts. */
export function createSessionEntry(
  writer: RunWriter,
  followers: Pick<SessionFollowers, 'follow' | 'notify'>
): SessionEntry {
  return {
    async enter(key, runId) {
      const sessionKey = sessionKeyText(key)
      const row = toEnteredSession(sessionKey, key)
      if (!(await writer.write({ kind: 'enter', runId, row }))) throw new RUN_ERR_FENCED(runId)
      followers.notify(sessionKey)
    },
    changed: (sessionKey) => followers.notify(sessionKey),
    follow: (key, listener) => followers.follow(sessionKeyText(key), listener)
  }
}
