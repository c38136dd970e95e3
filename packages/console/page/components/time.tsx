import { signal } from '@preact/signals'

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' })
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'narrow' })
const count = new Intl.NumberFormat()

/** The present, in milliseconds since the epoch; changes each second. */
export const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 1_000)

/** A length of time: `320 ms`, `4.2 s`, `3 min 5 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 59_950) return `${(milliseconds / 1_000).toFixed(1)} s`
  const seconds = Math.round(milliseconds / 1_000)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** A number with the separators of the visitor's language. */
export const formatCount = (value: number): string => count.format(value)

/** A number of bytes. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB']
  let value = bytes
  let unit = 0
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000
    unit++
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}

/** How long ago an instant was, as it passes; the whole date on demand. */
export function Ago({ at }: { at: string | number }) {
  const time = new Date(at)
  return (
    <time dateTime={time.toISOString()} title={full.format(time)}>
      {formatAgo(time.getTime(), now.value)}
    </time>
  )
}

/** The time that is left until an instant, `4 min 10 s`; `over` once it has passed. */
export function Left({ until }: { until: string | number }) {
  const time = new Date(until)
  const left = time.getTime() - now.value
  return (
    <time dateTime={time.toISOString()} title={full.format(time)}>
      {left <= 0 ? 'over' : left < 60_000 ? `${Math.ceil(left / 1_000)} s` : formatDuration(left)}
    </time>
  )
}

/** The time of the day, or the date if it is another day. */
export function formatTime(at: number): string {
  return Date.now() - at < 43_200_000 ? clock.format(at) : day.format(at)
}

function formatAgo(at: number, present: number): string {
  const seconds = Math.round((at - present) / 1_000)
  if (seconds > -5) return 'now'
  if (seconds > -60) return relative.format(seconds, 'second')
  if (seconds > -3_600) return relative.format(Math.round(seconds / 60), 'minute')
  if (seconds > -86_400) return relative.format(Math.round(seconds / 3_600), 'hour')
  if (seconds > -7 * 86_400) return relative.format(Math.round(seconds / 86_400), 'day')
  return day.format(at)
}
