import type { RunStatus } from '@svc/contract'

/** The states of runs, as the page says them. */
export const STATUS_LABELS: Readonly<Record<RunStatus, string>> = {
  submitted: 'Queued',
  working: 'Working',
  'input-required': 'Waiting for you',
  completed: 'Completed',
  failed: 'Failed',
  canceled: 'Canceled'
}

/** The state of a run: a dot and a word. */
export function Status({ status }: { status: RunStatus }) {
  return (
    <span class="status" data-status={status}>
      {STATUS_LABELS[status] ?? status}
    </span>
  )
}
