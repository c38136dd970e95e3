import { Type } from '@sinclair/typebox'
import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http, { type HttpOptions } from '@svc/http'
import realtime from '@svc/realtime'
import registryPlugin, {
  createRegistry,
  type Registry,
  type RunEngineOptions,
  type SessionMessage
} from '@svc/registry'
import runtime, { Agent, defineTool, type AgentOptions } from '@svc/runtime'
import { scriptedModel, type Script } from '@svc/runtime/testing'
import { toneDetector, toneSpeech, toneTranscription } from '@svc/voice/testing'
import { VoiceAgent, type CascadeOptions } from '@svc/voice'
import Fastify, { type FastifyInstance } from 'fastify'
import { serve, type Client, type Served } from './serve.ts'

/** What to serve: a desk that answers, and a phone that calls it. */
export interface VoiceService {
  readonly script?: Script
  readonly desk?: Partial<AgentOptions>
  readonly phone?: Partial<CascadeOptions>
  /** Adds more to the registry. */
  readonly add?: (registry: Registry, desk: Agent) => void
  readonly options?: RunEngineOptions
  readonly http?: HttpOptions
}

type Test = Parameters<typeof serve>[0]

/** A phone whose speech models carry text as tones. */
export function makePhone(
  registry: Registry,
  options: Pick<CascadeOptions, 'answer'> & Partial<CascadeOptions>
) {
  return new VoiceAgent({
    name: 'phone',
    registry,
    listen: toneTranscription(),
    speak: toneSpeech(),
    turns: { detect: toneDetector() },
    ...options
  })
}

/** Serves a voice agent on HTTP, sockets and A2A. */
export async function serveVoice(t: Test, service: VoiceService = {}): Promise<Served> {
  const { script = 'Noon.', desk: deskOptions, phone, add, options, http: httpOptions } = service
  const registry = createRegistry()
  const desk = new Agent({ name: 'desk', registry, model: scriptedModel(script), ...deskOptions })
  makePhone(registry, { answer: desk, ...phone })
  add?.(registry, desk)
  return serve(t, async (app) => {
    await app.register(registryPlugin, { ...options, registry })
    await app.register(runtime)
    await app.register(http, { fileUpload: true, ...httpOptions })
    await app.register(gateway)
    await app.register(a2a, { basePath: '/a2a' })
  })
}

/** Serves a phone on the Realtime protocol under `/v1`; `desk` answers its calls. */
export async function servePhone(t: Test, script: Script, https?: object) {
  const app = Fastify({ forceCloseConnections: true, ...(https && { https }) }) as FastifyInstance
  t.teardown(() => app.close())
  const registry = createRegistry()
  const desk = new Agent({ name: 'desk', registry, model: scriptedModel(script) })
  makePhone(registry, { answer: desk, turns: { detect: toneDetector(), silence: 200 } })
  await app.register(registryPlugin, { registry, drainTimeout: 50 })
  // Tests speak as fast as the machine sends, not in real time.
  await app.register(realtime, { prefix: '/v1', limits: { eventsPerSecond: 10_000 } })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  return { app, origin }
}

/** A tool whose calls need approval. */
export const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: Type.Object({}),
  approval: true,
  execute: () => 'paid'
})

interface CallEvent {
  readonly event: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it by `match`
  readonly [field: string]: any
}

/** A call over a socket, by a client that plays everything at once unless it is told otherwise. */
export class SocketCall {
  readonly events: CallEvent[] = []
  readonly #client: Client
  #runId = ''
  #onNews: (() => void) | undefined
  #read = 0
  /** Milliseconds of each answer that are played; default: all. */
  playsFor = Infinity

  private constructor(client: Client) {
    this.#client = client
    client.socket.onAny((event: string, payload: object) => {
      this.events.push({ event, ...payload })
      if (event === 'voice.audio') this.#play(payload as { itemId: string; startMs: number; audio: Buffer })
      this.#onNews?.()
    })
  }

  static async start(client: Client, payload: object = {}): Promise<SocketCall> {
    const call = new SocketCall(client)
    const asked = { name: 'phone', reportsPlayback: true, ...payload }
    const answer = await client.ask('voice.start', asked)
    if (answer.runId === undefined) throw new Error(JSON.stringify(answer))
    call.#runId = answer.runId
    return call
  }

  get runId(): string {
    return this.#runId
  }

  /** The next event of this name that was not awaited yet. */
  async next(event: string): Promise<CallEvent> {
    for (;;) {
      const index = this.events.findIndex((each, at) => at >= this.#read && each.event === event)
      if (index !== -1) {
        this.#read = index + 1
        return this.events[index]!
      }
      await new Promise<void>((resolve) => (this.#onNews = resolve))
    }
  }

  /** Writes a turn, and waits for the end of its answer. */
  async say(text: string): Promise<CallEvent> {
    await this.send('voice.text', { text, respond: true })
    return this.next('voice.response.end')
  }

  /** Waits for the end of the answer with this text. */
  async untilText(text: string): Promise<CallEvent> {
    for (;;) {
      const end = await this.next('voice.answer.end')
      if (String(end['text']).endsWith(text)) return this.next('voice.response.end')
    }
  }

  async send(event: string, payload: object = {}): Promise<void> {
    const answer = await this.#client.ask(event, payload)
    if (answer.ok !== true) throw new Error(JSON.stringify(answer))
  }

  async hangUp(): Promise<CallEvent> {
    await this.send('voice.stop')
    return this.next('voice.done')
  }

  #play({ itemId, startMs, audio }: { itemId: string; startMs: number; audio: Buffer }): void {
    const end = startMs + audio.byteLength / 48
    if (end <= this.playsFor) this.#client.socket.emit('voice.played', { itemId, ms: end })
  }
}

/** The messages of a desk's session. */
export async function sessionOf(
  { app }: Pick<Served, 'app'>,
  sessionId: string,
  name = 'desk',
  kind: 'agent' | 'team' = 'agent'
): Promise<SessionMessage[]> {
  const key = { registry: app.registry.id, kind, owner: 'anonymous', name, sessionId } as const
  return app.runs.stores.sessions.load(key, 1_000)
}
