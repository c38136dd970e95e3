import { writeSync } from 'node:fs'
import { Type, type TSchema } from '@sinclair/typebox'
import registryPlugin, {
  createRegistry,
  defineRunnable,
  type RunContext,
  type YieldedPart
} from '@svc/registry'
import mcp from '@svc/mcp'
import store from '@svc/store'
import Fastify from 'fastify'

// The fixture that the official conformance suite calls, made of public options only; it prints its port and runs until it is killed.
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=='
const NOTHING = Type.Object({})

type Parts = (input: Record<string, string>, context: RunContext) => AsyncIterable<YieldedPart>

const registry = createRegistry()
function tool(name: string, stream: Parts, inputSchema: TSchema = NOTHING): void {
  registry.add(
    defineRunnable({
      kind: 'agent',
      name,
      description: `The fixture ${name}`,
      inputSchema,
      stream: (input, context) => stream(input as Record<string, string>, context)
    })
  )
}

async function file({ runId, stores }: RunContext, mimeType: string, content: Buffer): Promise<YieldedPart> {
  const kept = await stores.files!.put(runId, { mimeType, content })
  return { type: 'file', fileId: kept.fileId, mimeType, size: kept.size, sha256: kept.sha256 }
}

tool('test_simple_text', async function* () {
  yield { type: 'text', text: 'This is a simple text response for testing.' }
})
tool('test_image_content', async function* (_, context) {
  yield await file(context, 'image/png', Buffer.from(PNG, 'base64'))
})
tool('test_audio_content', async function* (_, context) {
  yield await file(context, 'audio/wav', Buffer.from(WAV, 'base64'))
})
tool('test_embedded_resource', async function* (_, context) {
  yield await file(context, 'text/plain', Buffer.from('This is an embedded resource content.'))
})
tool('test_multiple_content_types', async function* (_, context) {
  yield { type: 'text', text: 'Multiple content types test:' }
  yield await file(context, 'image/png', Buffer.from(PNG, 'base64'))
  yield await file(context, 'application/json', Buffer.from('{"test":"data","value":123}'))
})
tool('test_error_handling', async function* () {
  yield {
    type: 'error',
    error: { code: 'TEST', message: 'This tool intentionally returns an error for testing', retryable: false }
  }
})
tool('test_tool_with_progress', async function* () {
  for (const progress of [0, 50, 100]) {
    yield { type: 'data', name: 'progress', value: { progress, total: 100, message: `At ${progress}` } }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  yield { type: 'text', text: 'Done' }
})
tool(
  'test_elicitation',
  async function* ({ message = '' }, context) {
    const answer = await context.ask({
      message,
      schema: Type.Object({
        username: Type.String({ description: "User's response" }),
        email: Type.String({ description: "User's email address" })
      })
    })
    yield { type: 'text', text: `User response: ${JSON.stringify(answer)}` }
  },
  Type.Object({ message: Type.String() })
)
tool('test_elicitation_sep1034_defaults', async function* (_, context) {
  const answer = await context.ask({
    message: 'Please review',
    schema: Type.Object({
      name: Type.String({ default: 'John Doe' }),
      age: Type.Integer({ default: 30 }),
      score: Type.Number({ default: 95.5 }),
      status: Type.Unsafe({ type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' }),
      verified: Type.Boolean({ default: true })
    })
  })
  yield { type: 'text', text: `Elicitation completed: ${JSON.stringify(answer)}` }
})
tool('test_elicitation_sep1330_enums', async function* (_, context) {
  const titled = [
    { const: 'value1', title: 'First Option' },
    { const: 'value2', title: 'Second Option' },
    { const: 'value3', title: 'Third Option' }
  ]
  const options = ['option1', 'option2', 'option3']
  const answer = await context.ask({
    message: 'Please choose',
    schema: Type.Object({
      untitledSingle: Type.Unsafe({ type: 'string', enum: options }),
      titledSingle: Type.Unsafe({ type: 'string', oneOf: titled }),
      legacyEnum: Type.Unsafe({
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three']
      }),
      untitledMulti: Type.Unsafe({ type: 'array', items: { type: 'string', enum: options } }),
      titledMulti: Type.Unsafe({ type: 'array', items: { anyOf: titled } })
    })
  })
  yield { type: 'text', text: `Elicitation completed: ${JSON.stringify(answer)}` }
})
// Forms of one field, one after another.
function formTool(name: string, ...fields: [field: string, message: string, schema: TSchema][]): void {
  tool(name, async function* (_, context) {
    const answers: unknown[] = []
    for (const [field, message, schema] of fields)
      answers.push((await context.ask({ message, schema: Type.Object({ [field]: schema }) })).content)
    yield { type: 'text', text: `state-ok ${JSON.stringify(answers)}` }
  })
}
formTool('test_input_required_result_elicitation', ['name', 'What is your name?', Type.String()])
formTool('test_input_required_result_request_state', ['ok', 'Please confirm', Type.Boolean()])
formTool('test_input_required_result_tampered_state', ['ok', 'Please confirm', Type.Boolean()])
formTool('test_input_required_result_capabilities', ['ok', 'Please confirm', Type.Boolean()])
formTool(
  'test_input_required_result_multi_round',
  ['name', 'Step 1: What is your name?', Type.String()],
  ['color', 'Step 2: What is your favorite color?', Type.String()]
)
formTool('test_missing_capability', ['ok', 'Please confirm', Type.Boolean()])
formTool('test_streaming_elicitation', ['ok', 'Please confirm', Type.Boolean()])
tool('test_logging_tool', async function* () {
  yield { type: 'text', text: 'Nothing is logged to clients' }
})
// The tools of the scenarios for tasks.
tool(
  'slow_compute',
  async function* ({ seconds = '1' }) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(Number(seconds), 30) * 1_000))
    yield { type: 'text', text: `Computed in ${seconds} s` }
  },
  Type.Object({ seconds: Type.Optional(Type.Number()), label: Type.Optional(Type.String()) })
)
tool('failing_job', async function* () {
  await new Promise((resolve) => setTimeout(resolve, 600))
  yield { type: 'error', error: { code: 'TEST', message: 'The job failed', retryable: false } }
})
tool(
  'confirm_delete',
  async function* ({ filename = '' }, context) {
    const { content } = await context.ask({
      message: `Delete ${filename}?`,
      schema: Type.Object({ confirm: Type.Boolean() })
    })
    yield { type: 'text', text: content?.confirm === true ? `Deleted ${filename}` : 'Kept' }
  },
  Type.Object({ filename: Type.Optional(Type.String()) })
)
tool('multi_input', async function* (_, context) {
  const schema = Type.Object({ name: Type.String(), confirm: Type.Boolean() })
  const answers = await Promise.all(['First?', 'Second?'].map((message) => context.ask({ message, schema })))
  yield { type: 'text', text: JSON.stringify(answers.map(({ content }) => content)) }
})
tool(
  'greet',
  async function* ({ name = '' }) {
    yield { type: 'text', text: `Hello, ${name}!` }
  },
  Type.Object({ name: Type.Optional(Type.String()) })
)
tool(
  'json_schema_2020_12_tool',
  async function* () {
    yield { type: 'text', text: 'ok' }
  },
  Type.Unsafe({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: {
        $anchor: 'addressDef',
        type: 'object',
        properties: { street: { type: 'string' }, city: { type: 'string' } }
      }
    },
    properties: {
      name: { type: 'string' },
      address: { $ref: '#/$defs/address' },
      contactMethod: { type: 'string', enum: ['phone', 'email'] },
      phone: { type: 'string' },
      email: { type: 'string' }
    },
    allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
    if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
    then: { required: ['phone'] },
    else: { required: ['email'] },
    additionalProperties: false
  })
)

const app = Fastify({ forceCloseConnections: true })
await app.register(store, { url: 'sqlite::memory:' })
await app.register(registryPlugin, { registry, record: { files: true } })
await app.register(mcp, { name: 'conformance', version: '1.0.0', taskAfter: Number(process.argv[2] ?? 200) })
await app.listen({ port: Number(process.argv[3] ?? 0), host: '127.0.0.1' })
writeSync(1, `${(app.server.address() as { port: number }).port}\n`)
