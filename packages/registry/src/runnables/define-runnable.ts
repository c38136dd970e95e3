import type { RunInput } from '../contract/content-part.ts'
import { requireKind, requireName } from '../contract/names.ts'
import type { YieldedPart } from '../contract/part.ts'
import type { RunContext } from '../contract/run-context.ts'
import type { RunResult } from '../contract/run-result.ts'
import type { Runnable, RunnableDefinition, RunOutput } from '../contract/runnable.ts'
import { REG_ERR_BAD_RUNNABLE } from '../errors.ts'
import { createContext } from '../runs/create-context.ts'
import { collectStream } from './collect-stream.ts'
import { withOrigin } from './origin-of.ts'

const NO_OBJECT =
  'it is no object; expected an agent, a team, a workflow, or an object with `kind`, `name`, and `run` or `stream`'

/**
 * Makes a runnable from a plain object with `kind`, `name` and one of `run` and `stream`; a complete runnable is given
 * back as it is.
 * @throws REG_ERR_BAD_KIND, REG_ERR_BAD_NAME, REG_ERR_BAD_RUNNABLE
 */
export function defineRunnable(definition: RunnableDefinition | Runnable): Runnable {
  if (typeof definition !== 'object' || definition === null) throw new REG_ERR_BAD_RUNNABLE(NO_OBJECT)
  requireKind(definition.kind)
  requireName(definition.name)
  for (const method of ['run', 'stream', 'describe'] as const) {
    if (definition[method] !== undefined && typeof definition[method] !== 'function')
      throw new REG_ERR_BAD_RUNNABLE(`"${definition.name}" has a ${method} that is no function`)
  }
  const { run, stream, describe } = definition
  if (!run && !stream) throw new REG_ERR_BAD_RUNNABLE(`"${definition.name}" has neither run nor stream`)
  if (run && stream && describe) return definition as Runnable
  return withOrigin(new DefinedRunnable(definition), definition)
}

class DefinedRunnable implements Runnable {
  readonly kind
  readonly name
  readonly description
  readonly inputSchema
  readonly resumable
  readonly #definition: RunnableDefinition

  constructor(definition: RunnableDefinition) {
    this.kind = definition.kind
    this.name = definition.name
    this.description = definition.description
    this.inputSchema = definition.inputSchema
    this.resumable = definition.resumable
    this.#definition = definition
  }

  stream(input: RunInput, context: RunContext): AsyncIterable<YieldedPart> {
    const definition = this.#definition
    return definition.stream ? definition.stream(input, context) : streamOfRun(definition, input, context)
  }

  run(input: RunInput, context: RunContext = createContext()): Promise<RunResult> {
    return collectStream(this, this.stream(input, context), context)
  }

  describe() {
    const { kind, name, description, inputSchema } = this
    const known = {
      kind,
      name,
      ...(description !== undefined && { description }),
      ...(inputSchema !== undefined && { input: inputSchema })
    }
    return { ...known, ...this.#definition.describe?.(), kind, name }
  }
}

async function* streamOfRun(
  definition: RunnableDefinition,
  input: RunInput,
  context: RunContext
): AsyncGenerator<YieldedPart> {
  const output = await definition.run!(input, context)
  const { text, structured, usage, finishReason } = toResult(definition.name, output)
  if (text !== '') yield { type: 'text', text }
  if (structured !== undefined && structured !== null) yield { type: 'structured', value: structured }
  yield { type: 'finish', finishReason: finishReason ?? 'stop', ...(usage && { usage }) }
}

function toResult(name: string, output: RunOutput | RunResult): { text: string } & Partial<RunResult> {
  if (typeof output === 'string') return { text: output }
  if (typeof output?.text === 'string') return output
  throw new REG_ERR_BAD_RUNNABLE(`the run of "${name}" returned neither a string nor { text }`)
}
