import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { generateOpenApi, type OpenApiDocument } from '@svc/http'
import { createRegistry, type Registry } from '@svc/registry'
import { Ajv } from 'ajv'
import t, { type Test } from 'tap'
import { echo } from '../helpers/build-app.ts'

const registryOf = (...names: string[]) => {
  const registry = createRegistry()
  for (const name of names) registry.add({ ...echo, name })
  return registry
}
const generate = (registry: Registry, prefix = '/api') => generateOpenApi({ prefix, registry })

t.test('the document is valid', async (t) => {
  const plain = await generate(registryOf('echo', 'größe "1"'))
  const empty = await generate(registryOf())
  const dressed = await generateOpenApi(
    { prefix: '/v1/x' },
    {
      title: 'Agents',
      version: '2.1.0',
      description: 'Some *agents*',
      routePrefix: '/proxy',
      servers: [{ url: 'https://agents.example.org', description: 'Live' }, { url: '/' }]
    }
  )
  for (const document of [plain, empty, dressed]) {
    const { valid, errors } = await new Validator().validate({ ...document })
    t.ok(valid, JSON.stringify(errors))
  }
  t.equal(await lint(t, { plain, empty, dressed }), '')
})

t.test('paths have the mount prefix, and that of a proxy', async (t) => {
  const { info, servers, paths } = await generateOpenApi(
    { prefix: '/api', registry: false },
    { title: 'Agents', version: '2', routePrefix: '/proxy', servers: [{ url: 'https://x.example/proxy' }] }
  )
  t.strictSame(info, { title: 'Agents', version: '2' })
  t.strictSame(servers, [{ url: 'https://x.example/proxy' }])
  t.ok(Object.keys(paths).every((path) => path.startsWith('/proxy/api/')))
  const bare = await generateOpenApi({ registry: false })
  t.strictSame(bare.info, { title: 'Service API', version: '1.0.0' })
  t.equal(bare.openapi, '3.0.3')
  t.ok(bare.paths['/agents/{name}/run']?.['post'])
})

t.test('every operation has an id, a tag, texts and its errors', async (t) => {
  const document = await generate(registryOf())
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path))
  const tags = document.tags.map(({ name }) => name)
  for (const { operationId, tags: own, summary, responses } of operations) {
    t.match(operationId, /^[a-z]+[A-Za-z]+$/)
    t.ok(own.length === 1 && tags.includes(own[0] ?? ''), `${operationId}: its group`)
    t.ok(summary.length > 0, `${operationId}: its summary`)
    t.ok(responses['default'] && responses['500'], `${operationId}: its errors`)
    t.ok(
      Object.keys(responses).some((status) => status.startsWith('2')),
      `${operationId}: its reply`
    )
  }
  const ids = operations.map(({ operationId }) => operationId)
  t.strictSame(ids.length, new Set(ids).size, 'names are unique')
})

t.test('components are well named and not duplicated', async (t) => {
  const { components, paths } = await generate(registryOf())
  const expected = (
    'ContentPart Error ErrorPart FinishPart FinishReason Health JsonRunBody MessageInput OnDisconnect Part PartError ' +
    'InputRequestPart InputResponsePart PendingApproval PendingInput Problem ReasoningPart Registry RunBody RunList RunRecord RunResult RunStatus RunnableKind ' +
    'RunnableMetadata StartPart StepPart StepStartPart StructuredPart TextPart ToolApprovalRequestPart ' +
    'ToolApprovalResponsePart ToolCall ToolCallPart ToolError ToolErrorPart ToolResultPart Usage'
  ).split(' ')
  for (const name of expected) t.ok(components.schemas[name], name)
  for (const [name, schema] of Object.entries(components.schemas)) t.notOk(schema.title, name)
  const { discriminator, oneOf } = components.schemas['Part']!
  t.equal(discriminator?.propertyName, 'type')
  t.strictSame(
    Object.values(discriminator?.mapping ?? {}),
    oneOf?.map(({ $ref }) => $ref)
  )
  t.equal(discriminator?.mapping?.['tool.call'], '#/components/schemas/ToolCallPart')
  const inline = JSON.stringify(paths).match(/"type":"object"/g)
  t.equal(inline, null, 'objects are components')
  t.strictSame(components.responses?.['NotFound']?.content?.['application/json']?.schema, {
    $ref: '#/components/schemas/Error'
  })
})

