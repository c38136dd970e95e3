import { currentToken, leave } from '../api/access.ts'
import { configOf } from '../api/config.ts'
import { cleanLine } from '../components/clean-text.ts'
import { Icon } from '../components/icon.tsx'
import { hrefOf } from './router.ts'
import { ThemeSwitch } from './theme.tsx'
import { VIEWS, type View } from './views.ts'

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
