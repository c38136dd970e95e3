import { setTimeout as pause } from 'node:timers/promises'
import type { ServerEvent } from '@svc/realtime'
import { encodeTones } from '@svc/voice/testing'
import { type Script } from '@svc/runtime/testing'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import { clock, REALTIME_CLIENTS, type RealtimeClient } from './helpers/realtime-clients.ts'
import { servePhone, sessionOf } from './helpers/serve-voice.ts'

// Answers play in real time; the three calls run side by side.
t.setTimeout(30_000)
t.jobs = 3

const TURNS = 20
const LONG = 'This answer is long enough to be stopped in the middle of its words.'

/** Answers the last message: `use` calls the tool of the client, `tell` says much. */
const script: Script = ({ prompt }) => {
  const last = prompt.at(-1)!
  if (last.role === 'tool') return JSON.stringify(last.content).includes('time of') ? 'told' : 'lost'
  const text = JSON.stringify(last.content)
  const [, of] = /use (\w+)/.exec(text) ?? []
  if (of !== undefined) return { toolCalls: [{ toolCallId: `call-${of}`, toolName: 'clock', args: { of } }] }
  return text.includes('tell') ? LONG : 'ok'
}

/** A phone and its desk behind TLS, which `openai` needs. */
async function serveSecurely(t: Test) {
  const { private: key, cert } = await generate([{ name: 'commonName', value: '127.0.0.1' }])
  const { app, origin } = await servePhone(t, script, { key, cert })
  return { app, host: new URL(origin).host }
}

/** A user with one of the clients. */
class Caller {
  readonly #make: (typeof REALTIME_CLIENTS)[keyof typeof REALTIME_CLIENTS]
  readonly #host: string
  #client: RealtimeClient | undefined
  #events: ServerEvent[] = []
  #onNews: (() => void) | undefined
  #audioSince: number | undefined
  /** The `runId` of the call. */
  conversation = ''
  readonly errors: unknown[] = []

  constructor(name: keyof typeof REALTIME_CLIENTS, host: string) {
    this.#make = REALTIME_CLIENTS[name]
    this.#host = host
  }

  async connect(query: Record<string, string> = {}): Promise<void> {
    this.#events = []
    const receive = (event: ServerEvent) => this.#receive(event)
    this.#client = await this.#make({ host: this.#host, query: { model: 'phone', ...query }, receive })
    this.conversation = (await this.next('conversation.created')).conversation.id
  }

  /** Breaks the connection, and continues the call over another one. */
  async reconnect(): Promise<void> {
    this.#client!.drop()
    await pause(20)
    await this.connect({ call: this.conversation })
  }

  hangUp(): void {
    this.#client!.hangUp()
  }

