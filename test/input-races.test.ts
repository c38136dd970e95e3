import { Type } from '@sinclair/typebox'
import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, { createRegistry } from '@svc/registry'
import store from '@svc/store'
import t from 'tap'
import { serve, type Client, type Served } from './helpers/serve.ts'

// In a row, so that a slow machine races few at a time.
const RACES = 1_000
const AT_ONCE = 20
const FIRST = 'first'
const SECOND = 'second'

/** Sends an answer; true if it was taken, false if another one was. */
type SendAnswer = (inputId: string, content: string) => Promise<boolean>

t.setTimeout(120_000)

t.test('1,000 races of two answers over different surfaces: one counts, the other is told so', async (t) => {
  const served = await serve(t, async (app) => {
    const registry = createRegistry()
    for (const kind of ['question', 'approval', 'tool'] as const)
      registry.add({
        kind: 'agent',
        name: kind,
        async run(_input, context) {
          const call = { toolCallId: 'c', toolName: 't', args: {} }
          if (kind === 'approval') return (await context.approvals.request(call)).reason ?? ''
          const { content } =
            kind === 'tool'
              ? await context.callClient(call)
              : await context.ask({ message: '?', schema: Type.String() })
          return String(content)
        }
      })
    await app.register(store, { url: 'sqlite::memory:' })
    await app.register(registryPlugin, { registry })
    await app.register(http)
    await app.register(gateway, { limits: { eventsPerSecond: 10_000 } })
    await app.register(a2a, { basePath: '/a2a' })
  })
  const client = await served.connect()
  const { runs, registry } = served.app
  const kinds = ['question', 'approval', 'tool'] as const
  const race = async (index: number) => {
    const kind = kinds[index % kinds.length]!
    const run = await runs.start(registry.get('agent', kind)!, 'x')
    for await (const { type } of run.parts())
      if (type === 'input.request' || type === 'tool.approval.request') break
    const surfaces = surfacesFor(kind, served, client)
    const [one, two] = [surfaces[index % 3]!, surfaces[(index + 1 + (index % 2)) % 3]!]
    const taken = await Promise.all([one(`${run.runId}.1`, FIRST), two(`${run.runId}.1`, SECOND)])
    const { text } = await run.result()
    const late = await two(`${run.runId}.1`, 'late')
    return { taken, wins: taken.indexOf(true) === 0 ? text === FIRST : text === SECOND, late }
  }
  const counts = { one: 0, same: 0, late: 0 }
  for (let begun = 0; begun < RACES; begun += AT_ONCE) {
    const races = await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => race(begun + index)))
    for (const { taken, wins, late } of races) {
      if (taken[0] !== taken[1]) counts.one++
      if (wins) counts.same++
      if (late) counts.late++
    }
  }
  t.same(counts, { one: RACES, same: RACES, late: 0 })
})

function surfacesFor(
  kind: 'question' | 'approval' | 'tool',
  { ask, rpc }: Served,
  client: Client
): readonly SendAnswer[] {
  const [list, id, event] =
    kind === 'approval'
      ? (['approvals', 'approvalId', 'approval.answer'] as const)
      : (['inputs', 'inputId', 'input.answer'] as const)
  const answerOf = (content: string) =>
    kind === 'approval' ? { approved: true, reason: content } : { action: 'accept', content }
  const answered = 'RUN_ERR_INPUT_ANSWERED'
  return [
    async (inputId, content) => {
      const { status, body } = await ask('POST', `/${list}/${inputId}`, answerOf(content))
      return resultOf(status === 200, status === 409 && body.code === answered, body)
    },
    async (inputId, content) => {
      const ack = await client.ask(event, { [id]: inputId, ...answerOf(content) })
      return resultOf(ack.ok === true, ack.code === answered, ack)
    },
    async (inputId, content) => {
      const message = {
        role: 'user',
        messageId: crypto.randomUUID(),
        taskId: inputId.slice(0, inputId.lastIndexOf('.')),
        parts: [{ kind: 'data', data: { [id]: inputId, ...answerOf(content) } }]
      }
      const reply = await rpc('/a2a', 'message/send', { message })
      // It is answered, its task works or has ended.
      return resultOf(reply.id !== undefined, [-32004, -32602].includes(reply.code), reply)
    }
  ]
}

function resultOf(isTaken: boolean, isRefused: boolean, reply: unknown): boolean {
  if (isTaken === isRefused) throw new Error(`unexpected: ${JSON.stringify(reply)}`)
  return isTaken
}
