import type { FunctionComponent } from 'preact'
import type { IconName } from '../components/icon.tsx'
import { inboxCount } from '../models/inbox.ts'
import { Browser } from '../views/browser/browser.tsx'
import { Health } from '../views/health/health.tsx'
import { Inbox } from '../views/inbox/inbox.tsx'
import { Registry } from '../views/registry/registry.tsx'
import { Run } from '../views/run/run.tsx'
import { Runs } from '../views/runs/runs.tsx'
import { Sessions } from '../views/sessions/sessions.tsx'
import { Talk } from '../views/talk/talk.tsx'
import type { Route } from './router.ts'

/** A view of the page: what `#/name/…` shows. */
export interface View {
  readonly name: string
  /** Also the title of the document. */
  readonly title: string
  /** In the navigation; views without one are reached by links only. */
  readonly icon?: IconName
  /** The view in the navigation that this one belongs to. */
  readonly parent?: string
  /** A number beside the title, such as that of what waits. */
  readonly count?: () => number
  readonly component: FunctionComponent<{ route: Route }>
}

/** All views, in the order of the navigation; the first one is shown at first. */
export const VIEWS: readonly View[] = [
  { name: 'talk', title: 'Talk', icon: 'talk', component: Talk },
  { name: 'sessions', title: 'Sessions', icon: 'sessions', component: Sessions },
  { name: 'runs', title: 'Runs', icon: 'runs', component: Runs },
  { name: 'browser', title: 'Browser', icon: 'film', component: Browser },
  {
    name: 'inbox',
    title: 'Inbox',
    icon: 'inbox',
    count: () => inboxCount.value,
    component: Inbox
  },
  { name: 'registry', title: 'Registry', icon: 'registry', component: Registry },
  { name: 'health', title: 'Health', icon: 'health', component: Health },
  { name: 'run', title: 'Run', parent: 'runs', component: Run }
]