t.test('names, bodies and headers', async (t) => {
  const registry = registryOf('echo', 'second')
  registry.add({ kind: 'workflow', name: 'flow', run: () => '' })
  const { paths } = await generate(registry)
  const nameOf = (path: string, method = 'post') =>
    paths[path]?.[method]?.parameters?.find(({ name }) => name === 'name')?.schema
  t.match(nameOf('/api/agents/{name}/run'), { type: 'string', enum: ['echo', 'second'], example: 'echo' })
  t.strictSame(nameOf('/api/workflows/{name}', 'get')?.enum, ['flow'])
  t.notOk(nameOf('/api/teams/{name}/run')?.enum, 'an enum of nothing is not valid')
  const bodyOf = (path: string) => paths[path]?.['post']?.requestBody?.content['application/json']
  t.match(bodyOf('/api/agents/{name}/run'), { schema: { $ref: /\/RunBody$/ }, example: { input: String } })
  t.match(bodyOf('/api/workflows/{name}/run'), { schema: { $ref: /\/JsonRunBody$/ } })
  const parameters = (path: string, method: string) =>
    paths[path]?.[method]?.parameters?.map(({ name }) => name)
  t.strictSame(parameters('/api/agents/{name}/run', 'post'), ['name', 'Idempotency-Key', 'Prefer'])
  t.strictSame(parameters('/api/runs/{runId}/stream', 'get'), ['after', 'runId', 'Last-Event-ID'])
  const limit = paths['/api/runs']?.['get']?.parameters?.find(({ name }) => name === 'limit')
  t.match(limit, { required: false, schema: { default: 20 } }, 'what has a default may be left out')
  const stream = paths['/api/agents/{name}/stream']?.['post']
  t.match(stream?.responses['200']?.content, { 'text/event-stream': { schema: { $ref: /\/Part$/ } } })
  t.match(stream?.description, /^data: \{"seq":1,.*\}\nid: 1\n$/m)

  registry.add({ ...echo, name: 'third', inputSchema: {} as never })
  const after = await generate(registry)
  const body = after.paths['/api/agents/{name}/run']?.['post']?.requestBody?.content['application/json']
  t.match(body?.schema.$ref, /\/JsonRunBody$/, 'one of them takes other JSON')
})

t.test('examples match their schemas', async (t) => {
  const { components } = await generate(registryOf())
  const ajv = new Ajv({ strict: false, formats: { 'date-time': true } })
  ajv.addSchema({ $id: 'document', components })
  let count = 0
  for (const [name, { example }] of Object.entries(components.schemas)) {
    if (example === undefined) continue
    count++
    t.ok(ajv.validate(`document#/components/schemas/${name}`, example), `${name}: ${ajv.errorsText()}`)
  }
  t.equal(count, 8)
})

/** What redocly finds wrong, without its warnings; it runs once for all documents. */
async function lint(t: Test, documents: Record<string, OpenApiDocument>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'openapi-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const files = await Promise.all(
    Object.entries(documents).map(async ([name, document]) => {
      await writeFile(join(dir, `${name}.json`), JSON.stringify(document))
      return `${name}.json`
    })
  )
  const cli = join(dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')), 'bin/cli.js')
  const child = spawn(process.execPath, [cli, 'lint', '--extends=recommended', ...files], {
    cwd: dir,
    env: { PATH: process.env['PATH'], REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const [status] = await once(child, 'close')
  return status === 0 ? '' : output
}
