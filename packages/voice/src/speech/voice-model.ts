import type { Awaitable, RunContext } from '@svc/contract'
import { hasMethods, resolveChoice } from '@svc/runtime/loop'
import { RUN_ERR_BAD_MODEL, type ModelRequest } from '@svc/runtime'

/** A model, or a function that returns the one of a call, e.g. with the caller's own key. */
export type ModelOfCall<M> = M | ((request: ModelRequest) => Awaitable<M>)

/** A kind of model. */
export interface ModelKind {
  /** The option. */
  readonly option: string
  /** The method of providers that makes them. */
  readonly maker: string
  /** How to make one, for errors. */
  readonly example: string
}

export const SPEECH: ModelKind = {
  option: 'speak',
  maker: 'speech',
  example: 'openai.speech("gpt-4o-mini-tts")'
}

export const TRANSCRIPTION: ModelKind = {
  option: 'listen',
  maker: 'transcription',
  example: 'openai.transcription("gpt-4o-mini-transcribe")'
}

const VERSIONS: ReadonlySet<unknown> = new Set(['v2', 'v3', 'v4'])

/**
 * Prepares the option of a transcription or speech model for the calls of an agent.
 * @param provider whose key a model function gets
 * @throws RUN_ERR_BAD_MODEL for anything but a model or a function, such as the id of a model
 */
export function resolveVoiceModel<M extends object>(
  model: ModelOfCall<M>,
  kind: ModelKind,
  provider: string | undefined
): (context: RunContext) => Awaitable<M> {
  // Providers of the AI SDK are functions with methods.
  if (hasMethods(model, [kind.maker])) throw bad(kind, 'the provider itself')
  return resolveChoice(model, provider, (chosen) => requireVoiceModel(chosen, kind))
}

function requireVoiceModel<M>(model: M, kind: ModelKind): M {
  if (model === undefined || model === null) throw bad(kind, 'none was given')
  if (typeof model === 'string') throw bad(kind, 'a string')
  if (!hasMethods(model, ['doGenerate'])) throw bad(kind, 'it has no doGenerate')
  const version = (model as { specificationVersion?: unknown }).specificationVersion
  if (VERSIONS.has(version)) return model
  throw bad(kind, `specification version ${String(version)}; v2, v3 and v4 are known`)
}

function bad({ option, example }: ModelKind, fault: string): Error {
  return new RUN_ERR_BAD_MODEL(`${option}: ${fault}; pass the model itself, e.g. ${example}`)
}
