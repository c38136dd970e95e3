import {
  createRunEngine,
  defineRunnable,
  type Run,
  type RunEngine,
  type SessionMessage,
  type VoiceLink,
  type VoiceRunnable
} from '@svc/registry'

/** A call in progress, in this process: there is no wire in between. */
export interface StartedCall {
  readonly run: Run
  /** The messages of its session with this agent. */
  sessionOf(name: string): Promise<readonly SessionMessage[]>
  /** Waits for the end of the run; `Error` if it did not end well. The engine ends with it, unless it was given. */
  end(): Promise<void>
}

/** Calls a voice agent over a link. */
export async function startCall(
  voice: VoiceRunnable,
  link: VoiceLink,
  given?: RunEngine
): Promise<StartedCall> {
  const engine = given ?? createRunEngine({ drainTimeout: 0 })
  const { kind, name } = voice
  const stream: Parameters<typeof defineRunnable>[0]['stream'] = (_input, context) =>
    voice.converse(link, context)
  const run = await engine.start(defineRunnable({ kind, name, stream }), 'A call')
  const { sessionId } = run
  return {
    run,
    sessionOf: async (agent) =>
      engine.stores.sessions.load(
        { registry: 'global', kind: 'agent', owner: 'anonymous', name: agent, sessionId },
        10_000
      ),
    async end() {
      await run.result()
      if (given === undefined) await engine.close()
    }
  }
}
