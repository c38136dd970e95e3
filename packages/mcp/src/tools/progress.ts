import type { Part } from '@svc/contract'

/** One `notifications/progress`, without its token. */
export interface Progress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/** The progress of a run: its tool calls and files, or what its `data` parts named `progress` say. Never decreases. */
export class ProgressCount {
  #progress: number | undefined

  /** What a part adds; undefined if nothing. */
  add(part: Part): Progress | undefined {
    switch (part.type) {
      case 'tool.call':
        return this.#next(`Calls ${part.toolName}`)
      case 'file':
        return this.#next(`Has made ${part.filename ?? part.mimeType}`)
      case 'data':
        return part.name === 'progress' ? this.#take(part.value) : undefined
      default:
        return undefined
    }
  }

  #next(message: string): Progress {
    this.#progress = (this.#progress ?? 0) + 1
    return { progress: this.#progress, message }
  }

  #take(value: unknown): Progress | undefined {
    const { progress, total, message } = (value ?? {}) as Readonly<Record<string, unknown>>
    if (typeof progress !== 'number' || progress <= (this.#progress ?? -Infinity)) return undefined
    this.#progress = progress
    return {
      progress,
      ...(typeof total === 'number' && { total }),
      ...(typeof message === 'string' && { message })
    }
  }
}
