import type { Message } from '../model/message.ts'
import type { TaskEvent } from '../model/task-event.ts'

/** What a client of a version sends, and how it reads what it is answered. */
export interface ClientCodec {
  encodeSend(message: Message): object
  /** @throws A2A_ERR_BAD_ANSWER, A2A_ERR_BAD_PARAMS */
  decodeAnswer(answer: unknown): TaskEvent
}
