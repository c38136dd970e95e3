import type { ClientToServerEvents, ServerToClientEvents } from '@svc/gateway'
import type { RunRecord } from '@svc/registry'
import { io, type Socket } from 'socket.io-client'
import t, { type Test } from 'tap'
import { spawnDemo } from '../helpers/demo-process.ts'

// Each test starts processes, on a machine that may be busy.
t.setTimeout(120_000)

interface Pending {
  approvals: { approvalId: string; runId: string; toolName: string }[]
}

async function json<T>(url: string, body?: object, headers: Record<string, string> = {}): Promise<T> {
  const init = body && {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body)
  }
  return (await (await fetch(url, init)).json()) as T
}

/** The types of a run's parts, until the one that is looked for; the ends of its steps are not its own. */
async function until(base: string, runId: string, type: string): Promise<string[]> {
  const seen: string[] = []
  const response = await fetch(`${base}/runs/${runId}/stream`)
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    const messages = text.split('\n\n')
    text = messages.pop()!
    for (const message of messages) {
      const data = /^data: (.*)$/m.exec(message)?.[1]
      const part = JSON.parse(data ?? '{}') as { type?: string; source?: string[] }
      if (part.type !== undefined && (part.type !== 'finish' || part.source === undefined))
        seen.push(part.type)
    }
    if (seen.includes(type)) break
  }
  return seen
}

const start = (base: string, path: string, input: string) =>
  json<RunRecord>(`${base}/${path}/run`, { input, onDisconnect: 'continue' }, { prefer: 'respond-async' })

t.test(
  'a workflow and an agent that wait for an approval last over kill -9, a run of a client does not',
  async (t) => {
    const env = { DATA_DIR: t.testdir(), LOG_LEVEL: 'silent', OFFLINE_DELAY: '2' }
    const first = spawnDemo(t, env)
    let base = await first.base()
    const memo = await start(base, 'workflows/memo', 'How do I cancel a run?')
    await until(base, memo.runId, 'tool.approval.request')
    const agent = await start(base, 'agents/notes', 'delete note 1')
    await until(base, agent.runId, 'tool.approval.request')
    const ofClient = await fetch(`${base}/agents/notes/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'delete note 2' })
    })
    const clientsRun = ofClient.headers.get('x-run-id')!
    await until(base, clientsRun, 'tool.approval.request')
    await first.kill()

    const second = spawnDemo(t, env)
    base = await second.base()
    while ((await fetch(`${base}/readyz`)).status !== 200)
      await new Promise((resolve) => setTimeout(resolve, 50))
    t.match(await json(`${base}/runs/${clientsRun}`), {
      status: 'failed',
      error: { code: 'RUN_ERR_INTERRUPTED' }
    })
    for (const { runId } of [memo, agent])
      t.match(await json(`${base}/runs/${runId}`), { status: 'input-required' })
    const { approvals } = await json<Pending>(`${base}/approvals`)
    t.match(approvals, [
      { runId: agent.runId, toolName: 'delete_note' },
      { runId: memo.runId, toolName: 'keep_memo' }
    ])
    t.equal(approvals.length, 2)
    const [{ approvalId: deletion }, { approvalId }] = approvals as [
      Pending['approvals'][0],
      Pending['approvals'][0]
    ]
    t.match(await json(`${base}/approvals/${deletion}`, { approved: true }), { runId: agent.runId })
    await until(base, agent.runId, 'finish')
    t.match(await json(`${base}/runs/${agent.runId}`), { result: { text: 'There is no note 1.' } })
    t.match(await json(`${base}/approvals/${approvalId}`, { approved: true }), { runId: memo.runId })
    const types = await until(base, memo.runId, 'finish')
    t.equal(types.filter((type) => type === 'tool.approval.request').length, 1, 'asked once')
    t.match(await json(`${base}/runs/${memo.runId}`), {
      status: 'completed',
      result: { text: /^Kept as note 1: [^]*\/cancel/, usage: { totalTokens: Number } }
    })
    t.match(await json(`${base}/agents/notes/run`, { input: 'list my notes' }), { text: /^1\. / })
    t.match(await json(`${base}/approvals/${approvalId}`, { approved: true }), { statusCode: 409 })
    t.equal(await second.stop(), 0)
  }
)

t.test('a team and a workflow, with its approval, over a socket', async (t) => {
  const demo = spawnDemo(t, { DATA_DIR: t.testdir(), LOG_LEVEL: 'silent', OFFLINE_DELAY: '0' })
  const socket = await connect(t, new URL(await demo.base()).origin)
  const team = next(socket, 'team.done')
  t.match(await socket.emitWithAck('team.run', { name: 'desk', input: 'The mean of 3 and 5' }), {
    runId: /./
  })
  t.match(await team, { output: { text: /"mean": 4/ } })

  const asked = next(socket, 'workflow.approval')
  const done = next(socket, 'workflow.done')
  t.match(await socket.emitWithAck('workflow.run', { name: 'memo', input: 'What is 6 * 7?' }), { runId: /./ })
  const { approvalId, args } = await asked
  t.match(args, { text: /42/ })
  t.same(
    await socket.emitWithAck('approval.answer', { approvalId, approved: true, args: { text: 'It is 42.' } }),
    { ok: true }
  )
  t.match(await done, { output: { text: 'Kept as note 1: It is 42.' } })
  socket.disconnect()
  t.equal(await demo.stop(), 0)
})

type Client = Socket<ServerToClientEvents, ClientToServerEvents>

async function connect(t: Test, url: string): Promise<Client> {
  const socket: Client = io(url, { transports: ['websocket'] })
  t.teardown(() => void socket.disconnect())
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  return socket
}

function next<E extends keyof ServerToClientEvents>(
  socket: Client,
  event: E
): Promise<Parameters<ServerToClientEvents[E]>[0]> {
  return new Promise((resolve) => socket.once(event, resolve as never))
}
