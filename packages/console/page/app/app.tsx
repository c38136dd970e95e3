import { useEffect, useRef } from 'preact/hooks'
import { access, visits } from '../api/access.ts'
import { configOf } from '../api/client.ts'
import { Empty } from '../components/notice.tsx'
import { usePoll } from '../components/hooks.ts'
import { clearInbox, refreshInbox } from '../models/inbox.ts'
import { announce, Announcer } from './announcer.tsx'
import { Boundary } from './boundary.tsx'
import { Navigation, VIEWS, type View } from './navigation.tsx'
import { hrefOf, route } from './router.ts'
import { SignIn } from './sign-in.tsx'
import './app.css'

/** Milliseconds between looks at what waits. */
const INBOX_POLL = 4_000

/** The page: navigation and the view that its address names, or the way in. */
export function App() {
  return (
    <>
      {access.value === 'out' ? <SignIn /> : <Shell key={visits.value} />}
      <Announcer />
    </>
  )
}

function Shell() {
  const { path } = route.value
  const view = path.length === 0 ? VIEWS[0] : VIEWS.find(({ name }) => name === path[0])
  const main = useRef<HTMLElement>(null)
  useTitle(view)
  useInbox()
  useFocus(view, main)
  const skip = (event: Event) => {
    event.preventDefault()
    main.current?.focus()
  }
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Navigation current={view} />
      <main class="view" id="main" tabIndex={-1} ref={main}>
        <Boundary key={view?.name}>
          {view === undefined ? <Unknown /> : <view.component route={route.value} />}
        </Boundary>
      </main>
    </div>
  )
}

function Unknown() {
  return (
    <Empty icon="search" title="There is no such view">
      <a href={hrefOf([VIEWS[0]!.name])}>{VIEWS[0]!.title}</a>
    </Empty>
  )
}

// The number of what waits is in the title, where it is seen from other tabs.
function useTitle(view: View | undefined): void {
  const waiting = VIEWS.reduce((sum, { count }) => sum + (count?.() ?? 0), 0)
  const title = `${waiting > 0 ? `(${waiting}) ` : ''}${view?.title ?? 'Not found'} · ${configOf().title}`
  useEffect(() => void (document.title = title), [title])
}

// What waits is counted in every view.
function useInbox(): void {
  useEffect(clearInbox, [])
  usePoll(refreshInbox, INBOX_POLL, [])
}

// Another view is like another page: the focus is at its beginning, and its title is said.
function useFocus(view: View | undefined, main: { readonly current: HTMLElement | null }): void {
  const shown = useRef(view)
  useEffect(() => {
    if (shown.current === view) return
    shown.current = view
    main.current?.focus({ preventScroll: true })
    announce(view?.title ?? 'Not found')
  }, [view, main])
}
