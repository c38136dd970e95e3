import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { playParts } from './play-parts.ts'
import { toTurns, type Script } from './script.ts'
import { toStreamParts } from './stream-parts.ts'

/** Options of a scripted model. */
export interface ScriptedModelOptions {
  provider?: string
  modelId?: string
  /** Records `calls`; default true. */
  record?: boolean
  /** Supported URLs by media type; default: all http and https URLs. */
  supportedUrls?: Record<string, RegExp[]>
}

/** A model that follows a script. */
export interface ScriptedModel extends LanguageModelV4 {
  /** The options of its calls so far. */
  readonly calls: LanguageModelV4CallOptions[]
}

const ALL_URLS = { '*/*': [/^https?:\/\//] }

/** Creates a model that follows a script: for tests, examples and benchmarks. */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  const { provider = 'scripted', modelId = 'scripted', record = true, supportedUrls = ALL_URLS } = options
  const calls: LanguageModelV4CallOptions[] = []
  const turnAt = toTurns(script)
  let index = 0
  return {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls,
    calls,
    doGenerate: () => Promise.reject(new Error('a scripted model only streams')),
    async doStream(call) {
      if (record) calls.push(call)
      const turn = turnAt(call, index++)
      if (turn.hangs === 'call') return new Promise<never>(() => {})
      if ('rejects' in turn) throw turn.rejects
      return { stream: playParts(toStreamParts(turn), turn, call.abortSignal) }
    }
  }
}
