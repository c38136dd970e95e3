import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { ScriptedModel } from '@svc/runtime/testing'
import { answerMessage } from './assistant/answer-message.ts'
import { answerBookingRequest } from './booking.ts'
import { answerByClientTool } from './client-tools.ts'
import type { Conversation } from './conversation.ts'
import { answerDelivery } from './courier.ts'
import { pickMember } from './desk.ts'
import { answerNoteRequest } from './notes.ts'
import { ruleModel, type Move } from './rule-model.ts'
import { browse } from './scout/scout.ts'
import { isSpoken, toSpoken } from './spoken.ts'

/** Options of the offline model. */
export interface OfflineModelOptions {
  /** Milliseconds between two words; default 4. */
  delay?: number
}

/** A model without network or weights: rules that read each question, call tools, and answer from their results. */
export function createOfflineModel({ delay = 4 }: OfflineModelOptions = {}): ScriptedModel {
  return ruleModel('offline', decide, delay)
}

function decide(conversation: Conversation, options: LanguageModelV4CallOptions): Move {
  const { prompt, tools = [], toolChoice } = options
  const usable = toolChoice?.type === 'none' ? [] : tools
  const member = pickMember(conversation.message, usable)
  if (member !== undefined) return { calls: [member] }
  const ofClient = answerByClientTool(conversation, usable)
  if (ofClient !== undefined) return ofClient
  const names = new Set(usable.map(({ name }) => name))
  if (names.has('ask_guest')) return answerBookingRequest(conversation)
  if (names.has('deliver')) return answerDelivery(conversation)
  if (names.has('browser_open')) return browse(conversation, prompt)
  const move = names.has('add_note') ? answerNoteRequest(conversation) : answerMessage(conversation, names)
  return 'answer' in move && isSpoken(prompt) ? { answer: toSpoken(move.answer) } : move
}
