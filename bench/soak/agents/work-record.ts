import type { NumberedPart } from '@svc/registry'
import type { Ledger } from './ledger.ts'
import { tokensOf } from './planned-model.ts'
import { withoutVoid } from './canonical-log.ts'

/**
 * Watches the ledger of a service across its kills: what a log had as done when a process died must not be done again.
 */
export class WorkRecord {
  readonly #ledger: Ledger
  readonly #steps = new Set<number>()
  readonly #calls = new Set<string>()
  readonly #isExempt: (key: string) => boolean
  #seen = 0
  /** Finished steps whose model was called again. */
  readonly repeatedSteps: string[] = []
  /** Calls of tools whose outcome was recorded, and that were made again. */
  readonly repeatedCalls: string[] = []
  /** Runs of a single model call that were begun again after it, as they may be. */
  repeatedRuns = 0

  /** @param isExempt whether a finished step may be repeated, since nothing is recorded of its run */
  constructor(ledger: Ledger, isExempt: (key: string) => boolean) {
    this.#ledger = ledger
    this.#isExempt = isExempt
  }

  /** Takes what the service has done since the last time. */
  look(): void {
    const entries = this.#ledger.read(this.#seen)
    this.#seen += entries.length
    for (const { what, key } of entries) {
      if (what === 'tool' && this.#calls.has(key)) this.repeatedCalls.push(key)
      if (what !== 'model' || !this.#steps.has(tokensOf(key))) continue
      if (this.#isExempt(key)) this.repeatedRuns++
      else this.repeatedSteps.push(key)
    }
  }

  /** Takes the log of a run as the killed process left it. */
  killed(log: readonly NumberedPart[]): void {
    for (const part of withoutVoid(log)) {
      if (part.type === 'step' && part.usage !== undefined) this.#steps.add(part.usage.promptTokens)
      if (part.type === 'tool.result' || part.type === 'tool.error') this.#calls.add(part.toolCallId)
    }
  }
}

/** Faults of a whole ledger: effects that happened twice, and prompts that changed when a step or a run was taken up again. */
export function faultsOfLedger(ledger: Ledger): { effects: string[]; prompts: string[]; keys: string[] } {
  const entries = ledger.read()
  const times = Map.groupBy(
    entries.filter(({ what }) => what === 'effect'),
    ({ key }) => key
  )
  const idempotencyKeys = Map.groupBy(
    entries.filter(({ what }) => what === 'tool'),
    ({ key }) => key
  )
  return {
    effects: [...times].flatMap(([key, all]) => (all.length > 1 ? [key] : [])),
    keys: [...idempotencyKeys].flatMap(([key, all]) =>
      new Set(all.map(({ details }) => details[0])).size > 1 ? [key] : []
    ),
    prompts: changedPrompts(entries.filter(({ what }) => what === 'model'))
  }
}

// A loop keeps the system prompt that its first finished step was given; a repeated step has the same messages.
function changedPrompts(calls: ReturnType<Ledger['read']>): string[] {
  const faults: string[] = []
  const messagesOf = new Map<string, string>()
  const loops = new Map<string, { first: string; system: string }>()
  for (const {
    key,
    details: [system = '', messages = '', interrupted]
  } of calls) {
    const earlier = messagesOf.get(key)
    // An outcome that was not recorded before the kill is an interrupted tool after it.
    if (earlier !== undefined && earlier !== messages && interrupted === undefined)
      faults.push(`${key}: other messages`)
    messagesOf.set(key, messages)
    const loop = key.slice(0, key.indexOf(' '))
    const begun = loops.get(loop)
    if (begun === undefined || begun.first === key) loops.set(loop, { first: key, system })
    else if (begun.system !== system) faults.push(`${key}: another system prompt`)
  }
  return faults
}
