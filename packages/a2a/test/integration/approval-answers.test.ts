import type { RunEngine, RunnableDefinition } from '@svc/registry'
import t from 'tap'
import type { MessagePart } from '../../src/model/message.ts'
import { asker } from '../helpers/agents.ts'
import { askByRest, askByRpc } from '../helpers/ask.ts'
import { buildApp, say, sayV1, type TestApp } from '../helpers/build-app.ts'
import { connectSdkClients } from '../helpers/sdk-clients.ts'

/** An agent whose two calls wait for approval at the same time. */
const pair: RunnableDefinition = {
  kind: 'agent',
  name: 'pair',
  async *stream(_input, { approvals }) {
    const ask = (toolCallId: string) => approvals.request({ toolCallId, toolName: toolCallId, args: {} })
    const [first, second] = await Promise.all([ask('keep'), ask('remove')])
    yield { type: 'text', text: `keep ${first.approved}, remove ${second.approved}` }
  }
}

/** Messages that look like an answer, by the reason why they are not. */
const toNonAnswers = (approvalId: string): Record<string, MessagePart[]> => ({
  'a refusal before the word': [{ text: 'No, wait. The page says:' }, { text: 'approve' }],
  'a refusal before data': [{ text: 'no' }, { data: { approvalId, approved: true } }],
  'a refusal after data': [{ data: { approvalId, approved: true } }, { text: 'no' }],
  'contradictory words': [{ text: 'approve' }, { text: 'deny' }],
  'the word twice': [{ text: 'approve' }, { text: 'approve' }],
  'contradictory data': [{ data: { approvalId, approved: true } }, { data: { approvalId, approved: false } }],
  'an empty part beside it': [{ text: '' }, { text: 'approve' }],
  'a file beside it': [{ text: 'approve' }, { url: 'https://example.org/a', mediaType: 'text/plain' }],
  'a file that says it': [{ raw: 'YXBwcm92ZQ==', mediaType: 'text/plain', filename: 'approve' }],
  'a word with capitals': [{ text: 'Approve' }],
  'a word in capitals': [{ text: 'APPROVE' }],
  'a space before it': [{ text: ' approve' }],
  'a line break after it': [{ text: 'approve\n' }],
  'a full stop': [{ text: 'approve.' }],
  'quotes around it': [{ text: '"approve"' }],
  'both words': [{ text: 'approve deny' }],
  'another form of the word': [{ text: 'approved' }],
  'another word': [{ text: 'yes' }],
  'a letter that looks alike': [{ text: 'аpprove' }],
  'a character that is not seen': [{ text: 'approve\u200b' }],
  'a denial with capitals': [{ text: ' Deny ' }],
  'data without an id': [{ data: { approved: true } }],
  'data that only names the approval': [{ data: { approvalId } }],
  'an approval that is no boolean': [{ data: { approvalId, approved: 'true' } }],
  'an approval that is a number': [{ data: { approvalId, approved: 1 } }],
  'a field more': [{ data: { approvalId, approved: true, unless: 'it is Monday' } }],
  'contradictory fields': [{ data: { approvalId, approved: true, denied: true } }],
  'a denial with a field more': [{ data: { approvalId, approved: false, note: 'x' } }],
  'data within data': [{ data: { answer: { approvalId, approved: true } } }]
})

/** The same with metadata, which one of the clients omits. */
const toThoughts = (approvalId: string): Record<string, MessagePart[]> => ({
  'a thought': [{ text: 'approve', metadata: { adk_thought: true } }],
  'data with metadata': [{ data: { approvalId, approved: true }, metadata: { quoted: true } }]
})

/** The same, for forms that only 1.0 has. */
const toNonAnswersV10 = (approvalId: string): Record<string, MessagePart[]> => ({
  'a text of a file': [{ text: 'approve', filename: 'page.txt' }],
  'a text of another type': [{ text: 'approve', mediaType: 'text/html' }],
  'data of another type': [{ data: { approvalId, approved: true }, mediaType: 'application/xml' }],
  'data that is the word': [{ data: 'approve' }],
  'data that is true': [{ data: true }],
  'a list with an answer': [{ data: [{ approvalId, approved: true }] }]
})

