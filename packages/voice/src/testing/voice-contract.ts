import { createInProcessStores, createRunEngine, defineRunnable, type Run } from '@svc/registry'
import {
  type Awaitable,
  type NumberedPart,
  type PartType,
  type VoiceRunnable,
  type ContractTest
} from '@svc/contract'
import { decodeTones } from './tone-codec.ts'
import { voiceLink, type TestVoiceLink, type VoiceLinkOptions } from './voice-link.ts'

/** How the voice of a test answers. */
export interface ContractAnswer {
  /** What it says to the words of a turn. */
  readonly reply: (words: string) => string
}

/** Makes a voice whose ears and mouth are tones, such as those of `toneTranscription` and `toneSpeech`; `close` ends what it needs. */
export type MakeVoice = (
  answer: ContractAnswer
) => Awaitable<{ readonly voice: VoiceRunnable; close?(): Awaitable<unknown> }>

interface ContractCall {
  readonly link: TestVoiceLink
  readonly run: Run
  /** Resolves when an answer was played, or has ended otherwise. */
  listening(): Promise<unknown>
  /** Hangs up; returns the parts of a type. */
  end<T extends PartType>(type: T): Promise<Extract<NumberedPart, { type: T }>[]>
}

interface Case {
  readonly reply?: ContractAnswer['reply']
  readonly link?: VoiceLinkOptions
  run(t: ContractTest, call: ContractCall): Promise<void>
}

// Half a minute of speech: it is still playing when the user interrupts it, however slow the machine is.
const LONG = 'The weather in Rome is sunny and warm today. Tomorrow it rains in the morning, then it clears. '
  .repeat(12)
  .trim()
const echo = (words: string) => `You said ${words}.`
const isFinal = ({ final }: { final: boolean }) => final

const CASES: Record<string, Case> = {
  'turns are transcribed and answered in their order, by audio that says the text': {
    async run(t, { link, listening, end }) {
      await listening()
      for (const words of ['the first turn', 'the second turn', 'the third turn']) {
        link.speak(words)
        const { itemId, text } = await link.next('answer.end')
        t.equal(text, `You said ${words}.`)
        t.equal(decodeTones(link.audioOf(itemId), 24_000), text)
        await listening()
      }
      const items = link.outputs.filter(({ type }) => type === 'item' || type === 'answer.start') as {
        itemId: string
        previousItemId?: string
      }[]
      t.equal(items.length, 6)
      t.same(
        items.map(({ previousItemId }) => previousItemId),
        [undefined, ...items.slice(0, -1).map(({ itemId }) => itemId)]
      )
      const turns = await end('voice.turn')
      t.same(
        turns.map(({ index, status }) => [index, status]),
        [0, 1, 2].map((index) => [index, 'completed'])
      )
    }
  },
  'what was said is in the log': {
    async run(t, { link, listening, end }) {
      await listening()
      link.speak('keep this in mind')
      await link.next('transcript', isFinal)
      await listening()
      const [transcript, more] = await end('voice.transcript')
      t.equal(transcript?.text, 'keep this in mind')
      t.equal(more, undefined)
    }
  },
  'the client may write, and ask for answers itself': {
    link: { settings: { turns: { respond: false } } },
    async run(t, { link, listening }) {
      await listening()
      link.push({ type: 'text', text: 'a written turn', itemId: 'mine' })
      t.equal((await link.next('item')).itemId, 'mine')
      link.push({ type: 'respond', modality: 'text' })
      t.equal((await link.next('answer.start')).modality, 'text')
      t.equal((await link.next('answer.end')).text, 'You said a written turn.')
      t.equal(link.all('audio').length, 0)
      t.equal(link.all('response.start').length, 1)
    }
  },
  'the user interrupts: the rest is discarded, and the turn has what was played': {
    reply: (words) => (words.includes('weather') ? LONG : 'As you like.'),
    link: { playback: 'reports' },
    async run(t, { link, listening, end }) {
      await listening()
      link.speak('how is the weather')
      const { itemId } = await link.next('answer.end')
      link.played(itemId, 1_000)
      link.speak('stop it please')
      const { heardMs, text } = await link.next('clear')
      t.ok(heardMs >= 1_000, `${heardMs} ms`)
      const played = link.audioOf(itemId).subarray(0, Math.round(heardMs * 24))
      const said = decodeTones(played, 24_000)
      // A word counts once most of it was played.
      const [shorter, longer] = said.length < text.length ? [said, text] : [text.trimEnd(), said]
      t.ok(
        longer.startsWith(shorter) && !longer.slice(shorter.length).trim().includes(' '),
        `${said}|${text}`
      )
      const next = await link.next('answer.end')
      t.equal(next.text, 'As you like.')
      link.played(next.itemId, 60_000)
      await listening()
      const [first, second] = await end('voice.turn')
      t.equal(first?.status, 'interrupted')
      t.equal(first?.text, text)
      t.equal(second?.status, 'completed')
    }
  },
  'what a client asks for in vain has a code': {
    async run(t, { link, listening }) {
      await listening()
      link.push({ type: 'cancel' })
      t.equal((await link.next('error')).code, 'VOICE_ERR_NO_RESPONSE')
      link.silence(40)
      link.push({ type: 'commit' })
      t.equal((await link.next('error')).code, 'VOICE_ERR_COMMIT_TOO_SHORT')
      link.push({ type: 'truncate', itemId: 'unknown', heardMs: 1 })
      t.equal((await link.next('error')).code, 'VOICE_ERR_UNKNOWN_ITEM')
    }
  },
  'a run that is canceled ends the call': {
    reply: () => LONG,
    link: { playback: 'reports' },
    async run(t, { link, run, listening }) {
      await listening()
      link.speak('how is the weather')
      await link.next('audio')
      t.ok(await run.cancel())
      t.equal((await run.result()).finishReason, 'canceled')
    }
  }
}

/** The contract tests of voice agents, whatever their engine: a call over a link. */
export function voiceContract(t: ContractTest, make: MakeVoice): void {
  for (const [name, { reply = echo, link: options, run: check }] of Object.entries(CASES)) {
    t.test(name, {}, async (child: ContractTest) => {
      const { voice, close } = await make({ reply })
      const engine = createRunEngine({ stores: createInProcessStores(), drainTimeout: 0 })
      const link = voiceLink(options)
      const { kind } = voice
      const stream: VoiceRunnable['stream'] = (_input, context) => voice.converse(link, context)
      const run = await engine.start(defineRunnable({ kind, name: voice.name, stream }), 'call')
      try {
        await check(child, {
          link,
          run,
          listening: () => link.next('state', ({ state }) => state === 'listening'),
          async end(type) {
            link.hangUp()
            await run.result()
            const parts = await Array.fromAsync(run.parts())
            return parts.filter((part) => part.type === type) as never
          }
        })
      } finally {
        await engine.close()
        await close?.()
      }
    })
  }
}
