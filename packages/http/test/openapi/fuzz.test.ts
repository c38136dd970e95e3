import type { OpenApiDocument } from '@svc/http'
import type { RunnableDefinition } from '@svc/registry'
import { Type } from '@sinclair/typebox'
import { cases, isFull } from '@tools/wires/volume'
import * as fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { createGenerator, type JsonSchema } from 'json-schema-faker'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { responseValidatorOf } from '../helpers/validate-response.ts'

const CASES = cases(8_000)
const seed = Number(process.env['FUZZ_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))

const calls: RunnableDefinition = {
  kind: 'team',
  name: 'größe & "co"',
  async *stream(input, { sessionId }) {
    yield { type: 'step.start', index: 0, attempt: 1 }
    yield { type: 'tool.call', toolCallId: '1', toolName: 'x', args: input, source: ['member'] }
    yield { type: 'tool.result', toolCallId: '1', toolName: 'x', result: [sessionId], durationMs: 1 }
    yield { type: 'tool.error', toolCallId: '2', toolName: 'x', error: { code: 'X', message: 'no' } }
    yield { type: 'reasoning', text: '\u2028\n' }
    yield { type: 'structured', value: { input } }
  }
}
const fails: RunnableDefinition = {
  kind: 'agent',
  name: 'fails',
  run: () => {
    throw Object.assign(new Error('teapot'), { code: 'TEA_ERR_POT', statusCode: 418 })
  }
}
const shaped: RunnableDefinition = {
  ...echo,
  kind: 'workflow',
  name: 'shaped',
  inputSchema: Type.Object({ a: Type.Integer() })
}
const free: RunnableDefinition = { ...echo, kind: 'workflow', name: 'free', inputSchema: Type.Unknown() }

/** An operation of the document, with what is needed to call it. */
interface Target {
  method: string
  path: string
  names: string[]
  /** Bodies that fit its schema. */
  bodies: unknown[]
}

t.test('no request gets a 5xx or an undocumented reply', async (t) => {
  t.comment(`FUZZ_SEED=${seed}`)
  const { app } = await buildApp(t, {
    runnables: [echo, calls, shaped, free],
    options: { swagger: true, clientInstructions: true }
  })
  const document = (await app.inject('/api/docs/spec.json')).json<OpenApiDocument>()
  const validator = responseValidatorOf(document)
  const targets = await targetsOf(document)
  const runId = (await app.inject(start)).json<{ runId: string }>().runId
  const statuses = new Map<string, number>()

  const request = fc.constantFrom(...targets).chain((target) => requestOf(target, runId))
  const property = fc.asyncProperty(request, async (options) => {
    const { statusCode: status, body, headers } = await app.inject(options)
    const method = String(options.method)
    const path = options.url as string
    const says = `${status} ${method} ${path}: ${body.slice(0, 300)}`
    if (status >= 500) throw new Error(says)
    const contentType = headers['content-type'] as string | undefined
    const faults = validator.faultsOf({ method, path, status, contentType, body })
    if (faults.length > 0) throw new Error(`${says}\n${faults.join('\n')}`)
    const { operationId = '', responses } = validator.find(method, path) ?? {}
    if (responses?.[status] === undefined) throw new Error(`${says}\nnot named`)
    const key = `${operationId} ${status}`
    statuses.set(key, (statuses.get(key) ?? 0) + 1)
  })
  await fc.assert(property, { seed, numRuns: CASES, endOnFailure: false })

  const total = [...statuses.values()].reduce((sum, count) => sum + count, 0)
  t.ok(total >= CASES, `${total} answers`)
  for (const [key, count] of statuses) t.comment(`${key}: ${count}`)
  for (const { operationId } of Object.values(document.paths).flatMap((path) => Object.values(path)))
    t.ok(
      [...statuses.keys()].some((key) => key.startsWith(`${operationId} `)),
      operationId
    )
  // A short run need not reach each of them.
  if (!isFull) return
  for (const key of ['runAgent 200', 'runTeam 200', 'runWorkflow 200', 'streamAgent 200', 'runAgent 400'])
    t.ok((statuses.get(key) ?? 0) > 0, `${key}: ${statuses.get(key)}`)
})

const start: InjectOptions = { method: 'POST', url: '/api/agents/echo/run', payload: { input: 'x' } }

async function targetsOf({ paths, components }: OpenApiDocument): Promise<Target[]> {
  const faker = createGenerator({
    seed,
    alwaysFakeOptionals: false,
    optionalsProbability: 0.5,
    maxItems: 3,
    maxLength: 600
  } as never)
  const targets: Target[] = []
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { parameters = [], requestBody }] of Object.entries(operations)) {
      const schema = requestBody?.content['application/json']?.schema
      const bodies: unknown[] = []
      for (let i = 0; schema !== undefined && i < 40; i++)
        bodies.push(await faker.generate({ ...schema, components } as JsonSchema))
      // Random optional fields contradict each other mostly.
      if (schema?.$ref?.endsWith('RunBody'))
        for (const body of bodies.slice(20) as { input?: unknown }[])
          bodies.push({ input: body.input ?? 'Hello' })
      const names = (parameters.find(({ name }) => name === 'name')?.schema.enum ?? []) as string[]
      targets.push({ method: method.toUpperCase(), path, names, bodies })
    }
  }
  return targets
}

