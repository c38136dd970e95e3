import { Type } from '@sinclair/typebox'
import { InputAnswerSchema, PendingInputSchema } from '@svc/contract'
import { toPendingInput } from '@svc/surface'
import { describeOperation, errorReplies, jsonReply } from '../openapi/describe-operation.ts'
import {
  AnsweredRunSchema,
  answerInput,
  sendInput,
  sendInputPage,
  type ListedInputs
} from './listed-inputs.ts'
import { InputParamsSchema, nextCursor, pageQuery } from '../schemas/parameters.ts'
import type { HttpScope, Surface } from '../surface.ts'

/** Selects one page of pending questions and client tools. */
const InputQuerySchema = Type.Object(
  {
    runId: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'Only the inputs of this run' })
    ),
    ...pageQuery
  },
  { title: 'InputQuery', additionalProperties: false }
)

/** A pending question or client tool that the caller may answer. */
const InputSchema = Type.Object(
  {
    ...PendingInputSchema.properties,
    href: Type.String({ description: 'The URL of the input with all its arguments' })
  },
  { title: 'Input' }
)

/** One page of pending questions and client tools. */
const InputListSchema = Type.Object({ inputs: Type.Array(InputSchema), nextCursor }, { title: 'InputList' })

const config = { access: 'authenticated' } as const
const list = {
  ...describeOperation('list-inputs', 'Questions and client tools that wait for the caller'),
  querystring: InputQuerySchema,
  response: { 200: jsonReply('One page of inputs', InputListSchema), ...errorReplies(400, 500, 503) }
}
const get = {
  ...describeOperation('get-input', 'One pending question or client tool, with all its arguments'),
  params: InputParamsSchema,
  response: { 200: jsonReply('The input', InputSchema), ...errorReplies(400, 404, 409, 414, 500, 503) }
}
const answer = {
  ...describeOperation(
    'answer-input',
    'Answer a question, or give the result of a client tool',
    'The content of an answer to a question must fit its `schema`; otherwise the reply is 400, and the run keeps waiting. The first answer counts.'
  ),
  params: InputParamsSchema,
  body: InputAnswerSchema,
  response: {
    200: jsonReply('The run, which continues', AnsweredRunSchema),
    ...errorReplies(400, 404, 409, 413, 414, 415, 500, 503)
  }
}

/** `/inputs`: list the pending questions and client tools that the caller may answer, read one, answer it. */
export function inputsRoutes(scope: HttpScope, surface: Surface): void {
  const inputs: ListedInputs = {
    list: 'inputs',
    toItem: ({ run, input }, base) => ({
      ...toPendingInput(run.runId, input),
      href: `${base}/inputs/${input.inputId}`
    })
  }

  scope.get('/inputs', { schema: list, config }, ({ principal, query }, reply) =>
    sendInputPage(surface, reply, inputs, principal, query)
  )

  scope.get('/inputs/:inputId', { schema: get, config }, ({ params, principal }, reply) =>
    sendInput(surface, reply, inputs, principal, params.inputId)
  )

  scope.post('/inputs/:inputId', { schema: answer, config }, ({ params, body, principal }, reply) =>
    answerInput(surface, reply, inputs, principal, { inputId: params.inputId, answer: body })
  )
}
