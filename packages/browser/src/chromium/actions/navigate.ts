import type { DeskAction } from '../../browser.ts'
import { sessionOf, stopLoading } from '../../page-session.ts'
import type { Act } from './act.ts'
import { checkUrl, navigationError, netErrorCode } from './page-watch.ts'

type Open = Extract<DeskAction, { action: 'open' }>

/** Opens a URL. A page that has begun counts as open: it may load more while the tab settles. */
export async function open(act: Act, { url, newTab = false }: Open): Promise<void> {
  const checked = checkUrl(url, act.desk.hosts)
  if (newTab) await act.useNewTab()
  await navigate(act, checked)
}

/** Goes back in the history of the tab. */
export async function back(act: Act): Promise<void> {
  if (!(await historyOf(act)).hasEarlier) act.fail('there is no earlier page in this tab')
  await act.step(() => act.page.goBack({ waitUntil: 'commit', ...act.limits }))
}

/** Loads the page again. The answer to a form is requested without the form: sending it twice could order twice. */
export async function reload(act: Act): Promise<void> {
  const url = act.page.url()
  if ((await historyOf(act)).isFormAnswer) await navigate(act, url)
  else await act.step(() => act.page.reload({ waitUntil: 'commit', ...act.limits }))
}

async function navigate(act: Act, url: string): Promise<void> {
  const { page } = act
  try {
    await act.step(() => page.goto(url, { waitUntil: 'commit', ...act.limits }))
  } catch (err) {
    if (act.signal.aborted) await stopLoading(page)
    const message = err instanceof Error ? err.message : ''
    if (message.includes('Download is starting')) return
    // The page of an earlier failure may come late; a page that leads elsewhere by itself is no failure.
    if (message.includes('interrupted by another navigation to "chrome-error:')) return navigate(act, url)
    if (message.includes('interrupted by another navigation')) return
    const code = netErrorCode(message)
    if (code === 'ERR_ABORTED') act.fail('the server gave no page')
    throw code === undefined ? err : (act.watch.failure ?? navigationError(url, code, act.desk.hosts))
  }
}

interface History {
  /** False on the first page of a tab. */
  readonly hasEarlier: boolean
  readonly isFormAnswer: boolean
}

async function historyOf({ page }: Act): Promise<History> {
  const { currentIndex, entries } = await (await sessionOf(page)).send('Page.getNavigationHistory')
  // A tab begins with an empty page.
  const hasEarlier = entries.slice(0, currentIndex).some(({ url }) => url !== 'about:blank')
  return { hasEarlier, isFormAnswer: entries[currentIndex]?.transitionType === 'form_submit' }
}
