import type { MessagePart } from './part.ts'

/** Something that a task made. */
export interface Artifact {
  artifactId: string
  name?: string
  description?: string
  parts: MessagePart[]
  metadata?: Record<string, unknown>
}
