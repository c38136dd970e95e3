import t from 'tap'
import { buildRealtime } from '../helpers/build-realtime.ts'

t.test('a text message is answered with audio, text and a response', async (t) => {
  const { open, runs } = await buildRealtime(t)
  const { next, send, events } = open()
  const created = await next('session.created')
  t.match(created.session, { type: 'realtime', model: 'voice', tools: [], output_modalities: ['audio'] })
  send({
    type: 'conversation.item.create',
    item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }
  })
  send({ type: 'response.create' })
  const { response } = await next('response.done')
  console.log(events.map((e) => e.type))
  t.match(response, {
    status: 'completed',
    output: [{ role: 'assistant', content: [{ type: 'output_audio', transcript: 'Hi' }] }]
  })
  t.match(await runs.get(response.conversation_id), { kind: 'agent', name: 'voice' })
})
