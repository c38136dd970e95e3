import type { TSchema } from '@sinclair/typebox'
import {
  defined,
  findFaults,
  formatFaults,
  requireKind,
  requireName,
  RunnableCardSchema,
  type ReplyKind,
  type RunContext,
  type RunInput,
  type Runnable,
  type RunnableCard,
  type RunnableDefinition,
  type RunnableKind,
  type RunnableMetadata,
  type RunOutput,
  type RunResult,
  type VoiceRunnable,
  type WhenBusy,
  type YieldedPart
} from '@svc/contract'
import { REG_ERR_BAD_RUNNABLE, RUN_ERR_BAD_RESULT } from '@svc/contract/errors'
import { createContext } from '../engine/context.ts'
import { collectStream } from './collect-stream.ts'

// One per process, even if several copies of the package are installed.
const ORIGINS = Symbol.for('@svc/registry/origins')
const holder = globalThis as { [ORIGINS]?: WeakMap<object, object> }
const origins = (holder[ORIGINS] ??= new WeakMap<object, object>())

/** Records that a runnable was made from another, or from a definition; `originOf` returns the same for both. */
export function withOrigin<R extends object>(made: R, from: object): R {
  origins.set(made, originOf(from))
  return made
}

/** The app's own object that a runnable was made from: a definition, or the runnable itself. */
export function originOf(runnable: object): object {
  return origins.get(runnable) ?? runnable
}

/** True if two runnables were made from the same runnable or definition of the app. */
export function isSame(one: Runnable, other: Runnable): boolean {
  return originOf(one) === originOf(other)
}

const NO_OBJECT =
  'it is not an object; expected an agent, a team, a workflow, or an object with `kind`, `name`, and `run` or `stream`'

/**
 * Creates a runnable from a plain object with `kind`, `name`, and `run` or `stream`. A complete runnable is returned unchanged,
 * unless its `kind` or `name` is writable: then it is wrapped.
 * @throws REG_ERR_BAD_KIND, REG_ERR_BAD_NAME, REG_ERR_BAD_RUNNABLE
 */
export function defineRunnable(definition: RunnableDefinition | Runnable): Runnable {
  if (typeof definition !== 'object' || definition === null) throw new REG_ERR_BAD_RUNNABLE(NO_OBJECT)
  requireKind(definition.kind)
  requireName(definition.name)
  for (const method of ['run', 'stream', 'describe'] as const) {
    if (definition[method] !== undefined && typeof definition[method] !== 'function')
      throw new REG_ERR_BAD_RUNNABLE(`"${definition.name}" has a ${method} that is not a function`)
  }
  if (!definition.run && !definition.stream)
    throw new REG_ERR_BAD_RUNNABLE(`"${definition.name}" has neither run nor stream`)
  requireCard(definition)
  const isFixed = isReadOnly(definition, 'kind') && isReadOnly(definition, 'name')
  return isFixed && isComplete(definition) ? definition : wrap(definition)
}

function requireCard({ name, card }: RunnableDefinition | Runnable): void {
  if (card === undefined) return
  const faults = findFaults(RunnableCardSchema, card, { root: 'card', unknown: 'no such field' })
  if (faults.length > 0) throw new REG_ERR_BAD_RUNNABLE(`"${name}" has a bad card: ${formatFaults(faults)}`)
}

/** Wraps a runnable under another name. */
export function renameRunnable(runnable: Runnable, name: string): Runnable {
  return wrap(runnable, name)
}

function wrap(definition: RunnableDefinition | Runnable, name?: string): Runnable {
  const wrapped = new DefinedRunnable(definition, name)
  const { converse } = definition as Partial<VoiceRunnable>
  if (typeof converse === 'function')
    Object.assign(wrapped, { converse: converse.bind(definition) } satisfies Partial<VoiceRunnable>)
  return withOrigin(wrapped, definition)
}

// `kind` and `name` are read-only, since registries and stores identify the runnable by them.
class DefinedRunnable implements Runnable {
  declare readonly kind: RunnableKind
  declare readonly name: string
  readonly #definition: RunnableDefinition | Runnable

