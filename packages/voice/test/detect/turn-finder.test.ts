import * as fc from 'fast-check'
import t from 'tap'
import { joinSamples } from '../../src/audio/codec.ts'
import type { SpokenTurn, VoiceDetector } from '../../src/detect/fvad.ts'
import {
  TurnFinder,
  type EndpointSettings,
  type TurnEvent,
  type TurnFinderOptions
} from '../../src/detect/turn-finder.ts'

const SETTINGS: EndpointSettings = {
  detect: true,
  threshold: 0.5,
  silence: 500,
  maxSilence: 3_000,
  prefix: 300,
  interruptAfter: 200
}
const PER_MS = 16

/** Frames of 10 ms, whose probability is their first sample in percent. */
const levels: VoiceDetector = {
  rate: 16_000,
  frame: 160,
  create: () => ({ probability: ([level = 0]) => level / 100, close() {} })
}

/** Audio of so many milliseconds at a level in percent, each. */
function audioOf(...segments: [ms: number, level: number][]) {
  return joinSamples(segments.map(([ms, level]) => new Int16Array(ms * PER_MS).fill(level)))
}

async function openFinder(options: Partial<TurnFinderOptions> = {}, detector = levels) {
  const events: TurnEvent[] = []
  const audio: Int16Array[] = []
  const errors: unknown[] = []
  const finder = await TurnFinder.open(detector, {
    settings: SETTINGS,
    transcript: () => '',
    notify: (event) => void (event.type === 'audio' ? audio.push(event.samples) : events.push(event)),
    onError: (error) => errors.push(error),
    ...options
  })
  const heard = () => joinSamples(audio)
  return { finder, events, heard, errors, types: () => events.map(({ type }) => type) }
}

t.test('a turn: start, interrupt, end by silence, with its prefix', async (t) => {
  const { finder, events, heard } = await openFinder()
  finder.append(audioOf([1_000, 0], [400, 90], [490, 0]))
  t.strictSame(events, [{ type: 'start', atMs: 1_000 }, { type: 'interrupt' }])
  finder.append(audioOf([10, 0]))
  t.strictSame(events.slice(2), [
    { type: 'end', startMs: 700, endMs: 1_900, speechEndMs: 1_400, isTurn: true }
  ])
  t.same(heard(), audioOf([300, 0], [400, 90], [500, 0]))
})

t.test('the start is reported after 60 ms, the interruption after its own time', async (t) => {
  const { finder, types } = await openFinder()
  finder.append(audioOf([100, 0], [50, 90]))
  t.strictSame(types(), [])
  finder.append(audioOf([10, 90]))
  t.strictSame(types(), ['start'])
  finder.append(audioOf([130, 90]))
  t.strictSame(types(), ['start'])
  finder.append(audioOf([10, 90]))
  t.strictSame(types(), ['start', 'interrupt'])
})

t.test('a pause shorter than `silence` is part of the turn; clicks are none', async (t) => {
  const { finder, events, heard } = await openFinder()
  finder.append(audioOf([200, 90], [490, 0], [200, 90], [500, 0], [50, 90], [900, 0]))
  t.match(events, [{ type: 'start' }, { type: 'interrupt' }, { type: 'end', endMs: 1_390, isTurn: true }])
  t.equal(heard().length, 1_390 * PER_MS)
})

t.test('too little speech is no turn', async (t) => {
  const { finder, events } = await openFinder()
  finder.append(audioOf([300, 0], [90, 90], [500, 0]))
  t.match(events, [{ type: 'start' }, { type: 'end', speechEndMs: 390, isTurn: false }])
})

t.test('speech in pieces does not interrupt', async (t) => {
  const { finder, types } = await openFinder()
  finder.append(audioOf([100, 90], [200, 0], [100, 90], [200, 0], [100, 90], [100, 0], [90, 90]))
  t.strictSame(types(), ['start'])
  finder.append(audioOf([10, 90]))
  t.strictSame(types(), ['start', 'interrupt'], 'a gap of 100 ms belongs to the speech')
})

