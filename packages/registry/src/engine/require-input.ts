import type { TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import {
  AcceptedMessageSchema,
  faultsOfIssues,
  findFaults,
  formatFaults,
  isBlank,
  isPromise,
  isTellable,
  MessageInputSchema,
  RUN_ERR_BAD_INPUT,
  RUN_ERR_BAD_SCHEMA,
  validateStandard,
  type Awaitable,
  type Fault,
  type Runnable,
  type StandardResult,
  type StandardSchema
} from '@svc/contract'
import { faultsOfMessage } from './faults-of-message.ts'

const checks = new WeakMap<TSchema, TypeCheck<TSchema>>()
const MAX_FAULTS = 20

/** Makes sure that an input is what the runnable takes: a message, or what its own schema says. @throws RUN_ERR_BAD_INPUT, RUN_ERR_BAD_SCHEMA */
export function requireInput(runnable: Pick<Runnable, 'inputSchema'>, input: unknown): void {
  const { inputSchema: schema = MessageInputSchema } = runnable
  const takesMessage = schema === MessageInputSchema
  if (takesMessage && typeof input === 'string' && !isBlank(input)) return
  const faults = takesMessage
    ? faultsOfMessage(input, checkFor(AcceptedMessageSchema).Check(input))
    : (faultsByStandard(schema, input) ?? faultsByTypeBox(schema, input))
  if (faults.length > 0) throw badInput(faults)
}

// By a Standard Schema (standardschema.dev), where the schema is one. The runnable awaits an asynchronous one itself.
function faultsByStandard(schema: object, input: unknown): Fault[] | undefined {
  if ((schema as Partial<StandardSchema>)['~standard'] === undefined) return undefined
  const result = validate(schema as StandardSchema, input)
  return isPromise(result) ? [] : faultsOfIssues(result.issues ?? [], 'input', MAX_FAULTS)
}

function validate(schema: StandardSchema, input: unknown): Awaitable<StandardResult> {
  try {
    return validateStandard(schema, input)
  } catch (err) {
    if (isTellable(err)) throw err
    throw Object.assign(new RUN_ERR_BAD_SCHEMA('its validate threw'), { cause: err })
  }
}

function faultsByTypeBox(schema: TSchema, input: unknown): Fault[] {
  return checkFor(schema).Check(input) ? [] : findFaults(schema, input, { root: 'input', limit: MAX_FAULTS })
}

/** The error for a bad field of a start, with the faults in its `errors`. */
export function badInput(errors: Fault[]): Error {
  return Object.assign(new RUN_ERR_BAD_INPUT(formatFaults(errors)), { errors })
}

function checkFor(schema: TSchema): TypeCheck<TSchema> {
  let check = checks.get(schema)
  if (check === undefined) checks.set(schema, (check = TypeCompiler.Compile(schema)))
  return check
}
