import type { Artifact, Message, MessagePart } from '../model/message.ts'
import type { Task, TaskState, TaskStatus } from '../model/task.ts'
import { fields, id, list, text, type Fields } from './read-answer.ts'

/** The vocabulary of a version in answers. */
export interface AnswerWords {
  /** The name of the user's role. */
  readonly userRole: string
  /** The name of a message's parts. */
  readonly content: 'parts' | 'content'
  /** The state of a name; undefined for an unknown name. */
  decodeState(name: string): TaskState | undefined
  /** `field` is the path of the part, for errors. */
  decodePart(part: Fields, field: string): MessagePart
}

/** Decodes the objects of answers. Each method throws A2A_ERR_BAD_ANSWER. */
export interface AnswerDecoder {
  task(task: Fields): Task
  status(status: unknown): TaskStatus
  message(message: Fields): Message
  artifact(artifact: unknown): Artifact
}

/** Makes the decoder of a version. */
export function createAnswerDecoder({
  userRole,
  content,
  decodeState,
  decodePart
}: AnswerWords): AnswerDecoder {
  const parts = (given: unknown) => list(given).map((part) => decodePart(withoutNull(fields(part)), 'parts'))

  const message = ({ messageId, role, taskId, contextId, [content]: said }: Fields): Message => ({
    messageId: id(messageId),
    role: role === userRole ? 'user' : 'agent',
    parts: parts(said),
    ...(typeof taskId === 'string' && { taskId: id(taskId) }),
    ...(typeof contextId === 'string' && { contextId: id(contextId) })
  })
  const status = (given: unknown): TaskStatus => {
    const { state, message: spoken } = fields(given)
    const known = decodeState(text(state)) ?? 'unknown'
    return spoken === undefined ? { state: known } : { state: known, message: message(fields(spoken)) }
  }
  const artifact = (given: unknown): Artifact => {
    const { artifactId, name, parts: made, metadata } = fields(given)
    return {
      artifactId: id(artifactId),
      parts: parts(made),
      ...(typeof name === 'string' && { name }),
      ...(metadata !== undefined && { metadata: fields(metadata) })
    }
  }
  const task = ({ id: taskId, contextId, status: standing, artifacts, history }: Fields): Task => ({
    id: id(taskId),
    contextId: id(contextId),
    status: status(standing),
    artifacts: list(artifacts).map(artifact),
    history: list(history).map((each) => message(fields(each)))
  })
  return { task, status, message, artifact }
}

// Null is a value of data, unless the part has another content.
function withoutNull(part: Fields): Fields {
  if (part['data'] !== null || !OTHERS.some((each) => each in part)) return part
  const { data: _, ...rest } = part
  return rest
}

const OTHERS = ['text', 'raw', 'url', 'file']
