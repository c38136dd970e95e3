import type { CDPSession, Frame, Page } from 'playwright-core'
import { RUN_ERR_BROWSER_CRASHED } from '../errors.ts'
import { sessionOf } from '../page-session.ts'

// Scripts in this world see the DOM, but neither are seen by those of the page nor meet what these redefine. Playwright
// takes its snapshots in it.
const WORLD = '__playwright_utility_world'

/** The isolated world of a frame; the same object as long as its document. */
export interface World {
  readonly session: CDPSession
  /** Unique in the browser, so that no late message reaches the context of another document. */
  readonly contextId: string
  /** The world of the page's own scripts. */
  readonly mainContextId: string
  readonly frameId: string
}

/** The isolated worlds of the frames of a page. */
export interface Worlds {
  readonly list: readonly World[]
  close(): Promise<void>
}

const known = new WeakMap<Page, Promise<Contexts>>()

/** Finds the worlds in which Playwright takes the snapshots of a page. */
export async function openWorlds(page: Page): Promise<Worlds> {
  const frames = page.frames().filter((frame) => frame !== page.mainFrame())
  const [own, ...others] = await Promise.all([
    ownContexts(page),
    ...frames.map((frame) => openFrame(page, frame))
  ])
  const remote = others.filter((contexts) => contexts !== undefined)
  return {
    list: [own, ...remote].flatMap((contexts) => contexts.worlds),
    close: async () => {
      await Promise.all(remote.map(({ session }) => session.detach().catch(() => {})))
    }
  }
}

async function ownContexts(page: Page): Promise<Contexts> {
  const contexts = await contextsOf(page)
  // A document has begun, and Playwright waits until it has its worlds.
  if (contexts.worlds.length === 0) await page.locator(':root').count()
  return contexts
}

function contextsOf(page: Page): Promise<Contexts> {
  let contexts = known.get(page)
  if (contexts === undefined) {
    contexts = connect(page)
    known.set(page, contexts)
    contexts.catch(() => known.delete(page))
    page.once('crash', () => {
      const crashed = Promise.reject(new RUN_ERR_BROWSER_CRASHED())
      crashed.catch(() => undefined)
      known.set(page, crashed)
    })
  }
  return contexts
}

async function connect(page: Page): Promise<Contexts> {
  // Only Playwright knows that a page crashed earlier; a session of one's own would wait for it without end.
  await page.locator(':root').count()
  return Contexts.of(await sessionOf(page))
}

// Only frames of other sites have a session of their own. It ends with their process, whose sites change.
async function openFrame(page: Page, frame: Frame): Promise<Contexts | undefined> {
  const session = await page
    .context()
    .newCDPSession(frame)
    .catch(() => undefined)
  return session && Contexts.of(session)
}

/** The contexts in which scripts of a process run, as it reports them. */
class Contexts {
  readonly session: CDPSession
  readonly #worlds = new Map<string, World>()
  readonly #isolated = new Map<string, string>()
  readonly #main = new Map<string, string>()

  static async of(session: CDPSession): Promise<Contexts> {
    const contexts = new Contexts(session)
    await session.send('Runtime.enable')
    return contexts
  }

  private constructor(session: CDPSession) {
    this.session = session
    session.on('Runtime.executionContextCreated', ({ context: { uniqueId, name, auxData } }) => {
      const { frameId, isDefault } = auxData as unknown as { frameId: string; isDefault: boolean }
      if (isDefault) this.#main.set(frameId, uniqueId)
      else if (name.startsWith(WORLD)) this.#isolated.set(frameId, uniqueId)
    })
    session.on('Runtime.executionContextDestroyed', ({ executionContextUniqueId: gone }) => {
      for (const ids of [this.#main, this.#isolated])
        for (const [frameId, id] of ids) if (id === gone) ids.delete(frameId)
      this.#worlds.delete(gone)
    })
    session.on('Runtime.executionContextsCleared', () => {
      for (const ids of [this.#main, this.#isolated, this.#worlds]) ids.clear()
    })
  }

  /** Those of the documents that have both contexts. */
  get worlds(): World[] {
    return [...this.#isolated].flatMap(([frameId, contextId]) => {
      const mainContextId = this.#main.get(frameId)
      if (mainContextId === undefined) return []
      let world = this.#worlds.get(contextId)
      if (world?.mainContextId !== mainContextId) {
        world = { session: this.session, contextId, mainContextId, frameId }
        this.#worlds.set(contextId, world)
      }
      return [world]
    })
  }
}

/** Evaluates an expression in a world; its value must be JSON. */
export async function evaluateIn<T>({ session, contextId }: World, expression: string): Promise<T> {
  const answer = await session.send('Runtime.evaluate', {
    uniqueContextId: contextId,
    // As a text, which is several times cheaper for the page's process than an object of CDP.
    expression: `JSON.stringify(${expression})`,
    returnByValue: true
  })
  const { exceptionDetails, result } = answer
  if (exceptionDetails !== undefined) {
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
  }
  const json = result.value as string | undefined
  return (json === undefined ? undefined : JSON.parse(json)) as T
}
