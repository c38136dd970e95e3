import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { sayV1 } from '../helpers/build-app.ts'
import { createReceiver } from '../helpers/receiver.ts'

const service = new URL('../helpers/killable-service.ts', import.meta.url).pathname

t.test('after kill -9 a receiver learns how its task ends', async (t) => {
  const url = `sqlite:${join(t.testdir(), 'app.db')}`
  const begin = async (milliseconds: number) => {
    const args = ['--conditions=@svc/source', service, url, String(milliseconds)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => child.kill('SIGKILL'))
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    return { child, origin: String(line).trim() }
  }
  const receivers = { lasting: await createReceiver(t), passing: await createReceiver(t) }
  const { child, origin } = await begin(60_000)
  for (const tenant of ['lasting', 'passing'] as const) {
    const taskPushNotificationConfig = { url: receivers[tenant].url }
    const configuration = { returnImmediately: true, taskPushNotificationConfig }
    await fetch(`${origin}/${tenant}/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...sayV1('x'), configuration })
    })
    await receivers[tenant].until(1)
  }
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed

  await begin(1)
  for (const [name, last] of [
    ['lasting', 'TASK_STATE_COMPLETED'],
    ['passing', 'TASK_STATE_FAILED']
  ] as const) {
    const { all, until } = receivers[name]
    while (all.at(-1)!.body.statusUpdate?.status.state !== last) await until(all.length + 1)
    t.match(all[0]!.body, { statusUpdate: { status: { state: 'TASK_STATE_WORKING' } } }, name)
  }
})
