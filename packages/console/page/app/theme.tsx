import { signal } from '@preact/signals'
import { Icon } from '../components/icon.tsx'

const KEY = 'svc-console-theme'
const CHOICES = ['auto', 'light', 'dark'] as const
type Theme = (typeof CHOICES)[number]
const ICONS = { auto: 'auto', light: 'sun', dark: 'moon' } as const
const LABELS = { auto: 'as the system', light: 'light', dark: 'dark' } as const

const theme = signal<Theme>(read())
apply(theme.value)

/** Switches between the colors of the system, light and dark ones. */
export function ThemeSwitch() {
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