  constructor(definition: RunnableDefinition | Runnable, name = definition.name) {
    this.#definition = definition
    Object.defineProperties(this, {
      kind: { value: definition.kind, enumerable: true },
      name: { value: name, enumerable: true }
    })
  }

  get description(): string | undefined {
    return this.#definition.description
  }

  get inputSchema(): TSchema | undefined {
    return this.#definition.inputSchema
  }

  get resumable(): boolean | undefined {
    return this.#definition.resumable
  }

  get takesTurns(): boolean | undefined {
    return this.#definition.takesTurns
  }

  get whenBusy(): WhenBusy | undefined {
    return this.#definition.whenBusy
  }

  get steerable(): boolean | undefined {
    return this.#definition.steerable
  }

  get compacts(): boolean | undefined {
    return this.#definition.compacts
  }

  get queue(): boolean | undefined {
    return this.#definition.queue
  }

  get reply(): ReplyKind | undefined {
    return this.#definition.reply
  }

  get toolNames(): readonly string[] | undefined {
    return this.#definition.toolNames
  }

  get toolsVary(): boolean | undefined {
    return this.#definition.toolsVary
  }

  get card(): RunnableCard | undefined {
    return this.#definition.card
  }

  stream(input: RunInput, context: RunContext): AsyncIterable<YieldedPart> {
    const definition = this.#definition
    return definition.stream ? definition.stream(input, context) : streamOfRun(definition, input, context)
  }

  run(input: RunInput, context: RunContext = createContext()): Promise<RunResult> {
    const definition = this.#definition
    if (isComplete(definition)) return definition.run(input, context)
    return collectStream(this, this.stream(input, context), context)
  }

  describe(): RunnableMetadata {
    const { kind, name, description, inputSchema } = this
    if (isComplete(this.#definition)) return { ...this.#definition.describe(), kind, name }
    const known = { kind, name, ...defined({ description, input: inputSchema }) }
    return { ...known, ...this.#definition.describe?.(), kind, name }
  }
}

function isComplete(definition: RunnableDefinition | Runnable): definition is Runnable {
  const { run, stream, describe } = definition
  return run !== undefined && stream !== undefined && describe !== undefined
}

function isReadOnly(object: object, name: string): boolean {
  for (let owner: object | null = object; owner !== null; owner = Reflect.getPrototypeOf(owner)) {
    const property = Reflect.getOwnPropertyDescriptor(owner, name)
    if (property !== undefined) return property.writable !== true && property.set === undefined
  }
  return false
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
  throw new RUN_ERR_BAD_RESULT(name)
}

/** Runnables as a list, or by the name under which they are exposed. */
export type NamedRunnables =
  | readonly (Runnable | RunnableDefinition)[]
  | Readonly<Record<string, Runnable | RunnableDefinition>>

/**
 * Converts a list or a map to runnables, in its order. The key of a map replaces the runnable's own name.
 * @throws REG_ERR_BAD_KIND, REG_ERR_BAD_NAME, REG_ERR_BAD_RUNNABLE
 */
export function toRunnables(given: NamedRunnables): Runnable[] {
  if (isList(given)) return given.map(defineRunnable)
  return namedEntries(given).map(([name, definition]) => {
    const runnable = defineRunnable(definition)
    return name === runnable.name ? runnable : renameRunnable(runnable, name)
  })
}

/**
 * The entries of a map whose keys are names of runnables; it must be a plain object, so that no inherited entry is overlooked.
 * @throws REG_ERR_BAD_NAME, REG_ERR_BAD_RUNNABLE
 */
export function namedEntries<T>(given: Readonly<Record<string, T>>): [name: string, value: T][] {
  const prototype: unknown = Object.getPrototypeOf(given)
  // The prototype of a plain object, of any realm, has no prototype itself.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    throw new REG_ERR_BAD_RUNNABLE('expected a list, or a plain object whose own keys are the names')
  const entries = Object.entries(given)
  for (const [name] of entries) requireName(name)
  return entries
}

function isList(given: NamedRunnables): given is readonly (Runnable | RunnableDefinition)[] {
  return Array.isArray(given)
}
