import type { UiChunk } from '../wire/chunks.ts'
import type { UiMessage } from '../wire/messages.ts'

type Fields = Record<string, unknown> & { type: string }

/** Builds a message from its chunks, as a client does that reads the stream. */
export class MessageBuilder {
  readonly #parts: Fields[] = []
  readonly #open = new Map<string, Fields>()
  #id = ''
  #metadata: Record<string, unknown> = {}

  /** True before the first part. */
  get isEmpty(): boolean {
    return this.#parts.length === 0
  }

  build(): UiMessage {
    return {
      id: this.#id,
      role: 'assistant',
      ...(Object.keys(this.#metadata).length > 0 && { metadata: this.#metadata }),
      parts: this.#parts
    }
  }

  add(chunk: UiChunk): void {
    switch (chunk.type) {
      case 'start':
        this.#id = chunk.messageId
        this.#addMetadata(chunk.messageMetadata)
        break
      case 'finish':
      case 'message-metadata':
        this.#addMetadata(chunk.messageMetadata)
        break
      case 'start-step':
        this.#parts.push({ type: 'step-start' })
        break
      case 'reset-step':
        this.#parts.length = this.#parts.findLastIndex(({ type }) => type === 'step-start') + 1
        break
      case 'text-start':
        this.#begin(chunk.id, { type: 'text', text: '', state: 'streaming' })
        break
      case 'reasoning-start':
        this.#begin(chunk.id, { type: 'reasoning', id: chunk.id, text: '', state: 'streaming' })
        break
      case 'text-delta':
      case 'reasoning-delta':
        this.#extend(chunk.id, chunk.delta)
        break
      case 'text-end':
      case 'reasoning-end':
        this.#end(chunk.id)
        break
      case 'source-url':
      case 'source-document':
      case 'file':
      case 'steering-message':
        this.#parts.push({ ...chunk })
        break
      case 'abort':
      case 'error':
      case 'finish-step':
        break
      default:
        if ('toolCallId' in chunk || chunk.type === 'tool-approval-response') this.#addTool(chunk)
        else this.#addData(chunk)
    }
  }

  #addMetadata(metadata: object): void {
    this.#metadata = { ...this.#metadata, ...metadata }
  }

  #begin(id: string, part: Fields): void {
    this.#open.set(id, part)
    this.#parts.push(part)
  }

  #extend(id: string, delta: string): void {
    const part = this.#open.get(id)
    if (part !== undefined) part['text'] = `${part['text'] as string}${delta}`
  }

  #end(id: string): void {
    const part = this.#open.get(id)
    if (part !== undefined) part['state'] = 'done'
    this.#open.delete(id)
  }

  #addData({ type, id, data, transient }: Extract<UiChunk, { data: unknown }>): void {
    if (transient) return
    const known =
      id === undefined ? undefined : this.#parts.find((part) => part.type === type && part['id'] === id)
    if (known === undefined) this.#parts.push({ type, ...(id !== undefined && { id }), data })
    else known['data'] = data
  }

  #addTool(chunk: ToolChunk): void {
    if (chunk.type === 'tool-approval-response') {
      const part = this.#parts.findLast(
        ({ approval }) => (approval as Approval | undefined)?.id === chunk.approvalId
      )
      const { approvalId: id, approved, reason } = chunk
      const approval = {
        ...(part?.['approval'] as object),
        id,
        approved,
        ...(reason !== undefined && { reason })
      }
      if (part !== undefined) Object.assign(part, { state: 'approval-responded', approval })
      return
    }
    const part = this.#parts.findLast(({ toolCallId }) => toolCallId === chunk.toolCallId)
    if (part !== undefined && 'providerExecuted' in chunk) part['providerExecuted'] = true
    switch (chunk.type) {
      case 'tool-input-start':
        this.#parts.push(toToolPart(chunk, { state: 'input-streaming', rawInput: '' }))
        break
      case 'tool-input-delta':
        if (part !== undefined) part['rawInput'] = `${part['rawInput'] as string}${chunk.inputTextDelta}`
        break
      case 'tool-input-available': {
        const shown = toToolPart(chunk, { state: 'input-available', input: chunk.input })
        if (part === undefined) this.#parts.push(shown)
        else {
          delete part['rawInput']
          Object.assign(part, shown)
        }
        break
      }
      case 'tool-approval-request': {
        const approval = { id: chunk.approvalId, descriptor: chunk.approvalDescriptor }
        if (part !== undefined) Object.assign(part, { state: 'approval-requested', approval })
        break
      }
      case 'tool-output-available':
        if (part !== undefined) Object.assign(part, { state: 'output-available', output: chunk.output })
        break
      case 'tool-output-error':
        if (part !== undefined) Object.assign(part, { state: 'output-error', errorText: chunk.errorText })
        break
      case 'tool-output-denied':
        if (part !== undefined) part['state'] = 'output-denied'
    }
  }
}

type ToolChunk = Extract<UiChunk, { toolCallId: string } | { type: 'tool-approval-response' }>
type Approval = { id?: string }

function toToolPart(
  chunk: Extract<ToolChunk, { type: 'tool-input-start' | 'tool-input-available' }>,
  fields: object
): Fields {
  const { toolCallId, toolName, dynamic, toolMetadata } = chunk
  const type = dynamic ? 'dynamic-tool' : `tool-${toolName}`
  return {
    type,
    ...(dynamic && { toolName }),
    toolCallId,
    ...(toolMetadata && { toolMetadata }),
    ...('providerExecuted' in chunk && chunk.providerExecuted && { providerExecuted: true }),
    ...fields
  }
}
