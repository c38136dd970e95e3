import { resolve } from 'node:path'
import { createContext, type RunResult } from '@svc/registry'
import { createAssistant } from '../../src/agents/assistant.ts'
import { loadSections } from '../../src/docs/sections.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'
import { createTools } from '../../src/tools/create-tools.ts'

const ROOT = resolve(import.meta.dirname, '../../../..')
const assistant = createAssistant(createOfflineModel({ delay: 0 }), createTools(loadSections(ROOT)))
let count = 0

/** A new session with the offline assistant on the real documents: gives the function that asks in it. */
export function startConversation(): (message: string) => Promise<RunResult> {
  const sessionId = `session-${++count}`
  return (message) => assistant.run(message, createContext({ sessionId }))
}
