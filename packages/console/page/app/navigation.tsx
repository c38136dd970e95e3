import { signal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { currentToken, leave } from '../api/access.ts'
import { configOf } from '../api/client.ts'
import { cleanLine } from '../components/clean-text.ts'
import { Icon, type IconName } from '../components/elements.tsx'
import { inboxCount } from '../models/inbox.ts'
import { Browser } from '../views/browser/browser.tsx'
import { Health } from '../views/health/health.tsx'
import { Inbox } from '../views/inbox/inbox.tsx'
import { Registry } from '../views/registry/registry.tsx'
import { Run } from '../views/run/run.tsx'
import { Runs } from '../views/runs/runs.tsx'
import { Sessions } from '../views/sessions/sessions.tsx'
import { Talk } from '../views/talk/talk.tsx'
import { hrefOf, type Route } from './router.ts'

const KEY = 'svc-console-theme'
const CHOICES = ['auto', 'light', 'dark'] as const
type Theme = (typeof CHOICES)[number]
const ICONS = { auto: 'auto', light: 'sun', dark: 'moon' } as const
const LABELS = { auto: 'as the system', light: 'light', dark: 'dark' } as const

const theme = signal<Theme>(read())
apply(theme.value)

/** Switches between the colors of the system, light and dark ones. */
function ThemeSwitch() {
  const current = theme.value
  const next = CHOICES[(CHOICES.indexOf(current) + 1) % CHOICES.length]!
  return (
    <button
      type="button"
      class="button quiet icon"
      aria-label={`Colors: ${LABELS[current]}. Switch to ${LABELS[next]}`}
      title={`Colors: ${LABELS[current]}`}
      onClick={() => choose(next)}
    >
      <Icon name={ICONS[current]} />
    </button>
  )
}

function choose(next: Theme): void {
  theme.value = next
  apply(next)
  try {
    localStorage.setItem(KEY, next)
  } catch {}
}

function apply(chosen: Theme): void {
  if (chosen === 'auto') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = chosen
}

function read(): Theme {
  try {
    const kept = localStorage.getItem(KEY)
    return CHOICES.find((each) => each === kept) ?? 'auto'
  } catch {
    return 'auto'
  }
}

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

/** The views, the colors and the way out; at the side, or at the bottom of a narrow window. */
export function Navigation({ current }: { current: View | undefined }) {
  const here = current?.parent ?? current?.name
  return (
    <header class="side">
      <p class="brand">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" fill="var(--accent)" />
          <path
            d="M8 11h9M8 16h14M8 21h6"
            fill="none"
            stroke="var(--accent-ink)"
            stroke-width="2.6"
            stroke-linecap="round"
          />
          <circle cx="23" cy="11" r="2.2" fill="var(--accent-ink)" />
        </svg>
        <span class="ellipsis">{cleanLine(configOf().title, 80)}</span>
      </p>
      <nav aria-label="Views">
        <ul>
          {VIEWS.map(({ name, title, icon, count }) => {
            const waiting = count?.() ?? 0
            return (
              icon !== undefined && (
                <li key={name}>
                  <a href={hrefOf([name])} aria-current={name === here ? 'page' : undefined}>
                    <Icon name={icon} />
                    <span>{title}</span>
                    {waiting > 0 && (
                      <span class="count">
                        {waiting}
                        <span class="visually-hidden"> waiting</span>
                      </span>
                    )}
                  </a>
                </li>
              )
            )
          })}
        </ul>
      </nav>
      <div class="tools">
        <ThemeSwitch />
        {currentToken() !== undefined && (
          <button
            type="button"
            class="button quiet icon"
            aria-label="Sign out"
            title="Sign out"
            onClick={leave}
          >
            <Icon name="leave" />
          </button>
        )}
      </div>
    </header>
  )
}