  /** The next event of a type, after those that were awaited. */
  async next<T extends ServerEvent['type']>(type: T): Promise<Extract<ServerEvent, { type: T }>> {
    for (;;) {
      const index = this.#events.findIndex((each) => each.type === type)
      if (index !== -1) return this.#events.splice(0, index + 1).at(-1) as Extract<ServerEvent, { type: T }>
      await new Promise<void>((resolve) => (this.#onNews = resolve))
    }
  }

  /** The next response with an answer: its status and words. */
  async answer(): Promise<{ status: string; text: string | undefined }> {
    for (;;) {
      const { response } = await this.next('response.done')
      const [item] = response.output
      if (item?.type !== 'message') continue
      const [content] = item.content
      return {
        status: response.status,
        text: content?.type === 'output_audio' ? (content.transcript ?? '') : undefined
      }
    }
  }

  speak(text: string): void {
    const tones = encodeTones(text, 24_000)
    const samples = new Int16Array(tones.length + 9_600)
    samples.set(tones)
    const audio = Buffer.from(samples.buffer).toString('base64')
    this.#client!.send({ type: 'input_audio_buffer.append', audio })
  }

  write(text: string): void {
    const content = [{ type: 'input_text' as const, text }]
    this.#client!.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } })
    this.#client!.send({ type: 'response.create' })
  }

  #receive(event: ServerEvent): void {
    this.#events.push(event)
    if (event.type === 'error') this.errors.push(event.error)
    if (event.type === 'response.created') this.#audioSince = undefined
    if (event.type === 'response.output_audio.delta') this.#audioSince ??= Date.now()
    if (!this.#client?.isAutomatic) this.#act(event)
    this.#onNews?.()
  }

  // What `@openai/agents-realtime` does by itself.
  #act(event: ServerEvent): void {
    const client = this.#client
    if (event.type === 'response.function_call_arguments.done') {
      const output = clock(JSON.parse(event.arguments) as { of: string })
      client!.send({
        type: 'conversation.item.create',
        item: { type: 'function_call_output', call_id: event.call_id, output }
      })
    }
    if (event.type === 'response.done' && event.response.output[0]?.type === 'function_call')
      client!.send({ type: 'response.create' })
    if (event.type === 'output_audio_buffer.cleared' && this.#lastAnswer !== undefined) {
      const played = Date.now() - (this.#audioSince ?? Date.now())
      client!.send({
        type: 'conversation.item.truncate',
        item_id: this.#lastAnswer,
        content_index: 0,
        audio_end_ms: played
      })
    }
    if (event.type === 'response.output_item.added') this.#lastAnswer = event.item.id
  }

  #lastAnswer: string | undefined
}

for (const name of ['openai', 'agents', 'aiSdk'] as const)
  t.test(`${name}: 20 turns with tools, interruptions and a lost connection`, async (t) => {
    const { app, host } = await serveSecurely(t)
    const caller = new Caller(name, host)
    await caller.connect()
    const users: string[] = []
    const ask = (words: string, act: 'speak' | 'write') => {
      users.push(words)
      caller[act](words)
    }
    for (let turn = 0; turn < TURNS; turn++) {
      if (turn % 5 === 1) {
        ask(`use t${turn}`, 'write')
        t.same(await caller.answer(), { status: 'completed', text: 'told' }, `tool in turn ${turn}`)
      } else if (turn % 7 === 4) {
        ask('tell', 'write')
        await caller.next('response.output_audio.delta')
        await pause(300)
        ask('please stop it now', 'speak')
        await caller.next('input_audio_buffer.speech_started')
        const { text } = await caller.answer()
        if (text !== 'ok') {
          t.ok(LONG.startsWith(text!) && text!.length < LONG.length, `interrupted after "${text}"`)
          t.same(await caller.answer(), { status: 'completed', text: 'ok' })
        }
        turn++
      } else if (turn === 10) {
        ask('tell', 'write')
        await caller.next('response.output_audio.delta')
        await caller.reconnect()
        ask('here we are again', 'speak')
        t.same((await caller.answer()).text, 'ok', 'after the lost connection')
        turn++
      } else {
        const act = turn % 2 === 0 ? 'speak' : 'write'
        ask(`this is turn ${turn}`, act)
        if (act === 'speak')
          t.match(await caller.next('conversation.item.input_audio_transcription.completed'), {
            transcript: `this is turn ${turn}`
          })
        t.same(await caller.answer(), { status: 'completed', text: 'ok' }, `turn ${turn}`)
      }
    }
    // A clock of the client is ahead of what a busy machine has sent: refused, as by OpenAI.
    const faults = caller.errors.filter((error) => (error as { param?: unknown }).param !== 'audio_end_ms')
    t.strictSame(faults, [])
    caller.hangUp()
    const { runs } = app
    for await (const part of runs.parts(caller.conversation)) void part
    const { sessionId } = (await runs.get(caller.conversation))!
    const messages = await sessionOf({ app }, sessionId)
    t.strictSame(
      messages.flatMap((message) => (message.role === 'user' ? [message.content] : [])),
      users
    )
    const interrupted = messages.filter((message) => message.role === 'assistant' && message.interrupted)
    t.ok(interrupted.length >= 2)
    const tools = users.filter((words) => words.startsWith('use'))
    t.equal(messages.filter(({ role }) => role === 'tool').length, tools.length)
  })