t.test('hysteresis: speech begins at the threshold, and lasts to 0.15 below', async (t) => {
  const { finder, events } = await openFinder()
  finder.append(audioOf([200, 49], [100, 50], [400, 36], [500, 34]))
  t.match(events, [{ type: 'start', atMs: 200 }, { type: 'interrupt' }, { type: 'end', speechEndMs: 700 }])
})

t.test('no audio belongs to two turns', async (t) => {
  const settings = { ...SETTINGS, silence: 100 }
  const { finder, events, heard } = await openFinder({ settings })
  const audio = audioOf([100, 0], [200, 90], [100, 0], [200, 90], [100, 0])
  finder.append(audio)
  t.match(
    events.filter(({ type }) => type === 'end'),
    [
      { startMs: 0, endMs: 400 },
      { startMs: 400, endMs: 700 }
    ]
  )
  t.same(heard(), audio)
})

t.test('commit ends the turn under way, or makes one', async (t) => {
  const { finder, events, heard } = await openFinder()
  finder.append(audioOf([1_000, 0]))
  t.equal(finder.pendingMs, 300)
  finder.commit()
  t.match(events, [{ type: 'end', startMs: 700, endMs: 1_000, isTurn: true }])
  t.equal(finder.pendingMs, 0)
  finder.append(audioOf([150, 90]))
  finder.append(new Int16Array(8).fill(90))
  finder.commit()
  t.match(events.slice(1), [
    { type: 'start', atMs: 1_000 },
    { type: 'end', startMs: 1_000, endMs: 1_160, isTurn: true }
  ])
  t.equal(heard().length, 460 * PER_MS)
})

t.test('clear discards the turn and the prefix', async (t) => {
  const { finder, events, heard } = await openFinder()
  finder.append(audioOf([200, 0], [200, 90]))
  finder.append(new Int16Array(8).fill(90))
  finder.clear()
  t.match(events.at(-1), { type: 'end', isTurn: false })
  const before = heard().length
  finder.append(audioOf([200, 90], [500, 0]))
  t.match(events.at(-1), { type: 'end', startMs: 400, isTurn: true })
  t.equal(heard().length - before, 700 * PER_MS)
})

t.test('without detection all audio belongs to the turn, which only `commit` ends', async (t) => {
  const { finder, events, heard } = await openFinder({ settings: { ...SETTINGS, detect: false } })
  finder.append(audioOf([1_000, 0], [1_000, 90], [4_000, 0]))
  t.strictSame(events, [])
  t.equal(finder.pendingMs, 6_000)
  finder.commit()
  t.strictSame(events, [{ type: 'end', startMs: 0, endMs: 6_000, speechEndMs: 6_000, isTurn: true }])
  t.equal(heard().length, 6_000 * PER_MS)
})

t.test('settings change in the middle of a call', async (t) => {
  const { finder, events } = await openFinder()
  finder.append(audioOf([200, 90]))
  finder.configure({ ...SETTINGS, silence: 100 })
  finder.append(audioOf([100, 0]))
  t.match(events.at(-1), { type: 'end', endMs: 300 })
})

t.test('noise without end is cut into turns of two minutes', async (t) => {
  const { finder, events } = await openFinder()
  for (let second = 0; second < 241; second++) finder.append(audioOf([1_000, 90]))
  t.match(
    events.filter(({ type }) => type === 'end'),
    [
      { startMs: 0, endMs: 120_000, isTurn: true },
      { startMs: 120_000, endMs: 240_000, isTurn: true }
    ]
  )
})

t.test('a turn detector decides whether a pause is the end', async (t) => {
  const turns: SpokenTurn[] = []
  const answers = [0.2, 0.8]
  const asked = Promise.withResolvers<void>()
  const turnDetector = {
    probability(turn: SpokenTurn) {
      turns.push(turn)
      if (answers.length === 1) asked.resolve()
      return answers.shift() ?? 0
    }
  }
  const { finder, events } = await openFinder({ turnDetector, transcript: () => 'I would like' })
  finder.append(audioOf([200, 90], [900, 0]))
  t.equal(turns.length, 1)
  t.match(turns[0], { transcript: 'I would like', rate: 16_000, audio: { length: 700 * PER_MS } })
  finder.append(audioOf([200, 90], [500, 0]))
  await asked.promise
  await Promise.resolve()
  t.match(events.at(-1), { type: 'end', endMs: 1_800, speechEndMs: 1_300, isTurn: true })
})

