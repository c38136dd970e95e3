import {
  Role,
  TaskState,
  type Artifact,
  type Message,
  type Part,
  type StreamResponse,
  type Task
} from 'a2a-sdk-v1.0'
import type { RawArtifact, RawEvent, RawMessage, RawPart } from './conversation.ts'

const STATES = [
  'unspecified',
  'submitted',
  'working',
  'completed',
  'failed',
  'canceled',
  'input-required',
  'rejected',
  'auth-required'
]

/** Writes a message as clients of 1.0 take it. */
export function toCurrentMessage({ text, file, taskId = '', contextId = '' }: RawMessage): Message {
  const content: Part['content'] =
    file === undefined ? { $case: 'text', value: text! } : { $case: 'raw', value: Buffer.from(file.content) }
  const part = { content, metadata: undefined, filename: file?.name ?? '', mediaType: file?.mediaType ?? '' }
  return {
    messageId: crypto.randomUUID(),
    contextId,
    taskId,
    role: Role.ROLE_USER,
    parts: [part],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: []
  }
}

/** Reads an event of a stream of 1.0. */
export function fromStreamResponse({ payload }: StreamResponse): RawEvent {
  switch (payload?.$case) {
    case 'task':
      return fromTask(payload.value)
    case 'message':
      return fromMessage(payload.value)
    case 'statusUpdate': {
      const { taskId, contextId, status } = payload.value
      return { taskId, contextId, state: stateOf(status?.state), said: status?.message?.parts.map(fromPart) }
    }
    case 'artifactUpdate': {
      const { taskId, contextId, artifact, append } = payload.value
      return { taskId, contextId, artifacts: artifact && [fromArtifact(artifact, append)] }
    }
    default:
      throw new Error('The event is of no known kind')
  }
}

export function fromTask({ id: taskId, contextId, status, artifacts }: Task): RawEvent {
  return {
    taskId,
    contextId,
    state: stateOf(status?.state),
    said: status?.message?.parts.map(fromPart),
    artifacts: artifacts.map((artifact) => fromArtifact(artifact, false))
  }
}

export function fromMessage({ contextId, parts }: Message): RawEvent {
  return { contextId, said: parts.map(fromPart) }
}

/** The name of a state, as the other versions spell it. */
export function stateOf(state: TaskState = TaskState.TASK_STATE_UNSPECIFIED): string {
  return STATES[state] ?? String(state)
}

function fromArtifact({ artifactId: id, parts }: Artifact, append: boolean): RawArtifact {
  return { id, append, parts: parts.map(fromPart) }
}

function fromPart({ content, mediaType }: Part): RawPart {
  switch (content?.$case) {
    case 'text':
      return { text: content.value }
    case 'url':
      return { file: { mediaType, url: content.value } }
    case 'raw':
      return { file: { mediaType, content: Buffer.from(content.value).toString('base64') } }
    default:
      return {}
  }
}
