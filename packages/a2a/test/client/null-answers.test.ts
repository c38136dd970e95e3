import { remoteAgent, type RemoteAgent } from '@svc/a2a'
import { createContext } from '@svc/registry'
import * as fc from 'fast-check'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { Artifact, Message, MessagePart } from '../../src/model/message.ts'
import type { TaskEvent, TaskStatus } from '../../src/model/task.ts'
import { DIALECTS, serveFake } from '../helpers/fake-service.ts'

t.setTimeout(240_000)

/** Fields that a service may send as null: what is optional in any version, and the other members of a choice. */
const OPTIONAL = [
  'metadata',
  'extensions',
  'referenceTaskIds',
  'history',
  'artifacts',
  'timestamp',
  'name',
  'description',
  'filename',
  'mediaType',
  'mimeType',
  'append',
  'lastChunk',
  'final',
  'message',
  'task',
  'statusUpdate',
  'artifactUpdate',
  'error',
  'text',
  'raw',
  'url',
  'data',
  'file',
  'bytes',
  'uri',
  'fileWithBytes',
  'fileWithUri',
  'taskId',
  'contextId'
]

/** Adds nulls to the objects of the protocol, in fields that are not set; `choose` decides on each. */
function sprinkle(value: unknown, choose: () => boolean): unknown {
  if (Array.isArray(value)) {
    const items = value.map((each) => sprinkle(each, choose))
    return choose() ? [...items, null] : items
  }
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([key, each]) =>
    key === 'metadata' || key === 'data' ? [key, each] : [key, sprinkle(each, choose)]
  )
  const nulls = OPTIONAL.filter((key) => !(key in value) && choose()).map((key) => [key, null])
  return Object.fromEntries([...fields, ...nulls]) as unknown
}

const word = fc.string({ minLength: 1, maxLength: 8 })
const data = fc.oneof(fc.record({ a: fc.option(word), b: fc.array(fc.option(word), { maxLength: 2 }) }))
const about = { metadata: fc.record({ note: fc.option(word) }), mediaType: fc.constant('text/plain') }
const part: fc.Arbitrary<MessagePart> = fc.oneof(
  fc.record({ text: word, ...about }, { requiredKeys: ['text'] }),
  fc.record({ data, metadata: about.metadata }, { requiredKeys: ['data'] }),
  fc.record(
    { url: word.map((name) => `https://example.org/${encodeURIComponent(name)}`), filename: word, ...about },
    { requiredKeys: ['url'] }
  )
) as fc.Arbitrary<MessagePart>
const parts = fc.array(part, { minLength: 1, maxLength: 3 })
const message: fc.Arbitrary<Message> = fc.record(
  { messageId: word, role: fc.constant('agent' as const), parts, metadata: about.metadata },
  { requiredKeys: ['messageId', 'role', 'parts'] }
) as fc.Arbitrary<Message>
const artifact: fc.Arbitrary<Artifact> = fc.record(
  { artifactId: word, parts, name: word, metadata: about.metadata },
  { requiredKeys: ['artifactId', 'parts'] }
) as fc.Arbitrary<Artifact>
const status = (state: TaskStatus['state']): fc.Arbitrary<TaskStatus> =>
  fc.record(
    { state: fc.constant(state), message, timestamp: fc.constant('2026-01-01T00:00:00.000Z') },
    {
      requiredKeys: ['state']
    }
  ) as fc.Arbitrary<TaskStatus>
const ids = { taskId: 't', contextId: 'c' }
const task = (given: fc.Arbitrary<TaskStatus>): fc.Arbitrary<TaskEvent> =>
  fc
    .record(
      {
        status: given,
        artifacts: fc.array(artifact, { maxLength: 2 }),
        history: fc.array(message, { maxLength: 2 })
      },
      { requiredKeys: ['status'] }
    )
    .map((fields) => ({ type: 'task', task: { id: 't', contextId: 'c', ...fields } }))
const events: fc.Arbitrary<TaskEvent[]> = fc.oneof(
  task(status('completed')).map((only) => [only]),
  message.map((only) => [{ type: 'message', message: only } as const]),
  fc
    .tuple(
      task(status('working')),
      fc.array(
        artifact.map((each) => ({
          ...ids,
          type: 'artifact' as const,
          artifact: each,
          append: false,
          lastChunk: true
        })),
        { maxLength: 3 }
      ),
      status('completed')
    )
    .map(([first, chunks, last]) => [first, ...chunks, { ...ids, type: 'status' as const, status: last }])
)

/** The parts of a run. */
async function partsOf(agent: RemoteAgent): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const part of agent.stream('x', createContext())) all.push(part)
  return all
}

for (const dialect of DIALECTS)
  t.test(`${dialect.name}: null is an unset field, wherever it stands`, async (t) => {
    let answer: readonly TaskEvent[] = []
    let choose: () => boolean = () => false
    const { options } = await serveFake(
      t,
      dialect,
      () => answer,
      (json) => sprinkle(json, choose)
    )
    const agent = remoteAgent({ ...options, name: 'far' })
    await fc.assert(
      fc.asyncProperty(events, fc.infiniteStream(fc.boolean()), async (given, choices) => {
        answer = given
        choose = () => false
        const plain = await partsOf(agent)
        choose = () => choices.next().value as boolean
        const sprinkled = await partsOf(agent)
        t.same(sprinkled, plain)
      }),
      { numRuns: 60 }
    )
  })

t.test('null in cards', async (t) => {
  const unset = { tenant: null, securitySchemes: null, signatures: null, provider: null, iconUrl: null }
  const cards: object[] = [
    {
      ...unset,
      url: null,
      preferredTransport: null,
      additionalInterfaces: null,
      capabilities: { streaming: null, extensions: null },
      supportedInterfaces: [
        null,
        { url: '/', protocolBinding: null, protocolVersion: null, tenant: null },
        { url: '/', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: null }
      ]
    },
    {
      ...unset,
      url: '/',
      preferredTransport: null,
      additionalInterfaces: null,
      supportedInterfaces: null,
      capabilities: null
    },
    {
      ...unset,
      url: null,
      additionalInterfaces: [null, { url: null, transport: null }, { url: '/', transport: 'JSONRPC' }]
    }
  ]
  for (const card of cards) {
    const server = createServer((request, response) => {
      const isCard = request.url!.includes('.well-known')
      const message = {
        kind: 'message',
        messageId: 'm',
        role: 'agent',
        parts: [{ kind: 'text', text: 'yes' }]
      }
      const v1 = { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'yes' }] } }
      const isV1 = request.headers['a2a-version'] === '1.0'
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify(isCard ? card : { jsonrpc: '2.0', id: 1, result: isV1 ? v1 : message, error: null })
      )
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const agent = remoteAgent({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      name: 'far'
    })
    t.equal((await agent.run('x')).text, 'yes')
  }
})
