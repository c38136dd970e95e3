import type {
  Artifact,
  Message,
  Part,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent
} from '@a2a-js/sdk'
import type { RawArtifact, RawEvent, RawMessage, RawPart } from './conversation.ts'

/** What a stream of 0.2 and 0.3 sends. */
export type LegacyEvent = Message | Task | TaskStatusUpdateEvent | TaskArtifactUpdateEvent

/** Writes a message as 0.2 and 0.3 have it. */
export function toLegacyMessage({ text, file, taskId, contextId }: RawMessage): Message {
  return {
    kind: 'message',
    messageId: crypto.randomUUID(),
    role: 'user',
    parts: [
      file === undefined
        ? { kind: 'text', text: text! }
        : {
            kind: 'file',
            file: {
              bytes: Buffer.from(file.content).toString('base64'),
              name: file.name,
              mimeType: file.mediaType
            }
          }
    ],
    ...(taskId !== undefined && { taskId }),
    ...(contextId !== undefined && { contextId })
  }
}

/** Reads an answer, or an event of a stream, of 0.2 and 0.3. */
export function fromLegacyEvent(event: LegacyEvent): RawEvent {
  const { contextId } = event
  switch (event.kind) {
    case 'message':
      return { contextId, said: event.parts.map(fromPart) }
    case 'task':
      return {
        taskId: event.id,
        contextId,
        state: event.status.state,
        said: event.status.message?.parts.map(fromPart),
        artifacts: event.artifacts?.map((artifact) => fromArtifact(artifact, false))
      }
    case 'status-update':
      return {
        taskId: event.taskId,
        contextId,
        state: event.status.state,
        said: event.status.message?.parts.map(fromPart)
      }
    default:
      return { taskId: event.taskId, contextId, artifacts: [fromArtifact(event.artifact, event.append)] }
  }
}

/** The result of a JSON-RPC response. @throws its error */
export function resultOf<T>(response: { result: T } | { error: { message: string } }): T {
  if ('error' in response) throw Object.assign(new Error(response.error.message), response.error)
  return response.result
}

function fromArtifact({ artifactId: id, parts }: Artifact, append = true): RawArtifact {
  return { id, append, parts: parts.map(fromPart) }
}

function fromPart(part: Part): RawPart {
  if (part.kind === 'text') return { text: part.text }
  if (part.kind === 'data') return {}
  const { file } = part
  return {
    file: {
      mediaType: file.mimeType,
      ...('uri' in file ? { url: file.uri } : { content: file.bytes })
    }
  }
}
