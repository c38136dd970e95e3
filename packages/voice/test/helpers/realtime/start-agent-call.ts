import {
  createInProcessStores,
  createRegistry,
  createRunEngine,
  defineRunnable,
  GLOBAL_REGISTRY,
  type Stores
} from '@svc/registry'
import { voiceLink, type VoiceLinkOptions } from '../../../src/testing/voice-link.ts'
import { VoiceAgent, type RealtimeOptions } from '@svc/voice'
import { echo } from './echo.ts'
import { startRealtimeServer, type RealtimeServerOptions } from './realtime-server.ts'

/** Options of a call of a test. */
export interface AgentCallOptions {
  readonly server?: Partial<RealtimeServerOptions>
  readonly voice?: Partial<RealtimeOptions>
  readonly link?: VoiceLinkOptions
  readonly stores?: Stores
}

/** Starts a call of a `VoiceAgent` with a realtime model, as a run of an engine; both end with the test. */
export async function startAgentCall(
  t: { teardown(fn: () => unknown): void },
  { server, voice, link: linkOptions, stores = createInProcessStores() }: AgentCallOptions = {}
) {
  const upstream = await startRealtimeServer(t, { reply: echo, ...server })
  const agent = new VoiceAgent({
    name: 'live',
    registry: createRegistry(),
    model: upstream.model,
    retry: { baseDelay: 1 },
    ...voice,
    turns: { silence: 100, prefix: 0, ...voice?.turns }
  })
  const engine = createRunEngine({ stores, drainTimeout: 0 })
  t.teardown(() => engine.close())
  const link = voiceLink({
    answer: async (inputId, answer) => void (await engine.answer(inputId, answer)),
    ...linkOptions
  })
  const call = defineRunnable({
    kind: 'agent',
    name: agent.name,
    stream: (_input, context) => agent.converse(link, context)
  })
  const run = await engine.start(call, 'call', { sessionId: 's1' })
  const key = {
    registry: GLOBAL_REGISTRY,
    kind: 'agent',
    name: 'live',
    owner: 'anonymous',
    sessionId: 's1'
  } as const
  return {
    run,
    link,
    upstream,
    engine,
    agent,
    session: async () => stores.sessions.load(key, 1_000),
    parts: () => Array.fromAsync(run.parts())
  }
}
