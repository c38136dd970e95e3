import { sessionKeyText, type SessionIndex, type WebhookEvent } from '@svc/contract'
import { RUN_ERR_FENCED } from '@svc/contract/errors'
import type { SessionFollowers } from '@svc/contract/stores'
import type { Insertable } from 'kysely'
import { toSessionRow } from '../rows/session-rows.ts'
import type { Tables } from '../tables.ts'

/** Writes what runs write, in order for each run. */
export interface RunWriter {
  /**
   * Resolves once it is committed: with false if the run is fenced, or if another run or the limit of its owner precludes a creation.
   * @throws the database's error
   */
  write(write: RunWrite): Promise<boolean>
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

export type RunWrite = Creation | Entering | Append | Save | Forget

/** The characters of a write's largest texts, about. */
export function sizeOfWrite(write: RunWrite): number {
  switch (write.kind) {
    case 'append':
      return write.bytes
    case 'save':
      return write.state.length
    default:
      return 0
  }
}

/** The part of the list of sessions that runs change. */
export interface SessionEntry extends Pick<SessionIndex, 'enter' | 'follow'> {
  /** A session was removed: notifies its followers. */
  removed(sessionKey: string): void
}

/** Lets runs enter sessions, by the writer of all that they write: after their creation, and before their parts. */
export function createSessionEntry(
  writer: RunWriter,
  followers: Pick<SessionFollowers, 'follow' | 'notify'>
): SessionEntry {
  return {
    async enter(key, runId) {
      const sessionKey = sessionKeyText(key)
      const { created_at: _, ...row } = toSessionRow(sessionKey, key, Date.now())
      if (!(await writer.write({ kind: 'enter', runId, row }))) throw new RUN_ERR_FENCED(runId)
      followers.notify(sessionKey)
    },
    removed: (sessionKey) => followers.notify(sessionKey),
    follow: (key, listener) => followers.follow(sessionKeyText(key), listener)
  }
}
