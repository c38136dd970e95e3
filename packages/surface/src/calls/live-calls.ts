import type { IncomingHttpHeaders } from 'node:http'
import { Type } from '@sinclair/typebox'
import { admitRun, requireAllowed, requireCallerOptions, type AdmittingSurface } from '../access/admit-run.ts'
import { mayAnswer, requireRun, type RunAccess } from '../access/require-owned.ts'
import {
  AudioFormatSchema,
  defined,
  isVoiceRunnable,
  type Principal,
  type RunBody,
  type RunLog,
  type Runnable,
  type VoiceLink,
  type VoiceRunnable,
  type VoiceSettings
} from '@svc/contract'
import {
  RUN_ERR_DRAINING,
  RUN_ERR_INPUT_NOT_FOUND,
  RUN_ERR_NOT_FOUND,
  VOICE_ERR_CALL_ENDED,
  VOICE_ERR_NOT_A_VOICE
} from '@svc/contract/errors'
import { requireConversation, withOrigin } from '@svc/registry/engine'
import { defineRunnable, type RunEngine } from '@svc/registry'
import { LiveCall, type CallClient, type CallHost } from './live-call.ts'

/** The input of the run of a call, as its log shows it. */
const CallInputSchema = Type.Object(
  { input: AudioFormatSchema, output: AudioFormatSchema, modality: Type.String() },
  { title: 'CallInput' }
)

/** The input of the run of a call: how the client sends and receives. */
function toCallInput({ input, output, modality = 'audio' }: VoiceSettings): object {
  return { input, output, modality }
}

/** A voice runnable as its run executes it: one call, over a link. The run counts as one of the voice runnable itself. */
function toCallRunnable(voice: VoiceRunnable, link: VoiceLink): Runnable {
  const { kind, name, toolNames, toolsVary } = voice
  const call = defineRunnable({
    kind,
    name,
    toolNames,
    toolsVary,
    inputSchema: CallInputSchema,
    stream: (_input, context) => voice.converse(link, context)
  })
  return withOrigin(call, voice)
}

/** A surface that takes calls. */
export interface CallSurface extends AdmittingSurface, Pick<RunAccess, 'exposed' | 'policy'> {
  readonly exposed: AdmittingSurface['exposed'] & RunAccess['exposed']
  readonly policy: RunAccess['policy']
  readonly runs: RunEngine
  readonly log: RunLog
}

/** A request for a call. */
export interface AskedCall extends CallClient, Pick<RunBody, 'sessionId' | 'userId' | 'apiKey' | 'metadata'> {
  /** The name of the voice agent. */
  readonly name: string
  /** May contain keys of model providers. */
  readonly headers: IncomingHttpHeaders
}

/** The calls of a surface. */
export class LiveCalls {
  readonly #surface: CallSurface
  readonly #grace: number
  readonly #calls = new Map<string, LiveCall>()
  #isClosed = false

  /** @param grace milliseconds in which the client of a lost connection may come back */
  constructor(surface: CallSurface, grace: number) {
    this.#surface = surface
    this.#grace = grace
  }

  /** The number of calls in progress. */
  get size(): number {
    return this.#calls.size
  }

  /**
   * Starts a call, which is a run. Its outputs wait for `LiveCall.connect`.
   * @throws the surface's errors, VOICE_ERR_NOT_A_VOICE, VOICE_ERR_BAD_FORMAT, and those of `RunEngine.start`
   */
  async start(asked: AskedCall): Promise<LiveCall> {
    const { name, principal, headers, settings, sessionId, userId, apiKey, metadata } = asked
    const { runs, log } = this.#surface
    const { instructions, tools } = settings
    const body = defined({ input: {}, sessionId, userId, apiKey, metadata, instructions, tools }) as RunBody
    const admission = { body, onDisconnect: 'cancel', principal, headers, log } as const
    const { runnable, options } = await admitRun(this.#surface, 'agent', name, admission)
    if (!isVoiceRunnable(runnable)) throw new VOICE_ERR_NOT_A_VOICE('agent', name)
    const call = new LiveCall(this.#hostFor(runnable), asked)
    const run = await runs.start(toCallRunnable(runnable, call), toCallInput(call.settings), options)
    this.#calls.set(run.runId, call)
    call.begun(run)
    if (this.#isClosed) this.#shutDown(call)
    return call
  }

  /**
   * A call in progress, for its owner: `LiveCall.connect` continues it over another connection.
   * @param principal the caller, in whose name the call answers inputs from now on
   * @throws RUN_ERR_NOT_FOUND, VOICE_ERR_CALL_ENDED, and the surface's errors
   */
  async resume(runId: string, principal: Principal): Promise<LiveCall> {
    const { kind, name, owner } = await requireRun(this.#surface, runId, principal)
    // An administrator sees the run, but must not take over the microphone.
    if (owner !== principal.sub) throw new RUN_ERR_NOT_FOUND(runId)
    await requireAllowed(this.#surface, principal, 'run', { kind, name })
    const call = this.#calls.get(runId)
    if (call === undefined) throw new VOICE_ERR_CALL_ENDED(runId)
    call.principal = principal
    return call
  }

  /** Ends all calls, and those that are about to start, since the service shuts down. Resolves when their runs have ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    const calls = [...this.#calls.values()]
    for (const call of calls) this.#shutDown(call)
    await Promise.all(calls.map(({ over }) => over))
  }

  #shutDown(call: LiveCall): void {
    const { code, message } = new RUN_ERR_DRAINING()
    void call.send({ type: 'error', code, message })
    call.end('shutdown')
  }

  #hostFor(runnable: VoiceRunnable): CallHost {
    return {
      grace: this.#grace,
      requireSettings: (settings) => {
        requireCallerOptions(this.#surface, settings)
        requireConversation(runnable, settings)
      },
      answer: async ({ runId }, principal, inputId, answer) => {
        const found = await this.#surface.runs.findInput(inputId)
        const isOwn = found?.run.runId === runId
        if (!isOwn || !(await mayAnswer(this.#surface, found.run, found.input.kind, principal)))
          throw new RUN_ERR_INPUT_NOT_FOUND(inputId)
        await this.#surface.runs.answer(inputId, answer)
      },
      ended: (call) => void this.#calls.delete(call.runId)
    }
  }
}