t.test('maxSilence ends a turn whatever the turn detector says; a failure is an end', async (t) => {
  const never = await openFinder({ turnDetector: { probability: () => 0 } })
  never.finder.append(audioOf([200, 90], [2_990, 0]))
  t.notMatch(never.types(), ['start', 'interrupt', 'end'])
  never.finder.append(audioOf([10, 0]))
  t.match(never.events.at(-1), { type: 'end', endMs: 3_200, speechEndMs: 200 })

  const failing = await openFinder({
    turnDetector: { probability: () => Promise.reject(new Error('no model')) }
  })
  failing.finder.append(audioOf([200, 90], [500, 0]))
  await new Promise(setImmediate)
  t.match(failing.events.at(-1), { type: 'end', endMs: 700 })
  t.match(failing.errors, [{ message: 'no model' }])
})

t.test('a turn detector that is still busy when the user speaks again is ignored', async (t) => {
  const slow = Promise.withResolvers<number>()
  let signal: AbortSignal | undefined
  const turnDetector = {
    probability(_: SpokenTurn, aborted: AbortSignal) {
      signal = aborted
      return slow.promise
    }
  }
  const { finder, types } = await openFinder({ turnDetector })
  finder.append(audioOf([200, 90], [500, 0], [100, 90]))
  t.equal(signal?.aborted, true)
  slow.resolve(1)
  await new Promise(setImmediate)
  t.strictSame(types(), ['start', 'interrupt'])
})

t.test('an asynchronous detector finds the same turns, whatever the pieces of the audio', async () => {
  const segment = fc.tuple(fc.integer({ min: 1, max: 900 }), fc.constantFrom(0, 40, 90))
  const command = fc.constantFrom('commit' as const, 'clear' as const, undefined)
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(segment, command), { maxLength: 12 }), async (steps) => {
      const later: VoiceDetector = {
        ...levels,
        create: () => ({ probability: async ([level = 0]) => level / 100, close() {} })
      }
      const [now, async] = [await openFinder(), await openFinder({}, later)]
      for (const { finder } of [now, async]) {
        for (const [[ms, level], then] of steps) {
          for (const part of [audioOf([ms, level]).subarray(0, 100), audioOf([ms, level]).subarray(100)])
            finder.append(part)
          if (then !== undefined) finder[then]()
        }
        finder.commit()
      }
      while (async.finder.pendingMs > 0) await new Promise(setImmediate)
      await new Promise(setImmediate)
      t.strictSame(async.events, now.events)
      t.same(async.heard(), now.heard())
    }),
    { numRuns: 30 }
  )
})

t.test('a detector that fails: the frame is judged like the one before', async (t) => {
  let count = 0
  const failing: VoiceDetector = {
    ...levels,
    create: () => ({
      probability([level = 0]) {
        if (++count % 2 === 0) throw new Error('crashed')
        return level / 100
      },
      close() {}
    })
  }
  const { finder, events, errors } = await openFinder({}, failing)
  finder.append(audioOf([200, 90], [600, 0]))
  t.match(events, [{ type: 'start' }, { type: 'interrupt' }, { type: 'end', isTurn: true }])
  t.match(errors[0], { message: 'crashed' })
})

t.test('close releases the detector once, and nothing is reported any more', async (t) => {
  let closed = 0
  const slow = Promise.withResolvers<number>()
  const detector: VoiceDetector = {
    ...levels,
    create: () => ({ probability: () => slow.promise, close: () => void closed++ })
  }
  const { finder, events, errors } = await openFinder({}, detector)
  finder.append(audioOf([500, 90]))
  finder.close()
  finder.close()
  slow.reject(new Error('closed'))
  await new Promise(setImmediate)
  finder.append(audioOf([500, 90]))
  finder.commit()
  t.strictSame([closed, events, errors], [1, [], []])
})