const word = fc.oneof(
  fc.string({ maxLength: 130, unit: 'binary' }),
  fc.constantFrom('__proto__', 'constructor', '..', '%', ' ', '0', '-1', '1e9', '\u0000', 'x'.repeat(300))
)

function requestOf({ method, path, names, bodies }: Target, runId: string): fc.Arbitrary<InjectOptions> {
  const known = path.includes('{runId}') ? [runId] : names
  const name = known.length === 0 ? word : fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...known) }, word)
  const some = fc.dictionary(fc.oneof(QUERY_NAMES, word), fc.oneof(QUERY_VALUES, word), { maxKeys: 3 })
  // Most routes take none.
  const query = fc.oneof(fc.constant(null), some)
  return fc
    .record({
      name,
      query,
      headers,
      payload: bodies.length === 0 ? fc.constant(undefined) : payloadOf(bodies)
    })
    .map(({ name, query, headers, payload }) => ({
      method: method as 'GET',
      url: toUrl(path, name, query),
      headers: { ...headers, ...payload?.headers },
      ...(payload && { payload: payload.text })
    }))
}

const QUERY_NAMES = fc.constantFrom('status', 'name', 'limit', 'cursor', 'after', 'metadata[a]', 'metadata')
const QUERY_VALUES = fc.constantFrom('completed', 'failed', 'echo', '1', '100', '101', '1.5', 'null', '')
const printable = fc.stringMatching(/^[ -~]{0,40}$/)
const headers = fc.record(
  {
    accept: fc.constantFrom('application/problem+json', 'text/html', '*/*'),
    'last-event-id': fc.oneof(fc.constantFrom('0', '1', '2', '999', '-1', '1e3', 'x'), printable),
    prefer: fc.oneof(fc.constantFrom('respond-async', 'wait=1'), printable),
    'idempotency-key': printable
  },
  { requiredKeys: [] }
)

function toUrl(path: string, name: string, query: Record<string, string> | null): string {
  const search = query === null ? '' : `?${new URLSearchParams(query).toString()}`
  // A name that is empty, or `..`, would be another path.
  const segment = /^\.{0,2}$/.test(name) ? 'x' : encodeURIComponent(name.toWellFormed())
  return path.replace(/\{\w+\}/, segment) + search
}

interface Payload {
  text: string
  headers: Record<string, string>
}

const json = { 'content-type': 'application/json' }
const fieldNames = fc.oneof(
  fc.constantFrom(
    'input',
    'sessionId',
    'userId',
    'apiKey',
    'onDisconnect',
    'metadata',
    'messages',
    'instructions',
    'tools',
    '__proto__',
    'constructor',
    'toJSON'
  ),
  word
)

function payloadOf(bodies: unknown[]): fc.Arbitrary<Payload> {
  const fitting = fc.constantFrom(...bodies)
  const mutated = fc
    .record({ body: fitting, field: fieldNames, value: fc.jsonValue({ maxDepth: 4 }) })
    .map(({ body, field, value }) => Object.fromEntries([...Object.entries(body as object), [field, value]]))
  const cut = fc
    .record({ body: fitting, field: fieldNames })
    .map(({ body, field }) => Object.entries(body as object).filter(([key]) => key !== field))
    .map((entries) => Object.fromEntries(entries))
  const inputs = fc.jsonValue({ maxDepth: 5 }).map((input) => ({ input }))
  const text = fc.oneof(
    { weight: 4, arbitrary: fitting.map((value) => JSON.stringify(value)) },
    ...[mutated, cut, inputs, fc.jsonValue()].map((each) => each.map((value) => JSON.stringify(value))),
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.constantFrom(
      '',
      '{',
      '{"input":"x","input":1}',
      '['.repeat(100),
      '{"input":1e999}',
      '{"__proto__":{"a":1}}'
    )
  )
  const type = fc.oneof(
    { weight: 9, arbitrary: fc.constant(json) },
    fc.constantFrom(
      {},
      ...['text/plain', 'multipart/form-data', 'application/json; charset=x', ';'].map(typed)
    )
  )
  return fc.record({ text, headers: type as fc.Arbitrary<Record<string, string>> })
}

function typed(type: string) {
  return { 'content-type': type }
}

t.test('a failed run is documented too', async (t) => {
  const { app } = await buildApp(t, { runnables: [fails], options: { swagger: true } })
  const validator = responseValidatorOf((await app.inject('/api/docs/spec.json')).json<OpenApiDocument>())
  for (const [way, status] of [
    ['run', 500],
    ['stream', 200]
  ] as const) {
    const path = `/api/agents/fails/${way}`
    const { statusCode, headers, body } = await app.inject({
      method: 'POST',
      url: path,
      payload: { input: 'x' }
    })
    t.equal(statusCode, status)
    const contentType = String(headers['content-type'])
    t.strictSame(validator.faultsOf({ method: 'POST', path, status, contentType, body }), [])
  }
})
