import {
  AbstractChat,
  DefaultChatTransport,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  type UIMessage
} from 'ai'
import type { ChatMetadata } from '@svc/ui-stream'

/** A message of a chat in a test. */
export type TestMessage = UIMessage<Partial<ChatMetadata>>

/** The state of a chat, without a framework. */
export class PlainState implements ChatState<TestMessage> {
  readonly listeners = new Set<() => void>()
  error: Error | undefined
  #status: ChatStatus = 'ready'
  #messages: TestMessage[]

  constructor(messages: TestMessage[]) {
    this.#messages = messages
  }

  get status(): ChatStatus {
    return this.#status
  }

  set status(status: ChatStatus) {
    this.#status = status
    this.#changed()
  }

  get messages(): TestMessage[] {
    return this.#messages
  }

  set messages(messages: TestMessage[]) {
    this.#messages = messages
    this.#changed()
  }

  // Later, so that the chat has changed as a whole.
  #changed(): void {
    setImmediate(() => {
      for (const listener of this.listeners) listener()
    })
  }

  pushMessage = (message: TestMessage) => void (this.messages = [...this.messages, message])
  popMessage = () => void (this.messages = this.messages.slice(0, -1))
  replaceMessage = (index: number, message: TestMessage) =>
    void (this.messages = this.messages.map((each, at) => (at === index ? this.snapshot(message) : each)))
  snapshot = <T>(value: T): T => structuredClone(value)
}

/** The chat of the AI SDK, as `useChat` of each framework builds on it, without a framework. */
export class TestChat extends AbstractChat<TestMessage> {
  constructor(
    api: string,
    {
      messages = [],
      body,
      headers,
      fetch,
      ...init
    }: ChatInit<TestMessage> & {
      body?: object
      headers?: Record<string, string>
      fetch?: typeof globalThis.fetch
    } = {}
  ) {
    const transport = new DefaultChatTransport<TestMessage>({
      api,
      ...(body && { body }),
      ...(headers && { headers }),
      ...(fetch && { fetch })
    })
    super({ transport, ...init, state: new PlainState(messages) })
  }

  /** Resolves once a condition of the chat holds. */
  async until(holds: (chat: TestChat) => boolean): Promise<void> {
    const { listeners } = this.state as PlainState
    while (!holds(this))
      await new Promise<void>((resolve) => {
        const changed = () => {
          listeners.delete(changed)
          resolve()
        }
        listeners.add(changed)
      })
  }

  /** Resolves once the answer is over. */
  async untilEnded(): Promise<void> {
    await this.until(
      ({ status, lastMessage }) =>
        status === 'error' || (status === 'ready' && lastMessage?.metadata?.status !== 'input-required')
    )
  }

  /** The text of the last message. */
  get text(): string {
    return textOf(this.lastMessage)
  }
}

/** The text parts of a message, joined. */
export function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
}
