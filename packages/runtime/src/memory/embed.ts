import type { EmbeddingModelV4 } from '@ai-sdk/provider'
import { toModelFault } from '../models/model-fault.ts'

/** The part of an AI SDK embedding model that is used; those of the specifications V2, V3 and V4 fit. */
export interface EmbeddingModel {
  readonly modelId: string
  readonly maxEmbeddingsPerCall: EmbeddingModelV4['maxEmbeddingsPerCall']
  doEmbed(options: {
    values: string[]
    abortSignal?: AbortSignal
  }): PromiseLike<{ embeddings: readonly (readonly number[])[] }>
}

/** The embedding of each text. @throws what the model throws as RUN_ERR_MODEL_…, or when it does not give one for each */
export async function embed(
  model: EmbeddingModel,
  texts: readonly string[],
  abortSignal: AbortSignal
): Promise<(readonly number[])[]> {
  const most = (await model.maxEmbeddingsPerCall) ?? Infinity
  const found: (readonly number[])[] = []
  while (found.length < texts.length) {
    const values = texts.slice(found.length, found.length + Math.max(1, most))
    const { embeddings } = await ask(model, values, abortSignal)
    if (embeddings.length !== values.length) throw new Error('the model did not embed every text')
    found.push(...embeddings)
  }
  return found
}

async function ask(model: EmbeddingModel, values: string[], abortSignal: AbortSignal) {
  try {
    return await model.doEmbed({ values, abortSignal })
  } catch (err) {
    abortSignal.throwIfAborted()
    // A provider's own text may hold a key.
    throw toModelFault(err).error
  }
}
