import type { MessagePart } from './part.ts'

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
