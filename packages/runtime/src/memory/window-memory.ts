import { requireMemoryOptions, takeWithin, toTurnText, type Memory, type MemoryContext } from './memory.ts'

/** Options of a window memory. */
export interface WindowMemoryOptions {
  /** Number of turns kept per owner; default 10. */
  turns?: number
  /** Maximum length of the text for the prompt; default 4,000. */
  maxCharacters?: number
}

/**
 * Remembers the last turns of an owner with this agent across sessions; leaves out the current session, whose turns are in its
 * history.
 * @throws RUN_ERR_BAD_AGENT
 */
export function windowMemory(options: WindowMemoryOptions = {}): Memory {
  requireMemoryOptions('windowMemory', options)
  const { turns = 10, maxCharacters = 4_000 } = options

  return {
    async retrieve(context) {
      const newest = await context.items.list(context.owner, spaceOf(context), turns)
      const others = newest.filter(({ metadata }) => metadata?.['sessionId'] !== context.sessionId)
      const texts = takeWithin(
        others.map(({ text }) => text),
        maxCharacters
      )
      if (texts.length === 0) return undefined
      return `The last turns of earlier conversations with this user:\n${texts.toReversed().join('\n')}`
    },
    async store(context, turn) {
      const { owner, items, runId, sessionId } = context
      const namespace = spaceOf(context)
      await items.put({
        id: runId,
        owner,
        namespace,
        text: toTurnText(turn),
        metadata: { runId, sessionId },
        createdAt: Date.now()
      })
      // Two concurrent writes may leave one turn too many; the next write removes it.
      for (const { id } of (await items.list(owner, namespace, turns * 2)).slice(turns))
        await items.remove(owner, namespace, id)
      return [runId]
    }
  }
}

const spaceOf = ({ namespace }: MemoryContext) => `${namespace}/window`
