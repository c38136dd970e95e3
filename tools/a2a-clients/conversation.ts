import type { Conversation, ReceivedFile, Reply, SentFile } from './client.ts'

/** A client that leaves tasks, artifacts and states to its user. */
export interface RawClient {
  discover(): Promise<string>
  send(message: RawMessage): Promise<RawEvent>
  stream(message: RawMessage): AsyncIterable<RawEvent>
  /** Resolves to the state of the task. */
  cancel(taskId: string): Promise<string>
}

/** A message of a user: a text or a file. */
export interface RawMessage {
  readonly text?: string
  readonly file?: SentFile
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
}

/** A task, a message or an update, in whatever version. */
export interface RawEvent {
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
  readonly state?: string | undefined
  /** The parts of a message, alone or of a status. */
  readonly said?: readonly RawPart[] | undefined
  readonly artifacts?: readonly RawArtifact[] | undefined
}

/** An artifact, or a chunk of one. */
export interface RawArtifact {
  readonly id: string
  readonly append: boolean
  readonly parts: readonly RawPart[]
}

/** A part; data is neither. */
export interface RawPart {
  readonly text?: string | undefined
  readonly file?: ReceivedFile | undefined
}

/** Talks over such a client as the protocol says. */
export function converse(client: RawClient): Conversation {
  const ask = async (message: RawMessage) => new Answer().add(await client.send(message))
  return {
    discover: () => client.discover(),
    send: (text) => ask({ text }),
    async stream(text) {
      const answer = new Answer()
      for await (const event of client.stream({ text })) answer.add(event)
      return answer
    },
    answer: ({ taskId, contextId }, text) => ask({ text, taskId, contextId }),
    async begin(text) {
      const events = client.stream({ text })[Symbol.asyncIterator]()
      const { value } = (await events.next()) as { value: RawEvent }
      return {
        async cancel() {
          const state = await client.cancel(value.taskId!)
          await events.return?.()
          return state
        }
      }
    },
    sendFile: (file) => ask({ file })
  }
}

/** The reply of events: chunks of an artifact follow each other, or replace it; without any, what the agent says counts. */
export class Answer implements Reply {
  taskId?: string | undefined
  contextId?: string | undefined
  state?: string | undefined
  readonly chunks: string[] = []
  readonly #artifacts = new Map<string, readonly RawPart[]>()
  #said: readonly RawPart[] = []

  add({ taskId, contextId, state, said = [], artifacts = [] }: RawEvent): this {
    this.taskId = taskId ?? this.taskId
    this.contextId = contextId ?? this.contextId
    this.state = state ?? this.state
    this.#said = said
    for (const { id, append, parts } of artifacts) {
      if (textOf(parts) !== '') this.chunks.push(textOf(parts))
      this.#artifacts.set(id, append ? [...(this.#artifacts.get(id) ?? []), ...parts] : parts)
    }
    return this
  }

  get text(): string {
    return textOf(this.#parts) + textOf(this.#said)
  }

  get files(): ReceivedFile[] {
    return [...this.#parts, ...this.#said].flatMap(({ file }) => file ?? [])
  }

  get #parts(): RawPart[] {
    return [...this.#artifacts.values()].flat()
  }
}

function textOf(parts: readonly RawPart[]): string {
  return parts.map(({ text = '' }) => text).join('')
}
