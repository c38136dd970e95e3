import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { isCreateTaskResultV2, isDetailedTaskV2 } from '@modelcontextprotocol/ext-tasks/core/v2'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

/** A message of JSON-RPC. */
export interface McpMessage {
  readonly id?: unknown
  readonly method?: string
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: unknown
}

/** A message of the server. */
export interface SeenMessage {
  /** Of the request that it belongs to. */
  readonly method: string
  readonly message: McpMessage
}

/** What the conformance suite, which is one bundled file, has before each published schema. */
const SCHEMA_START = '={$schema:`https://json-schema.org/draft/2020-12/schema`,$defs:'

const ajv = new Ajv2020({ strict: false, allErrors: true })
formats.default(ajv)
for (const schema of readPublishedSchemas()) ajv.addSchema({ ...schema, $id: revisionOf(schema) })

/** The types of results by the methods of requests. */
const RESULTS: Readonly<Record<string, string>> = {
  initialize: 'InitializeResult',
  ping: 'EmptyResult',
  'server/discover': 'DiscoverResult',
  'tools/list': 'ListToolsResult',
  'tools/call': 'CallToolResult',
  'resources/list': 'ListResourcesResult',
  'resources/templates/list': 'ListResourceTemplatesResult',
  'resources/read': 'ReadResourceResult',
  'prompts/list': 'ListPromptsResult',
  'prompts/get': 'GetPromptResult',
  'subscriptions/listen': 'SubscriptionsListenResult'
}

/** Where a message of the server does not fit the published schemas of a revision, or the one of the extension for tasks. */
export function faultsOfMessage(revision: string, { method, message }: SeenMessage): string[] {
  if (message.error !== undefined) {
    // The schema has no id for what could not be read, JSON-RPC has null.
    const { id, ...rest } = message
    return faultsOf(revision, 'JSONRPCErrorResponse', id === null ? rest : message)
  }
  if (message.result === undefined)
    return message.id === undefined
      ? faultsOf(revision, 'ServerNotification', message)
      : faultsOf(revision, 'ElicitRequest', message)
  return [
    ...faultsOf(revision, 'JSONRPCResultResponse', message),
    ...faultsOfResult(revision, method, message.result)
  ]
}

function faultsOfResult(revision: string, method: string, result: Readonly<Record<string, unknown>>) {
  if (result['resultType'] === 'input_required') return faultsOf(revision, 'InputRequiredResult', result)
  if (result['resultType'] === 'task') return isCreateTaskResultV2(result) ? [] : ['no result of a task']
  if (method === 'tasks/get') {
    const { result: ended } = result
    return [
      ...(isDetailedTaskV2(result) ? [] : ['no task']),
      ...(ended === undefined ? [] : faultsOf(revision, 'CallToolResult', ended))
    ]
  }
  return faultsOf(revision, RESULTS[method] ?? 'Result', result)
}

function faultsOf(revision: string, type: string, value: unknown): string[] {
  ajv.validate(`${revision}#/$defs/${type}`, value)
  return (ajv.errors ?? []).map(({ instancePath, message }) => `${type}${instancePath} ${message}`)
}

interface PublishedSchema {
  readonly $defs: Readonly<Record<string, unknown>>
}

function revisionOf({ $defs }: PublishedSchema): string {
  return 'DiscoverResult' in $defs ? '2026-07-28' : '2025-11-25'
}

/** The JSON Schemas of the revisions, as the official conformance suite has them: no other package does. */
function readPublishedSchemas(): PublishedSchema[] {
  const require = createRequire(import.meta.url)
  const folder = dirname(require.resolve('@modelcontextprotocol/conformance/package.json'))
  const source = readFileSync(join(folder, 'dist/index.js'), 'utf8')
  const schemas: PublishedSchema[] = []
  for (let at = source.indexOf(SCHEMA_START); at >= 0; at = source.indexOf(SCHEMA_START, at + 1))
    schemas.push(runInNewContext(`(${literalAt(source, at + 1)})`) as PublishedSchema)
  if (schemas.length !== 2) throw new Error(`the suite has ${schemas.length} schemas of draft 2020-12, not 2`)
  return JSON.parse(JSON.stringify(schemas)) as PublishedSchema[]
}

/** The object literal that begins here. */
function literalAt(source: string, start: number): string {
  let depth = 0
  let quote: string | undefined
  for (let at = start; at < source.length; at++) {
    const character = source[at]!
    if (quote !== undefined) {
      if (character === '\\') at++
      else if (character === quote) quote = undefined
    } else if ('`"\''.includes(character)) quote = character
    else if ('{['.includes(character)) depth++
    else if ('}]'.includes(character) && --depth === 0) return source.slice(start, at + 1)
  }
  throw new Error('the literal has no end')
}
