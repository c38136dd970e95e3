import type { FastifyInstance } from 'fastify'
import type { Page } from 'playwright-core'
import type { Sound } from './sounds.ts'

/** Hz of what the page plays. */
const RATE = 24_000
const MODULE = '/recorder.js'

/** Posts the audio that it gets, block by block. */
const WORKLET = `
  registerProcessor('recorder', class extends AudioWorkletProcessor {
    process([[block]]) {
      if (block !== undefined) this.port.postMessage(block.slice())
      return true
    }
  })`

/** Records what is connected to the loudspeaker, apart for each time that the call begins to speak. */
const RECORD = `
  const states = globalThis.states = []
  const recordings = []
  let current = []
  addEventListener('DOMContentLoaded', () =>
    new MutationObserver(() => {
      const state = document.querySelector('.call')?.dataset.state
      if (states.at(-1) === state) return
      states.push(state)
      if (state === 'speaking') recordings.push((current = []))
    }).observe(document.body, { subtree: true, childList: true, attributeFilter: ['data-state'] })
  )
  const { connect } = AudioNode.prototype
  AudioNode.prototype.connect = function (target, ...rest) {
    if (target instanceof AudioDestinationNode) record(this)
    return connect.call(this, target, ...rest)
  }
  async function record(source) {
    await source.context.audioWorklet.addModule('${MODULE}')
    const recorder = new AudioWorkletNode(source.context, 'recorder', { numberOfOutputs: 0 })
    recorder.port.onmessage = ({ data }) => current.push(data)
    connect.call(source, recorder)
  }
  globalThis.takeRecordings = () =>
    Array.from(recordings, (pieces) => {
      const samples = new Int16Array(pieces.flatMap((piece) => Array.from(piece, (value) => value * 32768)))
      const bytes = new Uint8Array(samples.buffer)
      let text = ''
      for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192))
      return btoa(text)
    })`

/** Serves what pages record with. Browsers load worklets from the origin of their page only. */
export function serveRecorder(app: FastifyInstance): void {
  app.get(MODULE, (_request, reply) => reply.type('text/javascript').send(WORKLET))
}

/** Records what a page plays, answer by answer. Before the page is opened. */
export async function recordPage(page: Page): Promise<void> {
  await page.addInitScript(RECORD)
}

/** What a page has played so far, each time that it spoke. */
export async function recordingsOf(page: Page): Promise<Sound[]> {
  const recordings = await page.evaluate<string[]>('takeRecordings()')
  return recordings.map((base64) => {
    const bytes = new Uint8Array(Buffer.from(base64, 'base64'))
    return { samples: trim(new Int16Array(bytes.buffer)), rate: RATE }
  })
}

/** The states that a page has shown so far. */
export function statesOf(page: Page): Promise<string[]> {
  return page.evaluate<string[]>('states')
}

// Without the silence around it.
function trim(samples: Int16Array<ArrayBuffer>): Int16Array<ArrayBuffer> {
  const isSound = (sample: number) => sample !== 0
  return samples.slice(Math.max(samples.findIndex(isSound), 0), samples.findLastIndex(isSound) + 1)
}