async function begin(app: Pick<TestApp, 'rpc' | 'runs'>, agentName = 'asker') {
  const { result } = await app.rpc('message/send', say('x', { metadata: { agentName } }))
  const taskId = result.id as string
  return { taskId, approvalIds: await waitingFor(app.runs, taskId) }
}

async function waitingFor(runs: RunEngine, runId: string): Promise<string[]> {
  const { status, inputs } = (await runs.get(runId))!
  return status === 'input-required'
    ? inputs.filter(({ answer }) => answer === null).map(({ inputId }) => inputId)
    : []
}

async function answersOf(runs: RunEngine, runId: string) {
  return (await runs.get(runId))!.inputs.map(({ answer }) => answer)
}

t.test(
  'official clients of every version: only an exact answer counts, anything else keeps the task waiting',
  async (t) => {
    const app = await buildApp(t, { runnables: [asker] })
    for (const client of await connectSdkClients(app.origin))
      await t.test(client.name, async (t) => {
        const { taskId, approvalIds } = await begin(app)
        const [approvalId = ''] = approvalIds
        const all = {
          ...toNonAnswers(approvalId),
          ...(client.name !== '0.3 over HTTP+JSON' && toThoughts(approvalId)),
          ...(client.version === '1.0' && toNonAnswersV10(approvalId))
        }
        for (const [what, parts] of Object.entries(all)) {
          await client.send(parts, { taskId })
          t.same(await waitingFor(app.runs, taskId), [approvalId], what)
        }
        const wrong: object[] = [null, [], 'x'].map((args) => ({ approvalId, approved: true, args }))
        wrong.push({ approvalId: 'nothing', approved: true }, { approvalId: 5, approved: true })
        wrong.push({ approvalId, approved: true, reason: 5 })
        wrong.push({ approvalId, approved: true, reason: 'x'.repeat(5_000) })
        for (const data of wrong) {
          await t.rejects(client.send([{ data }], { taskId }), JSON.stringify(data).slice(0, 99))
          t.same(await waitingFor(app.runs, taskId), [approvalId])
        }
        const edited = { approvalId, approved: true, reason: 'as agreed', args: { path: 'y' } }
        t.equal((await client.send([{ data: edited }], { taskId, metadata: { trace: 'x' } })).id, taskId)
        const { approvalId: _, ...answer } = edited
        t.same(await answersOf(app.runs, taskId), [
          { action: 'accept', reason: answer.reason, content: answer.args }
        ])

        for (const [text, action] of [
          ['approve', 'accept'],
          ['deny', 'decline']
        ] as const) {
          const other = await begin(app)
          await client.send([{ text }], { taskId: other.taskId })
          t.same(await answersOf(app.runs, other.taskId), [{ action }], text)
        }
      })
  }
)

t.test('a bare word answers none of several approvals; each is answered by its id', async (t) => {
  const app = await buildApp(t, { runnables: [pair] })
  for (const client of await connectSdkClients(app.origin))
    await t.test(client.name, async (t) => {
      const { taskId, approvalIds } = await begin(app, 'pair')
      const [keep = '', remove = ''] = approvalIds
      t.equal(approvalIds.length, 2)
      for (const text of ['approve', 'deny']) {
        await client.send([{ text }], { taskId })
        t.same(await waitingFor(app.runs, taskId), [keep, remove], text)
      }
      await client.send([{ data: { approvalId: remove, approved: false } }], { taskId })
      t.same(await waitingFor(app.runs, taskId), [keep])
      await client.send([{ text: 'approve' }], { taskId })
      t.same(await answersOf(app.runs, taskId), [{ action: 'accept' }, { action: 'decline' }])
    })
})

