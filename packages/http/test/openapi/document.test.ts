import { generateOpenApi } from '@svc/http'
import { createRegistry, type Registry } from '@svc/registry'
import { Ajv } from 'ajv'
import t from 'tap'
import { echo } from '../helpers/build-app.ts'

const registryOf = (...names: string[]) => {
  const registry = createRegistry()
  for (const name of names) registry.add({ ...echo, name })
  return registry
}
const generate = (registry: Registry, prefix = '/api') => generateOpenApi({ prefix, registry })

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

t.test('an operation has the errors of its path and of its body', async (t) => {
  const { paths } = await generate(registryOf())
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { operationId, requestBody, responses }] of Object.entries(operations)) {
      const takesBody = requestBody !== undefined
      // A POST that needs no body may refuse one.
      if (takesBody || method !== 'post')
        for (const status of ['413', '415'])
          t.equal(status in responses, takesBody, `${operationId}: ${status}`)
      t.equal('414' in responses, path.includes('{'), `${operationId}: 414`)
    }
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
  const { components, paths } = await generate(registry)
  const nameOf = (path: string, method = 'post') =>
    paths[path]?.[method]?.parameters?.find(({ name }) => name === 'name')?.schema
  t.match(nameOf('/api/agents/{name}/run'), { type: 'string', enum: ['echo', 'second'], example: 'echo' })
  t.strictSame(nameOf('/api/workflows/{name}', 'get')?.enum, ['flow'])
  t.notOk(nameOf('/api/teams/{name}/run')?.enum, 'an enum of nothing is not valid')
  const bodyOf = (path: string) => paths[path]?.['post']?.requestBody?.content['application/json']
  t.match(bodyOf('/api/agents/{name}/run'), { schema: { $ref: /\/RunBody$/ } })
  t.match(components.schemas['RunBody'], { example: { input: String } })
  t.match(bodyOf('/api/workflows/{name}/run'), { schema: { $ref: /\/JsonRunBody$/ } })
  const parameters = (path: string, method: string) =>
    paths[path]?.[method]?.parameters?.map(({ name }) => name)
  t.strictSame(parameters('/api/agents/{name}/run', 'post'), ['name', 'Idempotency-Key', 'Prefer'])
  t.strictSame(parameters('/api/runs/{runId}/stream', 'get'), ['runId', 'after', 'partial', 'Last-Event-ID'])
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
  t.equal(count, 12)
})

t.test('the body of a run has an input or messages', async (t) => {
  const { components } = await generateOpenApi({ registry: createRegistry(), fileUpload: true })
  const ajv = new Ajv({ strict: false, formats: { 'date-time': true, binary: true } })
  ajv.addSchema({ $id: 'document', components })
  const fits = (name: string, body: object) => ajv.validate(`document#/components/schemas/${name}`, body)
  const messages = [{ role: 'user', content: 'Hi' }]
  for (const name of ['RunBody', 'JsonRunBody', 'RunForm']) {
    t.equal(fits(name, { sessionId: 's' }), false, name)
    t.ok(fits(name, { input: 'Hi' }) && fits(name, { messages }), `${name}: ${ajv.errorsText()}`)
  }
  t.ok(fits('RunForm', { files: ['x'] }), 'a form of files alone')
})
