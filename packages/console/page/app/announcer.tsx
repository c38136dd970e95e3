import { signal } from '@preact/signals'

const message = signal('')

/** Has screen readers say something that the page shows elsewhere. */
export function announce(text: string): void {
  // The same text twice is no change, which would not be said.
  message.value = text === message.value ? `${text}\u00a0` : text
}

/** Where screen readers find what is announced. */
export function Announcer() {
  return (
    <div class="visually-hidden" role="status" aria-live="polite">
      {message.value}
    </div>
  )
}
