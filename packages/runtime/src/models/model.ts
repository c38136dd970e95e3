import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Awaitable, RunContext } from '@svc/contract'
import { RUN_ERR_BAD_MODEL } from '../errors.ts'
import { hasMethods } from '../checks/option-errors.ts'
import { liftModel, type Model } from './lift-model.ts'

export type { Model } from './lift-model.ts'

/** The argument of a model function. */
export interface ModelRequest {
  /** The caller's own key for `provider`, in clear text, if the request has one; pass it to the provider only. */
  readonly apiKey: string | undefined
  /** The agent's `provider` option. */
  readonly provider: string | undefined
  readonly context: RunContext
}

/** Returns the model of one run, e.g. with the caller's own key. */
export type ModelFunction = (request: ModelRequest) => Awaitable<Model>

/** Resolves the model of a run. */
export type ResolveModel = (context: RunContext) => Awaitable<LanguageModelV4>

/**
 * Prepares the `model` option for the runs of an agent.
 * @throws RUN_ERR_BAD_MODEL for anything but a model or a function, such as the id of a gateway's model
 */
export function resolveModel(model: Model | ModelFunction, provider?: string): ResolveModel {
  if (typeof model === 'function') refuseProvider(model)
  return resolveChoice(model, provider, prepareModel)
}

/** Resolves a model of any kind, or the function that returns it; `prepare` checks it. */
export function resolveChoice<Chosen extends object, Prepared>(
  choice: Chosen | ((request: ModelRequest) => Awaitable<Chosen>),
  provider: string | undefined,
  prepare: (chosen: Chosen) => Prepared
): (context: RunContext) => Awaitable<Prepared> {
  if (typeof choice !== 'function') {
    const prepared = prepare(choice)
    return () => prepared
  }
  return async (context) => {
    const apiKey = context.apiKey(provider)?.reveal()
    return prepare(await choice({ apiKey, provider, context }))
  }
}

/** The name by which a provider is known, such as `openai` for `openai.transcription`. */
export function nameOfProvider(provider: string): string {
  const [name = ''] = provider.split('.')
  return name
}

/** Converts a model to the current specification. @throws RUN_ERR_BAD_MODEL */
export function prepareModel(model: Model): LanguageModelV4 {
  return liftModel(requireModel(model))
}

const EXPECTED = 'pass the model itself, e.g. openai("gpt-5-mini") of @ai-sdk/openai'

function requireModel(model: unknown): Model {
  if (model === undefined || model === null) throw new RUN_ERR_BAD_MODEL(`none was given; ${EXPECTED}`)
  if (typeof model === 'string') throw new RUN_ERR_BAD_MODEL(`a string; ${EXPECTED}`)
  const { specificationVersion: version, doStream } = model as Partial<Model>
  if (typeof doStream !== 'function') {
    refuseProvider(model)
    throw new RUN_ERR_BAD_MODEL(`it has no doStream; ${EXPECTED}`)
  }
  if (version !== 'v4' && version !== 'v3' && version !== 'v2') {
    throw new RUN_ERR_BAD_MODEL(`specification version ${String(version)}; v2, v3 and v4 are known`)
  }
  return model as Model
}

// Providers of the AI SDK are functions with methods, all of which create models.
function refuseProvider(model: unknown): void {
  if (hasMethods(model, ['languageModel']) && !hasMethods(model, ['doStream']))
    throw new RUN_ERR_BAD_MODEL(`the provider itself; ${EXPECTED}`)
}
