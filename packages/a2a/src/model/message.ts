/** Something that a client or an agent said. */
export interface Message {
  messageId: string
  role: 'user' | 'agent'
  parts: MessagePart[]
  contextId?: string
  taskId?: string
  metadata?: Record<string, unknown>
  extensions?: string[]
  referenceTaskIds?: string[]
}

/** What every kind of part may carry. */
interface About {
  filename?: string
  mediaType?: string
  metadata?: Record<string, unknown>
}

/** A piece of a message or an artifact: a text, a file (base64 in `raw`, or where it is), or any JSON value. */
export type MessagePart =
  | (About & { text: string })
  | (About & { raw: string })
  | (About & { url: string })
  | (About & { data: unknown })

/** Something that a task made. */
export interface Artifact {
  artifactId: string
  name?: string
  description?: string
  parts: MessagePart[]
  metadata?: Record<string, unknown>
}
