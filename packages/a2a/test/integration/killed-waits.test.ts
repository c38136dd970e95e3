import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connectSdkClients, type SdkClient } from '../helpers/sdk-clients.ts'

t.setTimeout(120_000)
const service = new URL('../helpers/asking-service.ts', import.meta.url).pathname
const secret = 'tok-3f9a-secret'

/** A service that is killed and begun again at the same address. */
async function mortal(t: Test) {
  const folder = t.testdir()
  const url = `sqlite:${join(folder, 'app.db')}`
  let child: ChildProcess | undefined
  let output = ''
  const begin = async (port: string) => {
    const args = ['--conditions=@svc/source', service, url, port]
    const begun = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    child = begun
    for (const stream of [begun.stdout, begun.stderr]) stream.on('data', (piece) => (output += String(piece)))
    const [line] = (await once(begun.stdout, 'data')) as [Buffer]
    return String(line).trim()
  }
  const kill = async () => {
    if (child === undefined) return
    const closed = once(child, 'close')
    child.kill('SIGKILL')
    child = undefined
    await closed
  }
  t.teardown(kill)
  const origin = await begin('0')
  const restart = () => kill().then(() => begin(new URL(origin).port))
  /** Everything that is on disk, and everything that was printed. */
  const traces = async () => {
    const files = await readdir(folder)
    const contents = await Promise.all(files.map((name) => readFile(join(folder, name), 'latin1')))
    return contents.join('\n') + output
  }
  return { origin, restart, traces }
}

interface Waiting {
  status: { state: unknown; message?: { parts: object[] } }
  artifacts?: object[]
}

t.test(
  'official clients answer in plain text, whatever happens to the service between question and answer',
  async (t) => {
    const { origin, restart } = await mortal(t)
    const clients = await connectSdkClients(origin)
    const fields = { metadata: { agentName: 'interviewer' } }
    const asked = await Promise.all(clients.map((client) => client.send([{ text: 'Hi' }], fields)))
    for (const words of ['Ada', '42']) {
      await restart()
      for (const [index, { id: taskId }] of asked.entries()) {
        const task = await clients[index]!.send([{ text: words }], { taskId })
        t.equal(task.id, taskId)
        const { status, artifacts } = task as unknown as Waiting
        if (words === 'Ada') t.match(JSON.stringify(status), /Your age\?/, clients[index]!.name)
        else t.match(JSON.stringify(artifacts), /Ada is 42/, clients[index]!.name)
      }
    }
  }
)

/** Polls a task until it needs credentials; returns the id of the request. */
async function untilAuthRequired(origin: string, taskId: string): Promise<string> {
  for (;;) {
    const response = await fetch(`${origin}/tasks/${taskId}`)
    const { status } = (await response.json()) as Waiting
    const [, part] = status.message?.parts ?? []
    if (status.state === 'TASK_STATE_AUTH_REQUIRED')
      return (part as { data: { inputId: string } }).data.inputId
  }
}

t.test('a service that is killed asks again for credentials it had, and has left none of them', async (t) => {
  const { origin, restart, traces } = await mortal(t)
  const clients = await connectSdkClients(origin)
  const fields = { metadata: { agentName: 'signer' } }
  const give = async (client: SdkClient, inputId: string) => {
    const taskId = inputId.slice(0, inputId.lastIndexOf('.'))
    const data = { inputId, action: 'accept', content: secret }
    return JSON.stringify(await client.send([{ data }], { taskId }))
  }
  const asked = await Promise.all(clients.map((client) => client.send([{ text: 'Hi' }], fields)))
  await restart()
  for (const [index, { id }] of asked.entries())
    t.match(await give(clients[index]!, `${id}.1`), /Go on\?/, 'the request outlives its process')
  await restart()
  for (const [index, { id: taskId }] of asked.entries()) {
    const client = clients[index]!
    // What was given is gone, so it is asked for again.
    const inputId = await untilAuthRequired(origin, taskId)
    t.not(inputId, `${taskId}.1`)
    const words = JSON.stringify(await client.send([{ text: `Is it ${secret}?` }], { taskId }))
    t.match(words, /Sign in/, 'a text is no answer to it')
    t.match(await give(client, inputId), /Go on\?/)
    t.match(JSON.stringify(await client.send([{ text: 'yes' }], { taskId })), /15 characters/, client.name)
  }
  t.notMatch(await traces(), secret)
})
