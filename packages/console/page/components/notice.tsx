import type { ComponentChildren } from 'preact'
import { ApiError, describeError } from '../api/client.ts'
import type { StreamState } from '../api/event-stream.ts'
import { cleanLine } from './clean-text.ts'
import { Icon, type IconName } from './elements.tsx'
import { Left } from './time.tsx'

/** What went wrong, with its code, and a way to try again. */
export function ErrorNotice({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const { code = '', requestId, faults = [] } = error instanceof ApiError ? error : {}
  return (
    <div class="notice bad" role="alert">
      <span>{cleanLine(describeError(error), 500)}</span>
      {code !== '' && <code>{code}</code>}
      {requestId !== undefined && <code class="hint">request {cleanLine(requestId, 60)}</code>}
      {faults.length > 1 && (
        <ul>
          {faults.slice(0, 10).map(({ path, message }) => (
            <li>
              <code>{cleanLine(path, 80)}</code> {cleanLine(message)}
            </li>
          ))}
        </ul>
      )}
      {onRetry !== undefined && (
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** What is shown where a list is empty. */
export function Empty({
  icon,
  title,
  children
}: {
  icon: IconName
  title: string
  children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** Says when a stream is cut off, and when it tries again. */
export function StreamNotice({ state }: { state: StreamState | undefined }) {
  if (state?.is === 'failed') return <ErrorNotice error={state.error} />
  if (state?.is !== 'lost') return null
  return (
    <p class="notice warn" role="status">
      {cleanLine(state.reason, 300)} It continues in <Left until={state.until} />.
    </p>
  )
}
