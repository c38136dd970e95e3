import { toLoggable } from '@svc/contract'
import { isComparable } from '@svc/contract/stores'
import { unlessAborted } from '../guards/guard.ts'
import { embed, MAX_EMBEDDED, type EmbeddingModel } from './embedding-model.ts'
import { shorten, type MemoryContext } from './memory.ts'

const MAX_RENEWED = 100
// Items that are looked for, to report how many are left.
const MAX_COUNTED = 1_000
const MAX_WARNED = 1_000

/** Embeds the items of a memory again after its embedding model was changed, some of them at a time. */
export class EmbeddingRenewal {
  readonly #model: EmbeddingModel
  /** Owners with their namespaces. */
  readonly #underWay = new Set<string>()
  /** Namespaces. */
  readonly #warned = new Set<string>()

  constructor(model: EmbeddingModel) {
    this.#model = model
  }

  /**
   * Embeds up to 100 items of the context's owner whose embeddings are of another model, oldest first; never rejects.
   * @param name of the embeddings that the model makes now
   */
  async renew(context: MemoryContext, name: string): Promise<void> {
    const { owner, namespace, runId, signal, log } = context
    const space = JSON.stringify([owner, namespace])
    if (this.#underWay.has(space)) return
    this.#underWay.add(space)
    try {
      await unlessAborted(signal, () => this.#renew(context, name))
    } catch (err) {
      log.warn({ err: toLoggable(err), runId }, 'memories could not be embedded again')
    } finally {
      this.#underWay.delete(space)
    }
  }

  async #renew(context: MemoryContext, name: string): Promise<void> {
    const { owner, namespace, sessionId, items, signal, events } = context
    const found = (await items.unembedded?.(owner, namespace, name, MAX_COUNTED)) ?? []
    if (found.length === 0) return
    this.#warn(context)
    const renewed = found.slice(0, MAX_RENEWED)
    const texts = renewed.map(({ text }) => shorten(text, MAX_EMBEDDED))
    const embeddings = await embed(this.#model, texts, signal)
    const isUsable = (embedding: readonly number[]) =>
      name.endsWith(`:${embedding.length}`) && isComparable(embedding)
    if (!embeddings.some(isUsable)) throw new Error('the model returned no embeddings that can be compared')
    let count = 0
    for (const [index, { id, text }] of renewed.entries()) {
      const made = embeddings[index]!
      // Stored as none where the model fails for a text: it is not tried again with each turn.
      const embedding = isUsable(made) ? made : []
      if (await items.embed?.({ id, owner, namespace, text, embedding, model: name })) count++
    }
    events.emit('memory.reembedded', () => ({ sessionId, count, left: found.length - renewed.length }))
  }

  #warn({ namespace, runId, log }: MemoryContext): void {
    if (this.#warned.has(namespace) || this.#warned.size === MAX_WARNED) return
    this.#warned.add(namespace)
    log.warn(
      { runId, namespace },
      'memories without an embedding of the current model are found by words only, until they are embedded again'
    )
  }
}
