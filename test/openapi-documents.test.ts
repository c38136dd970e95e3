import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { generateOpenApi, type OpenApiDocument } from '@svc/http'
import { createRegistry } from '@svc/registry'
import t, { type Test } from 'tap'
import { buildApp } from '../apps/demo/src/app.ts'
import { readEnv } from '../apps/demo/src/env.ts'
import { chooseModel } from '../apps/demo/src/models/choose-model.ts'
import { bin, compileAsUser, run } from './helpers/tarballs.ts'

const ROOT = resolve(import.meta.dirname, '..')
const GENERATE = join(import.meta.dirname, 'helpers/generate-clients.ts')

/** Uses what is generated; a line after `@ts-expect-error` must not type-check. */
const PROGRAM = `
import type { components, paths } from './types-openai.ts'
import type { components as Chat } from './types-uiStream.ts'
import type { components as Runs } from './types-http.ts'
import { connectAgentRun, type Event } from './hey-agUi/index.ts'
import { getModel, listModels } from './hey-openai/index.ts'
import { runAgent } from './hey-http/index.ts'
import { createChatCompletion, ModelObject } from './orval-openai.ts'
import { sendMcpMessage } from './orval-mcp.ts'

type Completion = components['schemas']['ChatCompletion']
export const said = ({ choices }: Completion): string | null | undefined => choices[0]?.message.content
export const object: 'model' = ModelObject.model
export const asked: components['schemas']['ChatCompletionBody'] = {
  model: 'a',
  messages: [{ role: 'user', content: 'Hi' }, { role: 'assistant', content: null }],
  tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
  stop: null
}
export const model: paths['/v1/models/{model}']['get']['parameters']['path'] = { model: 'team/desk' }
export const trigger: Chat['schemas']['ChatBody']['trigger'] = 'regenerate-message'
export const byInput: Runs['schemas']['RunBody'] = { input: 'Hi', afterTurn: null }
export const byMessages: Runs['schemas']['RunBody'] = { messages: [{ role: 'user', content: 'Hi' }] }

export async function main(): Promise<void> {
  const { data: models } = await listModels({ throwOnError: true })
  const id: string | undefined = models.data[0]?.id
  await getModel({ path: { model: id ?? '' } })
  const ran = await runAgent({ path: { name: 'assistant' }, body: { input: 'Hi' }, throwOnError: true })
  const runId: string = ran.data.runId
  const answer = await createChatCompletion(asked as Parameters<typeof createChatCompletion>[0])
  if (answer.status === 200 && 'choices' in answer.data) console.log(answer.data.choices, runId)
  await sendMcpMessage({ jsonrpc: '2.0', method: 'ping', id: 1 })
  await connectAgentRun({ path: { name: 'assistant', threadId: 't' } })
}

export const nameOf = (event: Event): string => (event.type === 'TEXT_MESSAGE_CONTENT' ? event.delta : event.type)

export const refused = async () => {
  // @ts-expect-error -- no such role
  asked.messages.push({ role: 'robot', content: 'Hi' })
  // @ts-expect-error -- a text is not null
  const model: Completion['model'] = null
  // @ts-expect-error -- a model has a name
  await getModel({ path: {} })
  // @ts-expect-error -- another version
  await sendMcpMessage({ jsonrpc: '1.0' })
  // @ts-expect-error -- a run has an input, or messages
  const empty: Runs['schemas']['RunBody'] = {}
  // @ts-expect-error -- and so for the other generators
  await runAgent({ path: { name: 'assistant' }, body: { sessionId: 's' } })
  return { model, empty }
}
`

t.setTimeout(180_000)

t.test('every OpenAPI document is valid, and clients are generated from it', async (t) => {
  const dir = t.testdir({ 'package.json': '{ "type": "module" }' })
  const documents = { ...(await documentsOfDemo(t, dir)), ...(await documentsOfHttp()) }
  t.strictSame(Object.keys(documents), [
    'http',
    'uiStream',
    'mcp',
    'agUi',
    'openai',
    'openaiAgents',
    'managedAgents',
    'httpNamed',
    'httpEmpty',
    'httpDressed'
  ])
  for (const [name, document] of Object.entries(documents)) {
    t.equal(document.openapi, '3.0.3', name)
    const { valid, errors } = await new Validator().validate(structuredClone({ ...document }))
    t.ok(valid, `${name}: ${JSON.stringify(errors)?.slice(0, 2_000)}`)
    await writeFile(join(dir, `${name}.json`), JSON.stringify(document))
  }
  const names = Object.keys(documents)
  t.equal(await lint(dir, names), '')
  const served = names.slice(0, 7)
  await run(process.execPath, [GENERATE, dir, ...served], ROOT)
  await writeFile(join(dir, 'program.ts'), PROGRAM)
  const files = served.flatMap((name) => [`types-${name}.ts`, `orval-${name}.ts`, `hey-${name}/index.ts`])
  const options = [
    '--noEmit',
    '--ignoreConfig',
    '--module',
    'esnext',
    '--moduleResolution',
    'bundler',
    '--allowImportingTsExtensions'
  ]
  const lib = ['--target', 'es2024', '--lib', 'es2024,dom,dom.iterable', '--types', 'node']
  // The types that the generators leave loose are their own business.
  const loose = ['--exactOptionalPropertyTypes', 'false', '--skipLibCheck', 'true']
  t.strictSame(await compileAsUser(dir, ...options, ...lib, ...loose, 'program.ts', ...files), [])
})

/** What the routes of the demo serve, by the wire. */
async function documentsOfDemo(t: Test, dataDir: string): Promise<Record<string, OpenApiDocument>> {
  const env = readEnv({ DATA_DIR: dataDir, LOG_LEVEL: 'silent' })
  const { model } = await chooseModel(env)
  const app = await buildApp(env, model)
  t.teardown(() => app.close())
  const { wires } = (await app.inject('/api/registry')).json<{
    wires: { name: string; document?: string }[]
  }>()
  const found: Record<string, OpenApiDocument> = {}
  for (const { name, document } of wires) {
    if (document === undefined) continue
    const served = (await app.inject(document)).json<OpenApiDocument>()
    if ('openapi' in served)
      found[name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())] = served
  }
  return found
}

/** Documents of other options of `@svc/http`. */
async function documentsOfHttp(): Promise<Record<string, OpenApiDocument>> {
  const registry = createRegistry()
  registry.add({ kind: 'agent', name: 'größe "1"', run: () => '' })
  return {
    httpNamed: await generateOpenApi({ prefix: '/api', registry }),
    httpEmpty: await generateOpenApi({ prefix: '/api', registry: createRegistry() }),
    httpDressed: await generateOpenApi(
      { prefix: '/v1/x', registry: false, fileUpload: true },
      {
        title: 'Agents',
        version: '2.1.0',
        description: 'Some *agents*',
        routePrefix: '/proxy',
        servers: [{ url: 'https://agents.example.org', description: 'Live' }, { url: '/' }]
      }
    )
  }
}

/** What redocly finds wrong, without its warnings. */
async function lint(cwd: string, names: readonly string[]): Promise<string> {
  const args = ['lint', '--extends=spec', '--format=stylish', ...names.map((name) => `${name}.json`)]
  const failed = await run(
    'env',
    ['REDOCLY_TELEMETRY=off', 'REDOCLY_SUPPRESS_UPDATE_NOTICE=true', bin('redocly'), ...args],
    cwd
  ).then(
    () => undefined,
    (err: unknown) => err as { stdout: string; stderr: string }
  )
  return failed === undefined ? '' : failed.stdout + failed.stderr
}
