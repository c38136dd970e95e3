import type { EmbeddingModelV4 } from '@ai-sdk/provider'
import { toModelFault } from '../models/model-fault.ts'
import { nameOfProvider } from '../models/model.ts'
import { shorten } from './memory.ts'

/** The used part of an AI SDK embedding model; specifications V2, V3 and V4 fit. */
export interface EmbeddingModel {
  readonly provider?: string
  readonly modelId: string
  readonly maxEmbeddingsPerCall: EmbeddingModelV4['maxEmbeddingsPerCall']
  doEmbed(options: {
    values: string[]
    abortSignal?: AbortSignal
  }): PromiseLike<{ embeddings: readonly (readonly number[])[] }>
}

/** Embeds each text. @throws RUN_ERR_MODEL_… if the model fails, or an error if it returns too few embeddings */
export async function embed(
  model: EmbeddingModel,
  texts: readonly string[],
  abortSignal: AbortSignal
): Promise<(readonly number[])[]> {
  const batchSize = (await model.maxEmbeddingsPerCall) ?? Infinity
  const embedded: (readonly number[])[] = []
  while (embedded.length < texts.length) {
    const values = texts.slice(embedded.length, embedded.length + Math.max(1, batchSize))
    const { embeddings } = await ask(model, values, abortSignal)
    if (embeddings.length !== values.length) throw new Error('the model did not embed every text')
    embedded.push(...embeddings)
  }
  return embedded
}

async function ask(model: EmbeddingModel, values: string[], abortSignal: AbortSignal) {
  try {
    return await model.doEmbed({ values, abortSignal })
  } catch (err) {
    abortSignal.throwIfAborted()
    // The provider's own message may contain a key.
    throw toModelFault(err).error
  }
}

/** Characters of a text that is embedded: an item embedded again is read as far as the first time. */
export const MAX_EMBEDDED = 4_000
const MAX_NAME = 200

/** The name under which stores keep an embedding; only those of one name can be compared. */
export function nameOfEmbedding(
  { provider = 'unknown', modelId }: EmbeddingModel,
  { length }: readonly number[]
): string {
  const dimensions = `:${length}`
  const name = `${nameOfProvider(provider)}/${modelId}`
  return `${shorten(name, MAX_NAME - dimensions.length)}${dimensions}`
}
