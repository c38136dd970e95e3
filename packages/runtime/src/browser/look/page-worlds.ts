import type { CDPSession, Frame, Page } from 'playwright-core'

// Scripts in this world see the DOM, but neither are seen by those of the page nor meet what these redefine. Playwright
// takes its snapshots in it.
const WORLD = '__playwright_utility_world'

/** The isolated world of a frame. */
export interface World {
  readonly session: CDPSession
  readonly contextId: number
  /** The world of the page's own scripts. */
  readonly mainContextId: number
  readonly frameId: string
}

/** The isolated worlds of the frames of a page. */
export interface Worlds {
  readonly list: readonly World[]
  close(): Promise<void>
}

/** Finds the worlds in which Playwright takes the snapshots of a page, over a connection of its own. */
export async function openWorlds(page: Page): Promise<Worlds> {
  const targets = [page, ...page.frames().filter((frame) => frame !== page.mainFrame())]
  const found = await Promise.all(targets.map((target) => openTarget(page, target)))
  const open = found.filter((target) => target !== undefined)
  return {
    list: open.flatMap(({ session, contexts }) => contexts.map((context) => ({ session, ...context }))),
    close: async () => {
      await Promise.all(open.map(({ session }) => session.detach().catch(() => {})))
    }
  }
}

async function openTarget(page: Page, target: Page | Frame) {
  const session = await page
    .context()
    .newCDPSession(target)
    .catch((error: unknown) => {
      // Only frames of other sites have a connection of their own.
      if (target === page) throw error
      return undefined
    })
  if (session === undefined) return undefined
  const isolated = new Map<string, number>()
  const main = new Map<string, number>()
  session.on('Runtime.executionContextCreated', ({ context: { id, name, auxData } }) => {
    const { frameId, isDefault } = auxData as unknown as { frameId: string; isDefault: boolean }
    if (isDefault) main.set(frameId, id)
    else if (name.startsWith(WORLD)) isolated.set(frameId, id)
  })
  await session.send('Runtime.enable')
  const contexts = [...isolated].flatMap(([frameId, contextId]) => {
    const mainContextId = main.get(frameId)
    return mainContextId === undefined ? [] : [{ contextId, mainContextId, frameId }]
  })
  return { session, contexts }
}

/** Evaluates an expression in a world; its value must be JSON. */
export async function evaluateIn<T>({ session, contextId }: World, expression: string): Promise<T> {
  const answer = await session.send('Runtime.evaluate', { contextId, expression, returnByValue: true })
  const { exceptionDetails, result } = answer
  if (exceptionDetails !== undefined) {
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
  }
  return result.value as T
}
