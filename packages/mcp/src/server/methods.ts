import { Type, type Static, type TSchema } from '@sinclair/typebox'
import type { Awaitable } from '@svc/contract'
import { getPrompt, listPrompts } from '../prompts/skill-prompts.ts'
import { checkParams, methodNotFound } from '../protocol/message.ts'
import { listResources, readResource, RESOURCE_TEMPLATES } from '../resources/run-resources.ts'
import { FilterSchema } from '../subscriptions/subscriptions.ts'
import { listen } from '../subscriptions/listen.ts'
import type { Surface } from '../surface.ts'
import { cancelTask, getTask, updateTask } from '../tasks/task.ts'
import { callTool, ToolCallSchema } from '../tools/call-tool.ts'
import { listTools } from '../tools/list-tools.ts'
import type { Call } from './call.ts'
import { discover, initialize } from './describe-server.ts'

/** Answers a request with a result. @throws RpcError, and the errors of the service */
export type Method = (surface: Surface, call: Call, params: unknown) => Awaitable<object>

const text = Type.String()
const PageSchema = Type.Object({ cursor: Type.Optional(text) })
const anything = Type.Unknown()
const TaskSchema = Type.Object({ taskId: text })

const shared = {
  'tools/list': method(PageSchema, async (surface, { principal }) => ({
    tools: await listTools(surface, principal)
  })),
  'tools/call': method(ToolCallSchema, callTool),
  'resources/list': method(PageSchema, (surface, { principal }, { cursor }) =>
    listResources(surface, principal, cursor)
  ),
  'resources/templates/list': method(PageSchema, () => ({ resourceTemplates: RESOURCE_TEMPLATES })),
  'resources/read': method(Type.Object({ uri: text }), (surface, call, { uri }) =>
    readResource(surface, call, uri)
  ),
  'prompts/list': method(PageSchema, async (surface, { principal }) => ({
    prompts: await listPrompts(surface, principal)
  })),
  'prompts/get': method(
    Type.Object({ name: text, arguments: Type.Optional(Type.Record(text, text)) }),
    (surface, { principal }, { name, arguments: args }) => getPrompt(surface, principal, name, args)
  )
}

const MODERN: ReadonlyMap<string, Method> = new Map(
  Object.entries({
    ...shared,
    'server/discover': method(anything, ({ settings }) => discover(settings)),
    'subscriptions/listen': method(Type.Object({ notifications: FilterSchema }), listen),
    'tasks/get': method(TaskSchema, getTask),
    'tasks/update': method(
      Type.Object({ taskId: text, inputResponses: Type.Optional(Type.Record(text, anything)) }),
      updateTask
    ),
    'tasks/cancel': method(TaskSchema, cancelTask)
  })
)

const LEGACY: ReadonlyMap<string, Method> = new Map(
  Object.entries({
    ...shared,
    initialize: method(Type.Object({ protocolVersion: text }), ({ settings }, _call, { protocolVersion }) =>
      initialize(settings, protocolVersion)
    ),
    ping: method(anything, () => ({}))
  })
)

/** The method of a revision with this name. @throws RpcError, with 404 where the revision has it so */
export function requireMethod(name: string, isModern: boolean): Method {
  const found = (isModern ? MODERN : LEGACY).get(name)
  if (found === undefined) throw methodNotFound(isModern ? 404 : 200)
  return found
}

function method<T extends TSchema>(
  schema: T,
  answer: (surface: Surface, call: Call, params: Static<T>) => Awaitable<object>
): Method {
  const check = checkParams(schema)
  return (surface, call, params) => answer(surface, call, check(params ?? {}))
}
