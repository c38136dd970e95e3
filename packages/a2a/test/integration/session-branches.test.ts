import { talkingRunnable } from '@svc/testing'
import t from 'tap'
import { buildApp, say, sayV1 } from '../helpers/build-app.ts'

t.test('a message continues its context after the task that it names', async (t) => {
  const { rpc } = await buildApp(t, { runnables: [talkingRunnable()] })
  const send = async (text: string, metadata: object, contextId = 'c') => {
    const { result, error } = await rpc('SendMessage', sayV1(text, { contextId, metadata }))
    if (error !== undefined) return { code: error.code }
    return { id: result.task.id as string, text: result.task.artifacts[0].parts[0].text as string }
  }
  const a = await send('a', {})
  t.equal((await send('b', {})).text, 'a b')
  t.equal((await send('c', { afterTurn: a.id })).text, 'a c')
  t.equal((await send('d', {})).text, 'a c d')
  t.equal((await send('e', { afterTurn: null })).text, 'e')
  const old = { ...say('f', { contextId: 'c' }), metadata: { afterTurn: a.id } }
  t.match(await rpc('message/send', old), { result: { artifacts: [{ parts: [{ text: 'a f' }] }] } })
  for (const afterTurn of ['unknown', 7, '']) t.same(await send('x', { afterTurn }), { code: -32602 })
  t.same(await send('x', { afterTurn: a.id }, 'other'), { code: -32602 })
})
