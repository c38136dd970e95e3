import type { DeliveryState, RunStatus } from '@svc/registry'
import type { StoreOptions } from '@svc/store'

/** How a process is started. */
export interface WorkerOptions {
  readonly store: StoreOptions
  /** Where webhooks post: `/all` for the one of the owner, `/one` for those of runs. */
  readonly hook: string
  readonly secret: string
}

/** What a process is asked for: the webhook of the owner, runs, or a report. */
export type WorkerOrder = { readonly hook: true } | { readonly start: number } | { readonly look: true }

/** What a process reports. */
export type WorkerReport =
  | { readonly ready: true }
  | { readonly hooked: true }
  | { readonly ended: string }
  | {
      readonly runs: readonly {
        readonly runId: string
        readonly status: RunStatus
        /** It has a webhook of its own. */
        readonly hasOne: boolean
      }[]
      /** The messages that were not delivered. */
      readonly left: readonly DeliveryState[]
    }

/** What is reported, and what happens meanwhile. */
export interface WebhookLoad {
  /** Where the processes keep their data; a file is for one process at a time. */
  readonly store: StoreOptions
  readonly processes: number
  /** Rounds, in each of which a process starts `runs` runs. */
  readonly rounds: number
  readonly runs: number
  /** The share of rounds in which a process is killed when one of its runs has just ended. */
  readonly kills: number
  /** Decides which rounds, and what the receiver answers. */
  readonly seed: number
}

/** What came of it. */
export interface WebhookOutcome {
  /** Events of runs without a message that was taken, and messages that were given up. */
  readonly lost: number
  /** Messages that a library did not verify. */
  readonly unverified: number
  /** Events whose messages did not all have one id. */
  readonly renamed: number
  /** Messages that came before an earlier one of the same run was taken. */
  readonly early: number
  /** Requests beyond one for each message. */
  readonly repeated: number
  readonly messages: number
  readonly killed: number
}
