import type { Artifact, Message, MessagePart } from '../model/message.ts'
import type { Task, TaskState, TaskStatus } from '../model/task.ts'
import { fields, id, list, text, type Fields } from './read-answer.ts'

/** What the versions call differently in what a server answers. */
export interface AnswerWords {
  /** The role of what a user says. */
  readonly userRole: string
  /** A state by its name; undefined for one that is not known. */
  decodeState(name: string): TaskState | undefined
  /** `field` is where it stands, for what is thrown. */
  decodePart(part: Fields, field: string): MessagePart
}

/** Reads the objects of answers, in the words of a version. Each throws A2A_ERR_BAD_ANSWER. */
export interface AnswerDecoder {
  task(task: Fields): Task
  status(status: unknown): TaskStatus
  message(message: Fields): Message
  artifact(artifact: unknown): Artifact
}

/** Makes the decoder of a version. */
export function createAnswerDecoder({ userRole, decodeState, decodePart }: AnswerWords): AnswerDecoder {
  const parts = (given: unknown) => list(given).map((part) => decodePart(fields(part), 'parts'))

  const message = ({ messageId, role, parts: said, taskId, contextId }: Fields): Message => ({
    messageId: id(messageId),
    role: role === userRole ? 'user' : 'agent',
    parts: parts(said),
    ...(typeof taskId === 'string' && { taskId: id(taskId) }),
    ...(typeof contextId === 'string' && { contextId: id(contextId) })
  })
  const status = (given: unknown): TaskStatus => {
    const { state, message: said } = fields(given)
    const known = decodeState(text(state)) ?? 'unknown'
    return said === undefined ? { state: known } : { state: known, message: message(fields(said)) }
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
