import { mock } from 'node:test'
import type { VoiceOutput } from '@svc/contract'
import t from 'tap'
import { OutputPacer } from '../../src/calls/outputs.ts'

const FORMAT = { type: 'audio/pcm', rate: 24_000 } as const
const PLACE = { responseId: 'r', itemId: 'answer' }
const audio = (ms: number, startMs = 0): VoiceOutput => ({
  type: 'audio',
  ...PLACE,
  audio: new Uint8Array(ms * 48),
  startMs
})
const text: VoiceOutput = { type: 'text', ...PLACE, delta: 'hi' }
const end: VoiceOutput = { type: 'answer.end', ...PLACE, text: 'hi', durationMs: 1_000 }

/** A pacer by a clock that only `pass` moves. */
function pace(
  t: { teardown(fn: () => unknown): unknown },
  send: (output: VoiceOutput) => Promise<void> | void = () => {}
) {
  let now = 1_000
  mock.timers.enable({ apis: ['setTimeout'] })
  const clock = mock.method(performance, 'now', () => now)
  t.teardown(() => {
    mock.timers.reset()
    clock.mock.restore()
  })
  const sent: VoiceOutput[] = []
  const pacer = new OutputPacer(
    (output) => {
      sent.push(output)
      return send(output) ?? undefined
    },
    () => FORMAT
  )
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 10) {
      now += 10
      mock.timers.tick(10)
      await Promise.resolve()
    }
  }
  const sentMs = () =>
    sent.reduce((sum, each) => sum + (each.type === 'audio' ? each.audio.length / 48 : 0), 0)
  return { pacer, sent, pass, sentMs }
}

t.test('at most 400 ms are sent ahead, at any moment, and nothing is lost', async (t) => {
  const { pacer, sent, sentMs, pass } = pace(t)
  let isSent = false
  void Promise.resolve(pacer.send(audio(2_000))).then(() => (isSent = true))
  t.equal(sentMs(), 400)
  for (let passed = 0; passed < 1_600; passed += 50) {
    t.ok(sentMs() <= passed + 400, `${sentMs()} ms after ${passed}`)
    t.ok(sentMs() >= passed + 250, `${sentMs()} ms after ${passed}`)
    t.notOk(isSent)
    await pass(50)
  }
  t.equal(sentMs(), 2_000)
  await pass(10)
  t.ok(isSent)
  const starts = sent.flatMap((each) => (each.type === 'audio' ? each.startMs : []))
  t.same(
    starts,
    Array.from({ length: 20 }, (_, index) => index * 100)
  )
})

t.test('outputs of a response keep their order; others do not wait', async (t) => {
  const { pacer, sent, pass } = pace(t)
  for (const output of [audio(600), text, end]) void pacer.send(output)
  void pacer.send({ type: 'state', state: 'speaking' })
  t.equal(sent.at(-1)?.type, 'state')
  await pass(300)
  t.same(sent.slice(-2), [text, end])
})

t.test('a clear discards what is held back of its answer, and the next answer is not delayed', async (t) => {
  const { pacer, sent, sentMs } = pace(t)
  const waiting = pacer.send(audio(5_000))
  void pacer.send(end)
  const clear: VoiceOutput = { type: 'clear', itemId: 'answer', heardMs: 100, text: '' }
  void pacer.send(clear)
  await waiting
  await Promise.resolve()
  t.equal(sentMs(), 400)
  t.same(
    sent.slice(-2).toSorted((a, b) => a.type.localeCompare(b.type)),
    [end, clear]
  )
  void pacer.send(audio(300))
  t.equal(sentMs(), 700)
})

t.test('a full connection holds the rest back', async (t) => {
  const full = Promise.withResolvers<void>()
  const { pacer, sentMs, pass } = pace(t, () => full.promise)
  void pacer.send(audio(300))
  await pass(500)
  t.equal(sentMs(), 100)
  full.resolve()
  await pass(10)
  t.equal(sentMs(), 300)
})

t.test('once it is closed, no sender waits, and audio is discarded', async (t) => {
  const { pacer, sent, sentMs, pass } = pace(t)
  const waiting = pacer.send(audio(5_000))
  void pacer.send(text)
  pacer.close()
  await waiting
  await pacer.send(audio(100))
  await pacer.send(end)
  await pass(1_000)
  t.equal(sentMs(), 400)
  t.same(sent.slice(-2), [text, end])
})
