import { emitEvent, type EventFields } from '@svc/registry/kit'
import type { RunContext } from '@svc/registry'
import { toToolError } from '../../errors.ts'
import type { RuntimeEvents } from '../../events/events.ts'
import type { ToolContext } from '../../tools/define-tool.ts'
import type { DeskPlace, Refusal } from '../browser.ts'

/** Emits the events and pages of one run's visit. */
export class VisitEvents {
  readonly #context: RunContext
  readonly #runnable: ToolContext['runnable']
  readonly #startedAt = performance.now()
  #steps = 0
  #page = ''

  constructor(context: RunContext, runnable: ToolContext['runnable']) {
    this.#context = context
    this.#runnable = runnable
  }

  step(index: number, url: string | undefined): void {
    this.#steps = index + 1
    this.#emit('browser.step', () => ({ index, ...(url !== undefined && { url }) }))
  }

  /** @param args without secrets */
  action({ toolCallId, stepNumber: index }: ToolContext, action: string, args: () => unknown): void {
    this.#steps = Math.max(this.#steps, index + 1)
    this.#emit('browser.action', () => ({ toolCallId, index, action, args: args() }))
  }

  blocked({ host, reason }: Refusal): void {
    this.#emit('browser.blocked', () => ({ host, reason }))
  }

  /** Emits the part of a page, unless it is the same as before. */
  page({ emit, stepNumber: index }: ToolContext, { url, title }: DeskPlace): void {
    const page = JSON.stringify([url, title])
    if (page === this.#page) return
    this.#page = page
    emit({ type: 'browser.page', index, url, title })
  }

  end(error: unknown): void {
    const durationMs = Math.round((performance.now() - this.#startedAt) * 1000) / 1000
    if (error === undefined) this.#emit('browser.done', () => ({ steps: this.#steps, durationMs }))
    else this.#emit('browser.error', () => ({ error: toToolError(error), durationMs }))
  }

  #emit<N extends keyof RuntimeEvents>(name: N, fields: () => EventFields<N>): void {
    emitEvent(this.#context, this.#runnable, name, fields)
  }
}
