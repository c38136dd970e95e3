import type { Page } from 'playwright-core'
import { RUN_ERR_BROWSER_STALE_REF } from '../errors.ts'
import { STATE } from './page-lens.ts'
import { evaluateIn, openWorlds } from './page-worlds.ts'

/**
 * Calls a function with the element of a ref, in the isolated world of its document: scripts of the page can change the element, but not
 * what the function reads of it. The argument and the result must be JSON.
 * @throws RUN_ERR_BROWSER_STALE_REF if no element of the page has the ref
 */
export async function inspect<E, A, R>(
  page: Page,
  ref: string,
  read: (element: E, argument: A) => R,
  argument?: A
): Promise<R> {
  const call = `(${String(read)})(element, ${JSON.stringify(argument)})`
  const expression = `((element) => element && { value: ${call} })(${STATE}.find?.(${JSON.stringify(ref)}))`
  const worlds = await openWorlds(page)
  try {
    const answers = await Promise.allSettled(
      worlds.list.map((world) => evaluateIn<{ value: R } | undefined>(world, expression))
    )
    // A ref names an element of one document only; others may be replaced meanwhile.
    const found = answers.find((answer) => answer.status === 'fulfilled' && answer.value !== undefined)
    if (found?.status === 'fulfilled') return found.value!.value
    const failed = answers.find((answer) => answer.status === 'rejected')
    throw failed?.reason ?? new RUN_ERR_BROWSER_STALE_REF(ref)
  } finally {
    void worlds.close()
  }
}
