import { createHash } from 'node:crypto'
import { defineRunnable } from '@svc/registry'
import t from 'tap'
import { asker } from '../helpers/agents.ts'
import { anyone, buildApp } from '../helpers/build-app.ts'

const bytes = Buffer.from('secret')
const data = bytes.toString('base64')
const reference = { size: 6, sha256: createHash('sha256').update(bytes).digest('hex') }

const file = (base64: string) => ({
  kind: 'file',
  file: { bytes: base64, name: 'a.txt', mimeType: 'text/plain' },
  metadata: { page: 1 }
})
const message = (base64: string, fields: object = {}) => ({
  message: { kind: 'message', role: 'user', messageId: 'm', parts: [file(base64)], ...fields }
})
const kept = { ...file(''), metadata: { page: 1, ...reference } }

t.test('tasks have a reference to the bytes of a message, which only its run gets', async (t) => {
  const given: unknown[] = []
  const reader = defineRunnable({
    kind: 'agent',
    name: 'reader',
    run(input) {
      given.push(input)
      return 'read'
    }
  })
  const { runs, rpc } = await buildApp(t, { runnables: [reader], options: { authenticate: anyone } })
  const { result: task } = await rpc('message/send', message(data))
  t.match(given, [[{ type: 'file', mimeType: 'text/plain', filename: 'a.txt', data }]])
  t.match(task.history[0].parts, [kept])
  const { result: read } = await rpc('tasks/get', { id: task.id })
  t.match(read.history[0].parts, [kept])
  const stored = [await runs.stores.tasks.get(task.id), await runs.stores.runs.get(task.id)]
  t.notMatch(JSON.stringify(stored), new RegExp(data))

  t.equal((await rpc('message/send', message(data))).result.id, task.id, 'the message is accepted once')
  const other = await rpc('message/send', message(Buffer.from('other!').toString('base64')))
  t.not(other.result.id, task.id, 'other bytes are another message')
})

t.test('so have messages to a task that waits', async (t) => {
  const { runs, rpc } = await buildApp(t, { runnables: [asker], options: { authenticate: anyone } })
  const { result: task } = await rpc('message/send', message(data))
  const followUp = message(data, { messageId: 'n', taskId: task.id })
  for (const _ of ['once', 'twice']) {
    const { result } = await rpc('message/send', followUp)
    t.match(result, { id: task.id, status: { state: 'input-required' } })
    t.match(result.history.at(-1).parts, [kept])
  }
  const other = message(Buffer.from('other!').toString('base64'), { messageId: 'n', taskId: task.id })
  const { result: both } = await rpc('message/send', other)
  const sent = both.history.filter(({ messageId }: { messageId: string }) => messageId === 'n')
  t.equal(sent.length, 2, 'other bytes are another message')
  t.notMatch(JSON.stringify(await runs.stores.tasks.get(task.id)), new RegExp(data))
})
