import type { ComponentChildren } from 'preact'
import { ApiError, describeError } from '../api/client.ts'
import { Icon, type IconName } from './icon.tsx'
import { cleanLine } from './clean-text.ts'

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
