import type { VoiceOutput } from '@svc/contract'
import type { Conversation } from '../conversation/conversation.ts'
import { OpenResponse } from '../conversation/open-response.ts'
import type { Emit } from '../events/server-events.ts'
import { addText, clearAnswer, closeAnswer, openAnswer, sendAudio, truncateAnswer } from './project-answer.ts'
import { reportError } from './project-error.ts'
import { startSpeech, stopSpeech } from './project-speech.ts'
import { projectToolCall } from './project-tool-call.ts'
import { addTurn, failTranscript, transcribe } from './project-turn.ts'

/** Projects an output of a call to the events of the protocol; states, approvals and the notice of a recording have none. */
export function projectOutput(conversation: Conversation, output: VoiceOutput, emit: Emit): void {
  switch (output.type) {
    case 'audio':
      return sendAudio(conversation, output, emit)
    case 'text':
      return addText(conversation, output, emit)
    case 'speech.start':
      return startSpeech(conversation, output, emit)
    case 'speech.stop':
      return stopSpeech(conversation, output, emit)
    case 'item':
      return addTurn(conversation, output, emit)
    case 'transcript':
      return transcribe(conversation, output, emit)
    case 'transcript.failed':
      return failTranscript(conversation, output, emit)
    case 'response.start': {
      const { id, session, metadata } = conversation
      const response = new OpenResponse(output.responseId, id, session, metadata)
      conversation.response = response
      conversation.metadata = null
      conversation.createdBy = null
      return emit({ type: 'response.created', response: response.toWire() })
    }
    case 'answer.start':
      return openAnswer(conversation, output, emit)
    case 'answer.end':
      return closeAnswer(conversation, { text: output.text, status: 'completed' }, emit)
    case 'tool.call':
      return projectToolCall(conversation, output, emit)
    case 'response.end': {
      const { response } = conversation
      if (response?.id !== output.responseId) return undefined
      const status = output.status === 'completed' ? 'completed' : 'incomplete'
      closeAnswer(conversation, { text: undefined, status }, emit)
      conversation.response = undefined
      return emit({ type: 'response.done', response: response.toWire(output) })
    }
    case 'clear':
      return clearAnswer(conversation, output, emit)
    case 'truncated':
      return truncateAnswer(conversation, output, emit)
    case 'error':
      return reportError(conversation, output, emit)
    case 'state':
    case 'approval':
    case 'recording':
      return undefined
  }
}
