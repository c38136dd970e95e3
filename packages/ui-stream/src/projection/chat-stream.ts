import { encodeEvents, EventStream, PartialNotice, type StreamStart, type TransientPart } from '@svc/surface'
import type { UiChunk } from '../wire/chunks.ts'
import { toData, toStructured } from './content-chunks.ts'
import type { MessageChunks } from './message-chunks.ts'

/** The log of a run as a UI message stream, which ends where the run ends or waits. */
export class ChatStream extends EventStream<UiChunk> {
  constructor(chunks: MessageChunks, start?: StreamStart) {
    super(chunks, start, 'data: [DONE]\n\n')
  }

  // A client that lost its connection resumes; a stream that ended in order, it would take for a whole one.
  get breaksOff(): boolean {
    return true
  }

  encodeTransient(notice: TransientPart): string {
    const { part } = notice
    return encodeEvents([notice instanceof PartialNotice ? toStructured(part.value) : toData(part)])
  }
}
