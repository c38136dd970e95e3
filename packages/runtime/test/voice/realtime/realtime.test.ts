import { decodeTones } from '@svc/runtime/testing'
import t from 'tap'
import { RealtimeCall } from '../../helpers/realtime/realtime-call.ts'
import { startRealtimeServer } from '../../helpers/realtime/realtime-server.ts'

const join = (pieces: Int16Array[]) => {
  const all = pieces.flatMap((piece) => [...piece])
  return Int16Array.from(all)
}

t.test('a call of three turns', async (t) => {
  const server = await startRealtimeServer(t, { reply: ({ text }) => ({ text: `You said ${text}.` }) })
  const call = await RealtimeCall.open(t, server.model)
  await call.ask('one')
  await call.ask('two')
  await call.ask('three')
  t.same(call.questions, ['one', 'two', 'three'])
  t.same(call.answers, ['You said one.', 'You said two.', 'You said three.'])
  t.equal(decodeTones(join(call.audio), 24_000), call.answers.join(' '))
  t.same(server.connections[0]?.errors, [])
})
