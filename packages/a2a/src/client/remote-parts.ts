import type { YieldedPart } from '@svc/registry'
import type { Artifact, MessagePart } from '../model/message.ts'
import type { Task, TaskEvent, TaskStatus } from '../model/task.ts'
import { textOf } from '../messages/to-input.ts'

/**
 * Makes parts of a run from what a remote task tells. Artifacts are the answer, except for those that say of which tool they
 * are; what replaces a text that was told begins a step anew.
 */
export class RemoteParts {
  readonly #texts = new Map<string, string>()
  readonly #tools = new Set<string>()
  #steps = 0
  taskId: string | undefined
  contextId: string | undefined
  status: TaskStatus = { state: 'unknown' }

  /** Whether it has said anything. */
  get hasText(): boolean {
    return [...this.#texts.values()].some((text) => text !== '')
  }

  *add(event: TaskEvent): Iterable<YieldedPart> {
    if (event.type === 'message') {
      this.contextId = event.message.contextId ?? this.contextId
      this.status = { state: 'completed' }
      yield* this.#say('message', textOf(event.message.parts))
      yield* structuredOf(event.message.parts)
      return
    }
    if (event.type === 'task') {
      yield* this.#take(event.task)
      return
    }
    this.taskId = event.taskId || this.taskId
    this.contextId = event.contextId || this.contextId
    if (event.type === 'status') this.status = event.status
    else yield* this.#artifact(event.artifact, event.append)
  }

  /** What the status says, where nothing else was said. */
  *addStatusText(): Iterable<YieldedPart> {
    yield* this.#say('status', textOf(this.status.message?.parts ?? []))
  }

  *#take({ id, contextId, status, artifacts = [], history = [] }: Task): Iterable<YieldedPart> {
    this.taskId = id
    this.contextId = contextId
    this.status = status
    for (const artifact of artifacts) yield* this.#artifact(artifact, false)
    if (status.state !== 'completed' || this.hasText) return
    const last = history.findLast(({ role }) => role === 'agent')
    if (last !== undefined) yield* this.#say('history', textOf(last.parts))
  }

  *#artifact({ artifactId, name, parts, metadata }: Artifact, append: boolean): Iterable<YieldedPart> {
    const toolCallId = metadata?.['toolCallId']
    if (typeof toolCallId === 'string') {
      if (this.#tools.has(artifactId)) return
      this.#tools.add(artifactId)
      const call = { toolCallId, toolName: name ?? 'tool' }
      yield { type: 'tool.call', ...call, args: null }
      const [part] = parts
      const result = part && ('data' in part ? part.data : textOf(parts))
      yield { type: 'tool.result', ...call, result: result ?? null, durationMs: 0 }
      return
    }
    if (append) yield* this.#goOn(artifactId, textOf(parts))
    else yield* this.#say(artifactId, textOf(parts))
    yield* structuredOf(parts)
  }

  // What was told is not looked at: a text costs no more for coming in many pieces.
  *#goOn(id: string, text: string): Iterable<YieldedPart> {
    if (text === '') return
    this.#texts.set(id, (this.#texts.get(id) ?? '') + text)
    yield { type: 'text', text }
  }

  // Only what is new, when the text goes on; else all of it again, in a new step.
  *#say(id: string, text: string): Iterable<YieldedPart> {
    const told = this.#texts.get(id) ?? ''
    if (text === told) return
    this.#texts.set(id, text)
    if (text.startsWith(told)) {
      yield { type: 'text', text: text.slice(told.length) }
      return
    }
    yield { type: 'step.start', index: this.#steps++, attempt: 1 }
    const all = [...this.#texts.values()].join('')
    if (all !== '') yield { type: 'text', text: all }
  }
}

function* structuredOf(parts: readonly MessagePart[]): Iterable<YieldedPart> {
  for (const part of parts) if ('data' in part) yield { type: 'structured', value: part.data }
}
