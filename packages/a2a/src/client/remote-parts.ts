import { hash } from 'node:crypto'
import type { PartOf, YieldedPart } from '@svc/contract'
import type { MadeFile } from '@svc/surface'
import { textOf } from '../messages/choose-agent.ts'
import type { Artifact, MessagePart } from '../model/message.ts'
import type { Task, TaskEvent, TaskStatus } from '../model/task.ts'

const MAX_URL = 8_192
const MAX_TYPE = 255
const MAX_NAME = 1_024
const MAX_PURPOSE = 64

/** A file with its bytes, in base64. */
export interface RemoteFile extends Omit<MadeFile, 'data' | 'toolCallId'> {
  readonly type: 'bytes'
  readonly data: string
}

/** The file of a part, by its URL or with its bytes; undefined for other parts, and for URLs that are not of HTTP. */
function toFile(part: MessagePart): PartOf<'file'> | RemoteFile | undefined {
  if ('raw' in part) return { type: 'bytes', data: part.raw, ...aboutOf(part) }
  if (!('url' in part) || !isHttp(part.url)) return undefined
  const { size, sha256 } = part.metadata ?? {}
  return {
    type: 'file',
    url: part.url,
    ...aboutOf(part),
    ...optional('size', Number.isSafeInteger(size) && Number(size) >= 0 ? Number(size) : undefined),
    ...optional('sha256', /^[\da-f]{64}$/.test(String(sha256)) ? String(sha256) : undefined)
  }
}

function aboutOf({ mediaType, filename, metadata = {} }: MessagePart) {
  return {
    mimeType: shortText(mediaType, MAX_TYPE) ?? 'application/octet-stream',
    ...optional('filename', shortText(filename, MAX_NAME)),
    ...optional('purpose', shortText(metadata['purpose'], MAX_PURPOSE))
  }
}

function isHttp(text: string): boolean {
  return text.length <= MAX_URL && /^https?:$/.test(URL.parse(text)?.protocol ?? '')
}

function shortText(value: unknown, maxLength: number): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= maxLength ? value : undefined
}

function optional<K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [key]: value } as Record<K, V>)
}

/** A part of a run, or a file that the run has to keep first. */
export type RemotePart = YieldedPart | RemoteFile

/**
 * Makes parts of a run from the events of a remote task. Artifacts are the answer, except for those with a tool call in their
 * metadata. Text that replaces emitted text begins a new step.
 */
export class RemoteParts {
  readonly #texts = new Map<string, string>()
  readonly #tools = new Set<string>()
  readonly #files = new Set<string>()
  #steps = 0
  taskId: string | undefined
  contextId: string | undefined
  status: TaskStatus = { state: 'unknown' }

  /** True once any text was emitted. */
  get hasText(): boolean {
    return [...this.#texts.values()].some((text) => text !== '')
  }

  *add(event: TaskEvent): Iterable<RemotePart> {
    if (event.type === 'message') {
      this.contextId = event.message.contextId ?? this.contextId
      this.status = { state: 'completed' }
      yield* this.#say('message', textOf(event.message.parts))
      yield* structuredOf(event.message.parts)
      yield* this.#filesOf(event.message.parts)
      return
    }
    if (event.type === 'task') {
      yield* this.#take(event.task)
      return
    }
    this.taskId = event.taskId || this.taskId
    this.contextId = event.contextId || this.contextId
    if (event.type === 'artifact') {
      yield* this.#artifact(event.artifact, event.append)
      return
    }
    this.status = event.status
    yield* this.#filesOf(event.status.message?.parts ?? [])
  }

  /** Emits the text of the status message. */
  *addStatusText(): Iterable<YieldedPart> {
    yield* this.#say('status', textOf(this.status.message?.parts ?? []))
  }

  *#take({ id, contextId, status, artifacts = [], history = [] }: Task): Iterable<RemotePart> {
    this.taskId = id
    this.contextId = contextId
    this.status = status
    for (const artifact of artifacts) yield* this.#artifact(artifact, false)
    yield* this.#filesOf(status.message?.parts ?? [])
    if (status.state !== 'completed' || this.hasText) return
    const last = history.findLast(({ role }) => role === 'agent')
    if (last === undefined) return
    yield* this.#say('history', textOf(last.parts))
    yield* this.#filesOf(last.parts)
  }

  *#artifact({ artifactId, name, parts, metadata }: Artifact, append: boolean): Iterable<RemotePart> {
    const toolCallId = metadata?.['toolCallId']
    if (typeof toolCallId === 'string') {
      if (this.#tools.has(artifactId) || metadata?.['void'] === true) return
      this.#tools.add(artifactId)
      const call = { toolCallId, toolName: name ?? 'tool' }
      yield { type: 'tool.call', ...call, args: null }
      const [part] = parts
      const result = part && ('data' in part ? part.data : textOf(parts))
      yield { type: 'tool.result', ...call, result: result ?? null, durationMs: 0 }
      return
    }
    if (append) yield* this.#append(artifactId, textOf(parts))
    else yield* this.#say(artifactId, textOf(parts))
    yield* structuredOf(parts)
    yield* this.#filesOf(parts)
  }

  // A task that is read again has the same files.
  *#filesOf(parts: readonly MessagePart[]): Iterable<RemotePart> {
    for (const part of parts) {
      const file = toFile(part)
      if (file === undefined) continue
      const key = file.type === 'file' ? file.url! : keyOf(file)
      if (this.#files.has(key)) continue
      this.#files.add(key)
      yield file
    }
  }

  // Linear: a text in many pieces is not compared with what was emitted.
  *#append(id: string, text: string): Iterable<YieldedPart> {
    if (text === '') return
    this.#texts.set(id, (this.#texts.get(id) ?? '') + text)
    yield { type: 'text', text }
  }

  // Emits the rest of a text that was emitted in part; any other text in a new step.
  *#say(id: string, text: string): Iterable<YieldedPart> {
    const emitted = this.#texts.get(id) ?? ''
    if (text === emitted) return
    this.#texts.set(id, text)
    if (text.startsWith(emitted)) {
      yield { type: 'text', text: text.slice(emitted.length) }
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

function keyOf({ data, filename = '' }: RemoteFile): string {
  return `${hash('sha256', data)} ${filename}`
}
