import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as tick } from 'node:timers/promises'
import { createGoogle } from '@ai-sdk/google'
import { decodeTones, ToneEncoder } from '../../../src/testing/tone-codec.ts'
import { WebSocketServer, type WebSocket } from 'ws'
import { ServedMicrophone } from './served-microphone.ts'

/** Hz. */
const RATE = 24_000

/** The answer to a turn: a text, or the call of a tool whose result is answered. */
export interface GeminiReply {
  readonly text?: string
  readonly call?: { readonly id: string; readonly name: string; readonly args: object }
}

/** How the server behaves. */
export interface GeminiOptions {
  readonly reply: (text: string) => GeminiReply
  /** Transcribes the user only after the answer. */
  readonly transcribesLate?: boolean
}

/** A server that speaks a narrow part of Google's Live protocol, with speech of tones: it answers each turn by itself. */
export async function startGeminiServer(t: { teardown(fn: () => unknown): void }, options: GeminiOptions) {
  const connections: GeminiConnection[] = []
  const server = createServer()
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (ws) => connections.push(new GeminiConnection(ws, options)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const ws of sockets.clients) ws.terminate()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const google = createGoogle({ baseURL: `http://127.0.0.1:${port}/v1beta`, apiKey: 'k' })
  return { connections, model: google.experimental_realtime('gemini-live') }
}

interface ClientFrame {
  readonly setup?: { systemInstruction?: { parts: { text: string }[] }; tools?: unknown }
  readonly realtimeInput?: { audio?: { data: string }; text?: string; audioStreamEnd?: boolean }
  readonly toolResponse?: { functionResponses: { id: string; response: object }[] }
}

/** One connection to the server. */
class GeminiConnection {
  setup: NonNullable<ClientFrame['setup']> = {}
  /** Texts and tool results of the client. */
  readonly received: unknown[] = []
  readonly #ws: WebSocket
  readonly #options: GeminiOptions
  readonly #microphone: ServedMicrophone
  #isAnswering = false
  #isInterrupted = false

  constructor(ws: WebSocket, options: GeminiOptions) {
    this.#ws = ws
    this.#options = options
    this.#microphone = new ServedMicrophone(RATE, {
      detection: () => ({ silence_duration_ms: 100 }),
      send: ({ type }) => {
        if (type.endsWith('started')) this.#interrupt()
      },
      commit: (_id, samples) => void this.#answer(decodeTones(samples, RATE))
    })
    ws.on('message', (data) => this.#take(JSON.parse((data as Buffer).toString()) as ClientFrame))
  }

  send(frame: object): void {
    this.#ws.send(Buffer.from(JSON.stringify(frame)))
  }

  cut(): void {
    this.#ws.terminate()
  }

  #take({ setup, realtimeInput, toolResponse }: ClientFrame): void {
    if (setup !== undefined) {
      this.setup = setup
      this.send({ setupComplete: {} })
    }
    const { audio, text, audioStreamEnd } = realtimeInput ?? {}
    if (audio !== undefined) {
      const bytes = Buffer.from(audio.data, 'base64')
      this.#microphone.append(
        Int16Array.from({ length: bytes.length >> 1 }, (_, at) => bytes.readInt16LE(at * 2))
      )
    }
    if (audioStreamEnd) this.#microphone.commit()
    if (text !== undefined) {
      this.received.push(text)
      void this.#answer(text, true)
    }
    for (const { response } of toolResponse?.functionResponses ?? []) {
      this.received.push(response)
      void this.#speak(JSON.stringify(response))
    }
  }

  async #answer(text: string, isWritten = false): Promise<void> {
    const transcribe = () => {
      if (!isWritten) this.send({ serverContent: { inputTranscription: { text } } })
    }
    if (!this.#options.transcribesLate) transcribe()
    const { text: answer, call } = this.#options.reply(text)
    await tick()
    if (call !== undefined) this.send({ toolCall: { functionCalls: [call] } })
    if (answer !== undefined)
      await this.#speak(answer, this.#options.transcribesLate ? transcribe : undefined)
  }

  async #speak(text: string, beforeEnd?: () => void): Promise<void> {
    this.#isAnswering = true
    this.#isInterrupted = false
    const encoder = new ToneEncoder(RATE)
    for (const word of text.match(/\S+\s*/g) ?? []) {
      if (this.#isInterrupted) break
      const { buffer, byteOffset, byteLength } = encoder.encode(word)
      const data = Buffer.from(buffer, byteOffset, byteLength).toString('base64')
      this.send({
        serverContent: { modelTurn: { parts: [{ inlineData: { data, mimeType: 'audio/pcm' } }] } }
      })
      this.send({ serverContent: { outputTranscription: { text: word } } })
      await tick()
    }
    this.#isAnswering = false
    beforeEnd?.()
    if (this.#isInterrupted) return
    this.send({ serverContent: { generationComplete: true } })
    this.send({
      serverContent: { turnComplete: true },
      usageMetadata: { promptTokenCount: 7, responseTokenCount: 3, totalTokenCount: 10 }
    })
  }

  #interrupt(): void {
    if (!this.#isAnswering) return
    this.#isInterrupted = true
    this.send({ serverContent: { interrupted: true } })
  }
}
