/** A message of a client or an agent. */
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

interface PartFields {
  filename?: string
  mediaType?: string
  metadata?: Record<string, unknown>
}

/** A part of a message or an artifact: a text, a file (base64 in `raw`, or its URL), or any JSON value. */
export type MessagePart =
  | (PartFields & { text: string })
  | (PartFields & { raw: string })
  | (PartFields & { url: string })
  | (PartFields & { data: unknown })

/** An output of a task. */
export interface Artifact {
  artifactId: string
  name?: string
  description?: string
  parts: MessagePart[]
  metadata?: Record<string, unknown>
}
