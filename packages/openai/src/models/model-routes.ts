import { Type, type Static } from '@sinclair/typebox'
import { jsonReply, mayRun, readRunnableId, toRunnableId } from '@svc/surface'
import type { Principal } from '@svc/contract'
import type { FastifyInstance } from 'fastify'
import { OPENAI_ERR_UNKNOWN_MODEL } from '../errors.ts'
import type { Surface } from '../surface.ts'
import { ErrorBodySchema } from '../wire/error-body.ts'

const ModelSchema = Type.Object(
  { id: Type.String(), object: Type.Literal('model'), created: Type.Integer(), owned_by: Type.String() },
  { title: 'Model' }
)
type Model = Static<typeof ModelSchema>
const ModelsSchema = Type.Object(
  { object: Type.Literal('list'), data: Type.Array(ModelSchema) },
  { title: 'Models' }
)
const failures = { '4xx': jsonReply('Refused', ErrorBodySchema), '5xx': jsonReply('Failed', ErrorBodySchema) }

/** The exposed runnables that the caller may run, as models. */
export function modelRoutes(scope: FastifyInstance, surface: Surface): void {
  const list = {
    operationId: 'listModels',
    tags: ['Models'],
    summary: 'What the caller can ask',
    response: { 200: jsonReply('The models', ModelsSchema), ...failures }
  }
  scope.get('/models', { schema: list, exposeHeadRoute: false }, ({ caller }) => listModels(surface, caller))

  const get = {
    operationId: 'getModel',
    tags: ['Models'],
    summary: 'A model',
    params: Type.Object({
      '*': Type.String({
        title: 'model',
        description: 'As in the list: names of teams and workflows have a slash'
      })
    }),
    response: { 200: jsonReply('The model', ModelSchema), ...failures }
  }
  // The names of teams have a slash.
  scope.get<{ Params: { '*': string } }>(
    '/models/*',
    { schema: get, exposeHeadRoute: false },
    ({ params, caller }) => findModel(surface, params['*'], caller)
  )
}

async function listModels(surface: Surface, caller: Principal): Promise<Static<typeof ModelsSchema>> {
  const data: Model[] = []
  for (const { kind, name } of surface.exposed.list())
    if (await mayRun(surface, caller, { kind, name })) data.push(toObject(toRunnableId(kind, name)))
  return { object: 'list', data }
}

/** @throws OPENAI_ERR_UNKNOWN_MODEL */
async function findModel(surface: Surface, model: string, caller: Principal): Promise<Model> {
  const { kind, name } = readRunnableId(model)
  const isExposed = (await surface.exposed.find(kind, name)) !== undefined
  if (!isExposed || !(await mayRun(surface, caller, { kind, name })))
    throw new OPENAI_ERR_UNKNOWN_MODEL(model)
  return toObject(toRunnableId(kind, name))
}

function toObject(id: string): Model {
  return { id, object: 'model', created: 0, owned_by: 'service' }
}
