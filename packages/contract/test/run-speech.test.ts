import t from 'tap'
import { RunSpeech } from '../src/run-speech.ts'

const speech = () => new RunSpeech(({ seq }) => seq)
const text = (said: string, seq: number, source?: string[]) =>
  ({ type: 'text', text: said, seq, at: 0, ...(source && { source }) }) as const
const step = (index: number, attempt = 1) => ({ type: 'step.start', index, attempt }) as const
const turn = (said: string) =>
  ({
    type: 'voice.turn',
    index: 0,
    itemId: 'i',
    status: 'completed',
    heardMs: 1,
    text: said,
    latency: {},
    seq: 9,
    at: 0
  }) as const

t.test('a passage ends with the next one of another kind, or where a wire ends it', async (t) => {
  const said = speech()
  t.equal(said.continue(text('a', 1)), undefined)
  t.strictSame(said.open(text('a', 1)), { ended: [], passage: { kind: 'text', shown: 1 } })
  t.match(said.continue(text('b', 2)), { shown: 1 })
  t.match(said.open(text('x', 2, ['ada'])), { ended: [] }, 'speakers do not interrupt each other')
  t.match(said.open({ ...text('c', 3), type: 'reasoning' }), { ended: [{ shown: 1 }] })
  t.equal(said.continue(text('d', 4)), undefined)
  t.match(said.endWithin(['ada']), [{ shown: 2 }])
  t.match(said.endAll(), [{ kind: 'reasoning', shown: 3 }])
  t.strictSame(said.end(), [])
})

t.test('what was spoken in a turn stands for the texts of all its steps', async (t) => {
  const said = speech()
  const say = () => {
    said.begin(step(0))
    said.open(text('One. ', 1))
    said.end()
    said.begin(step(1))
    said.open(text('void', 2))
    said.end()
    said.begin(step(1, 2))
    said.open(text('Two.', 3))
    said.end()
  }
  say()
  t.equal(said.speak(turn('One. Two.')), undefined)
  say()
  t.equal(said.speak(turn('Two.')), undefined, 'the last step')
  say()
  t.strictSame(said.speak(turn('One. T')), { isVoid: [1, 3], spoken: 9 })
  t.strictSame(said.speak(turn('')), undefined, 'the next turn has said nothing')
  say()
  t.strictSame(said.speak(turn('')), { isVoid: [1, 3], spoken: undefined })
})
