import {
  createInProcessStores,
  createRegistry,
  createRunEngine,
  defineRunnable,
  type EventBus,
  type NumberedPart,
  type Run,
  type RunEngine,
  type Runnable,
  type SessionMessage,
  type Stores
} from '@svc/registry'
import { Agent, type AgentOptions } from '@svc/runtime'
import { scriptedModel, type Script } from '@svc/runtime/testing'
import { toneDetector } from '../../src/testing/tone-codec.ts'
import { toneSpeech } from '../../src/testing/tone-speech.ts'
import { toneTranscription } from '../../src/testing/tone-transcription.ts'
import { voiceLink, type TestVoiceLink, type VoiceLinkOptions } from '../../src/testing/voice-link.ts'
import { VoiceAgent, type CascadeOptions } from '@svc/voice'

/** Options of a call in a test. */
export interface CallOptions {
  /** Of the model that answers; default `Hello there.`. */
  script?: Script
  /** Of the agent that answers. */
  agent?: Partial<AgentOptions>
  /** Instead of the agent. */
  answer?: Runnable
  voice?: Partial<CascadeOptions>
  link?: VoiceLinkOptions
  stores?: Stores
  events?: EventBus
  sessionId?: string
}

/** A call in progress. */
export interface TestCall {
  readonly run: Run
  readonly link: TestVoiceLink
  readonly voice: VoiceAgent
  readonly stores: Stores
  readonly engine: RunEngine
  /** The parts of the call, which must be over. */
  parts(): Promise<NumberedPart[]>
  /** The messages of the agent's session. */
  session(): Promise<readonly SessionMessage[]>
}

interface Scope {
  teardown(act: () => unknown): void
}

/** Makes a cascade of scripted and tone models. */
export function makeVoice({ script = 'Hello there.', agent, answer, voice }: CallOptions = {}): VoiceAgent {
  const registry = createRegistry()
  return new VoiceAgent({
    name: 'phone',
    registry,
    listen: toneTranscription(),
    speak: toneSpeech(),
    answer: answer ?? new Agent({ name: 'desk', registry, model: scriptedModel(script), ...agent }),
    ...voice,
    turns: { detect: toneDetector(), ...voice?.turns }
  })
}

/** Starts a call as a run of an engine; both end with the test. */
export async function startCall(t: Scope, options: CallOptions = {}): Promise<TestCall> {
  const voice = makeVoice(options)
  const { stores = createInProcessStores(), events, sessionId } = options
  const engine = createRunEngine({ stores, drainTimeout: 0, ...(events && { events }) })
  t.teardown(() => engine.close())
  const link = voiceLink({
    answer: async (inputId, answer) => void (await engine.answer(inputId, answer)),
    ...options.link
  })
  const call = defineRunnable({
    kind: 'agent',
    name: voice.name,
    stream: (_input, context) => voice.converse(link, context)
  })
  const run = await engine.start(call, 'call', { ...(sessionId !== undefined && { sessionId }) })
  return {
    run,
    link,
    voice,
    stores,
    engine,
    parts: () => Array.fromAsync(run.parts()),
    session: async () =>
      stores.sessions.load(
        { registry: 'global', kind: 'agent', name: 'desk', owner: 'anonymous', sessionId: run.sessionId },
        1_000
      )
  }
}