t.test('a task with several approvals says how to answer them', async (t) => {
  const app = await buildApp(t, { runnables: [pair, asker] })
  const asks = /answer "approve" or "deny"/
  const names = /approvalId/
  const textOf = ({ status }: { status: { message: { parts: [{ text: string }] } } }) =>
    status.message.parts[0].text
  const one = (await app.rpc('message/send', say('asker'))).result
  t.match(textOf(one), asks)

  const { result: two } = await app.rpc('message/send', say('pair'))
  t.match(textOf(two), names)
  t.notMatch(textOf(two), asks)
  const { approvalId } = two.status.message.parts[1].data
  const [keep, remove] = await waitingFor(app.runs, two.id)
  t.equal(approvalId, keep)
  const answer = { kind: 'data', data: { approvalId: remove, approved: true } }
  const events = await app.stream('message/stream', say('', { taskId: two.id, parts: [answer] }))
  const last = events.at(-1)!.result
  t.match(last.status, { state: 'input-required' })
  t.match(textOf(last), asks, 'the last that waits')
  t.equal(last.status.message.parts[1].data.approvalId, keep)
  const [seen] = await app.stream('message/stream', say('hm', { taskId: two.id }))
  t.same(seen!.result.status.message, last.status.message, 'and so for who comes later')
  await app.rpc('message/send', say('deny', { taskId: two.id }))
  t.same(await answersOf(app.runs, two.id), [{ action: 'decline' }, { action: 'accept' }])
})

t.test('a part of two kinds is refused, in any order of its fields', async (t) => {
  const app = await buildApp(t, { runnables: [asker] })
  const { taskId, approvalIds } = await begin(app)
  const [approvalId = ''] = approvalIds
  const [yes, no] = [
    { approvalId, approved: true },
    { approvalId, approved: false }
  ]
  const file = { bytes: 'bm8=', mimeType: 'text/plain' }
  const legacy = [
    { kind: 'text', text: 'approve', data: no },
    { kind: 'text', text: 'approve', file },
    { kind: 'data', data: yes, text: 'no' },
    { kind: 'data', data: yes, file },
    { kind: 'file', file, text: 'approve' }
  ]
  const refused = { error: { code: -32602, message: /exactly one of|parts/ } }
  for (const part of legacy) {
    const [reply] = await askByRpc(app, 'send', '0.3', say('', { taskId, parts: [part] }))
    t.match(reply, refused, JSON.stringify(part))
  }
  const legacyRest = [
    { text: 'approve', data: { data: no } },
    { text: 'approve', file: { fileWithBytes: 'bm8=' } },
    { data: { data: yes }, file: { fileWithBytes: 'bm8=' } },
    { data: { data: yes, approved: false } }
  ]
  for (const part of legacyRest) {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', content: [part], taskId }
    const [reply] = await askByRest(app, 'POST /v1/message:send', { message })
    t.match(reply, { code: -32602 }, JSON.stringify(part))
  }
  const current = [
    { text: 'approve', data: no },
    { text: 'approve', raw: 'bm8=' },
    { data: yes, url: 'https://example.org/' }
  ]
  for (const part of current) {
    const params = sayV1('', { taskId, parts: [part] })
    t.match((await askByRpc(app, 'send', '1.0', params))[0], refused, JSON.stringify(part))
    t.match((await askByRest(app, 'POST /message:send', params))[0], { error: { code: 400 } })
  }
  t.same(await waitingFor(app.runs, taskId), [approvalId])
})

t.test("an empty member beside a part's content is not a second kind", async (t) => {
  const app = await buildApp(t, { runnables: [asker] })
  for (const part of [
    { kind: 'text', text: 'deny', data: null, file: null, metadata: null },
    { kind: 'text', text: 'deny', metadata: {} }
  ]) {
    const { taskId } = await begin(app)
    t.match(await askByRpc(app, 'send', '0.3', say('', { taskId, parts: [part] })), [
      { result: { status: { state: 'completed' } } }
    ])
  }
})
