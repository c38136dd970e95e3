import { InputAnswerSchema } from '@svc/contract'
import { toPendingInput } from '@svc/surface'
import { describeOperation } from '../openapi/describe-operation.ts'
import { errorReplies, jsonReply } from '../openapi/describe-replies.ts'
import { InputListSchema, InputQuerySchema, InputSchema } from '../schemas/input-list.ts'
import { InputParamsSchema } from '../schemas/parameters.ts'
import type { HttpScope, Surface } from '../surface.ts'
import {
  AnsweredRunSchema,
  answerInput,
  sendInput,
  sendInputPage,
  type ListedInputs
} from './listed-inputs.ts'

const config = { access: 'authenticated' } as const
const list = {
  ...describeOperation('list-inputs', 'Questions and client tools that wait for the caller'),
  querystring: InputQuerySchema,
  response: { 200: jsonReply('One page of inputs', InputListSchema), ...errorReplies(400, 500, 503) }
}
const look = {
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

  scope.get('/inputs/:inputId', { schema: look, config }, ({ params, principal }, reply) =>
    sendInput(surface, reply, inputs, principal, params.inputId)
  )

  scope.post('/inputs/:inputId', { schema: answer, config }, ({ params, body, principal }, reply) =>
    answerInput(surface, reply, inputs, principal, { inputId: params.inputId, answer: body })
  )
}
